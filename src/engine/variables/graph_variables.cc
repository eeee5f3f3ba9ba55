#include "engine/variables/graph_variables.h"

#include <algorithm>
#include <cstring>

#include "engine/graph/compile_request.h"
#include "engine/run/port_checks.h"
#include "plimsoll/base/text.h"

namespace plimsoll::engine {
namespace {

using kernels::HostTensor;
using kernels::HostValue;

TensorView View(const Variable& variable) {
  return {
      .type = variable.type, .dims = variable.dims, .data = variable.address, .on_device = true};
}

TensorView View(const HostTensor& tensor) {
  return {.type = tensor.type, .dims = tensor.dims, .data = tensor.data.get()};
}

// A variable as a value: its own memory, which outlives every run, or a copy of it where the host
// cannot reach that.
Result<HostValue> ValueOf(const Variable& variable, const Variables& variables) {
  if (variables.host_reachable()) {
    return HostValue::Of(
        {variable.type, variable.dims, std::shared_ptr<void>(variable.address, [](void*) {})});
  }
  PLIMSOLL_ASSIGN(HostTensor copy, kernels::AllocateOnHeap(variable.type, variable.dims));
  PLIMSOLL_TRY(variables.Read(variable, copy.data.get()));
  return HostValue::Of(std::move(copy));
}

bool IsPlain(const HostValue& value) {
  return value.kind == HostValue::Kind::kTensor && value.tensor.type != graph::DataType::kString;
}

// The places that are not marked.
std::vector<size_t> PlacesWithout(const std::vector<bool>& marked) {
  std::vector<size_t> places;
  for (size_t i = 0; i < marked.size(); ++i) {
    if (!marked[i]) places.push_back(i);
  }
  return places;
}

}  // namespace

Status GraphVariables::Prepare(const graph::Graph& graph, const std::vector<VariablePort>& ports,
                               LoadOptions& load) {
  if (ports.empty()) return {};
  load.variables.assign(graph.root().inputs.size(), false);
  std::vector<bool> replaces(graph.root().outputs.size());
  for (const VariablePort& port : ports) {
    load.variables[port.input] = true;
    if (!port.output) continue;
    replaces[*port.output] = true;
    load.plan.updates.push_back({port.input, *port.output});
  }
  load.separate_host_operators = false;
  graph::Graph seen;
  seen.subgraphs.resize(1);
  compile::ReuseOptions& reuse = load.plan.lifetimes.reuse;
  const std::vector<size_t> inputs = PlacesWithout(load.variables);
  const std::vector<size_t> outputs = PlacesWithout(replaces);
  seen[graph::Graph::kRoot].inputs.resize(inputs.size());
  seen[graph::Graph::kRoot].outputs.resize(outputs.size());
  PLIMSOLL_TRY(CheckReuseIndexes(seen, reuse));
  for (int& index : reuse.inputs) index = static_cast<int>(inputs[static_cast<size_t>(index)]);
  for (int& index : reuse.outputs) index = static_cast<int>(outputs[static_cast<size_t>(index)]);
  return {};
}

Result<std::unique_ptr<GraphVariables>> GraphVariables::Bind(std::shared_ptr<LoadedGraph> loaded,
                                                             std::vector<VariablePort> ports,
                                                             Variables& variables) {
  const LoadedGraph& graph = *loaded;
  std::unique_ptr<GraphVariables> made(new GraphVariables(loaded, variables));
  std::vector<bool> is_variable(graph.inputs().size());
  std::vector<bool> replaces(graph.outputs().size());
  std::vector<Variables::Wanted> wanted;
  for (VariablePort& port : ports) {
    const Port& input = graph.inputs()[port.input];
    const Port* output = port.output ? &graph.outputs()[*port.output] : nullptr;
    PLIMSOLL_TRY(
        CheckVariableTypes(input.name, input.type, output == nullptr ? nullptr : &output->type));
    is_variable[port.input] = true;
    if (port.output) replaces[*port.output] = true;
    made->updates_ = made->updates_ || port.output.has_value();
    wanted.push_back({input.name, input.type.data_type, graph::StaticDims(*input.type.shape),
                      std::move(port.initial)});
    port.initial = {};
  }
  PLIMSOLL_ASSIGN(const std::vector<const Variable*> declared, variables.Declare(wanted));
  made->given_ = PlacesWithout(is_variable);
  made->wanted_ = PlacesWithout(replaces);
  for (const size_t place : made->given_) made->inputs_.push_back(graph.inputs()[place]);
  for (const size_t place : made->wanted_) made->outputs_.push_back(graph.outputs()[place]);
  made->read_.resize(is_variable.size());
  made->written_.resize(replaces.size());
  for (size_t i = 0; i < ports.size(); ++i) {
    made->read_[ports[i].input] = View(*declared[i]);
    if (ports[i].output) made->written_[*ports[i].output] = View(*declared[i]);
    made->bound_.push_back({std::move(ports[i]), declared[i]});
  }
  return made;
}

Status GraphVariables::CheckCount(size_t given, const std::vector<Port>& ports,
                                  const char* what) const {
  if (given == ports.size()) return {};
  return BadArgument(StrCat("run.", what), what,
                     StrCat("besides its ", bound_.size(), " variables the model has ",
                            ports.size(), ", given ", given),
                     StrCat("they are ", PortList(ports)));
}

void GraphVariables::Fill(std::span<const TensorView> inputs, std::span<const TensorView> outputs) {
  for (size_t i = 0; i < inputs.size(); ++i) read_[given_[i]] = inputs[i];
  for (size_t i = 0; i < outputs.size(); ++i) written_[wanted_[i]] = outputs[i];
}

Result<std::shared_ptr<const Executable>> GraphVariables::Compile(
    std::span<const TensorView> inputs, std::string* reason) {
  const std::lock_guard lock(mutex_);
  PLIMSOLL_TRY(CheckCount(inputs.size(), inputs_, "inputs"));
  Fill(inputs, {});
  return graph_->Compile(read_, reason);
}

Result<std::string> GraphVariables::BatchFor(std::span<const TensorView> inputs,
                                             const std::string& named) {
  const std::lock_guard lock(mutex_);
  PLIMSOLL_TRY(CheckCount(inputs.size(), inputs_, "inputs"));
  Fill(inputs, {});
  return graph_->BatchFor(read_, named);
}

Result<Bytes> GraphVariables::FeatureMapSize(std::span<const TensorView> inputs) {
  const std::lock_guard lock(mutex_);
  PLIMSOLL_TRY(CheckCount(inputs.size(), inputs_, "inputs"));
  Fill(inputs, {});
  return graph_->FeatureMapSize(read_);
}

Status GraphVariables::Reserve(std::span<const TensorView> inputs) {
  const std::lock_guard lock(mutex_);
  PLIMSOLL_TRY(CheckCount(inputs.size(), inputs_, "inputs"));
  Fill(inputs, {});
  return graph_->Reserve(read_);
}

Status GraphVariables::Failed(const Error& error, int64_t step, int64_t steps, bool half_applied) {
  Error told = error;
  if (steps > 1) told.where = StrCat("step ", step + 1, " of ", steps, ": ", error.where);
  if (!half_applied) return told;
  std::vector<const Variable*> written;
  for (const Bound& bound : bound_) {
    if (bound.port.output) written.push_back(bound.variable);
  }
  variables_.NoteHalfApplied(written);
  told.code = "variables.half_applied";
  told.what = StrCat("the step was half applied: ", error.what);
  told.remedy = "restore the variables from the last save, or set them anew";
  return told;
}

Status GraphVariables::RunSteps(std::span<const TensorView> inputs,
                                std::span<const TensorView> outputs, const RunOptions& options,
                                int64_t steps) {
  for (int64_t step = 0; step < steps; ++step) {
    if (options.feed) {
      PLIMSOLL_ASSIGN(inputs, options.feed(step));
      PLIMSOLL_TRY(CheckCount(inputs.size(), inputs_, "inputs"));
    }
    Fill(inputs, outputs);
    bool half_applied = false;
    const Status done = graph_->Run(read_, written_, options, &half_applied);
    if (!done.ok()) return Failed(done.error(), step, steps, half_applied);
    if (updates_) variables_.CountStep();
  }
  return {};
}

Status GraphVariables::Run(std::span<const TensorView> inputs, std::span<const TensorView> outputs,
                           const RunOptions& options, int64_t steps) {
  const std::lock_guard lock(mutex_);
  if (options.feed && !inputs.empty()) {
    return BadArgument("run.inputs", "inputs", "they are given twice, and by a feed",
                       "give one or the other");
  }
  if (!options.feed) PLIMSOLL_TRY(CheckCount(inputs.size(), inputs_, "inputs"));
  PLIMSOLL_TRY(CheckCount(outputs.size(), outputs_, "outputs"));
  std::shared_lock<std::shared_mutex> reading;
  std::unique_lock<std::shared_mutex> writing;
  if (updates_) {
    writing = variables_.LockToWrite();
  } else {
    reading = variables_.LockToRead();
  }
  PLIMSOLL_TRY(variables_.CheckWhole());
  return RunSteps(inputs, outputs, options, updates_ ? steps : 1);
}

Result<std::vector<HostValue>> GraphVariables::RunValues(std::vector<HostValue> inputs,
                                                         const RunOptions& options, int64_t steps) {
  if (options.feed) {
    return BadArgument("run.inputs", "inputs", "a run over values takes no feed", "use Run");
  }
  PLIMSOLL_TRY(CheckCount(inputs.size(), inputs_, "inputs"));
  std::vector<TensorView> tensors;
  for (const HostValue& input : inputs) tensors.push_back(View(input.tensor));
  if (!std::all_of(inputs.begin(), inputs.end(), IsPlain)) {
    return RunNodeByNode(inputs, options, steps);
  }
  PLIMSOLL_ASSIGN(const auto executable, Compile(tensors, nullptr));
  if (executable == nullptr) return RunNodeByNode(inputs, options, steps);
  PLIMSOLL_ASSIGN(const std::string batch, BatchFor(tensors, options.batch));
  const graph::Graph& compiled = executable->model().graph;
  std::vector<HostValue> outputs;
  std::vector<TensorView> made;
  for (const size_t place : wanted_) {
    const std::string& maker = graph_->outputs()[place].batch;
    if (!maker.empty() && maker != batch) {
      made.emplace_back();
      outputs.emplace_back();
      continue;
    }
    const graph::ValueType& type = compiled[compiled.root().outputs[place]].type;
    PLIMSOLL_ASSIGN(HostTensor tensor,
                    kernels::AllocateOnHeap(type.data_type, graph::StaticDims(*type.shape)));
    made.push_back(View(tensor));
    outputs.push_back(HostValue::Of(std::move(tensor)));
  }
  PLIMSOLL_TRY(Run(tensors, made, options, steps));
  return outputs;
}

Result<std::vector<HostValue>> GraphVariables::RunNodeByNode(const std::vector<HostValue>& inputs,
                                                             const RunOptions& options,
                                                             int64_t steps) {
  const std::lock_guard lock(mutex_);
  const auto writing = variables_.LockToWrite();
  PLIMSOLL_TRY(variables_.CheckWhole());
  std::vector<HostValue> results;
  for (int64_t step = 0; step < (updates_ ? steps : 1); ++step) {
    std::vector<HostValue> full(read_.size());
    for (size_t i = 0; i < inputs.size(); ++i) full[given_[i]] = inputs[i];
    for (const Bound& bound : bound_) {
      PLIMSOLL_ASSIGN(full[bound.port.input], ValueOf(*bound.variable, variables_));
    }
    auto outputs = graph_->RunValues(std::move(full), options);
    if (!outputs.ok()) return Failed(outputs.error(), step, steps, false);
    for (HostValue& output : *outputs) PLIMSOLL_TRY(Detach(output));
    bool half_applied = false;
    if (Status assigned = Assign(*outputs, half_applied); !assigned.ok()) {
      return Failed(assigned.error(), step, steps, half_applied);
    }
    if (updates_) variables_.CountStep();
    results.clear();
    for (const size_t place : wanted_) results.push_back(std::move((*outputs)[place]));
  }
  return results;
}

// What is a variable's own memory becomes a copy of it, since the variable may get a new value.
Status GraphVariables::Detach(HostValue& value) const {
  for (HostValue& element : value.elements) PLIMSOLL_TRY(Detach(element));
  const bool borrowed = std::any_of(bound_.begin(), bound_.end(), [&](const Bound& bound) {
    return bound.variable->address == value.tensor.data.get();
  });
  if (!borrowed) return {};
  PLIMSOLL_ASSIGN(HostTensor copy, kernels::AllocateOnHeap(value.tensor.type, value.tensor.dims));
  std::memcpy(copy.data.get(), value.tensor.data.get(), static_cast<size_t>(copy.size().value()));
  value.tensor = std::move(copy);
  return {};
}

// New values, once all of them are known to fit.
Status GraphVariables::Assign(const std::vector<HostValue>& outputs, bool& half_applied) {
  for (const Bound& bound : bound_) {
    if (!bound.port.output) continue;
    const HostTensor& tensor = outputs[*bound.port.output].tensor;
    if (tensor.type == bound.variable->type && tensor.dims == bound.variable->dims) continue;
    return BadArgument("variables.type", StrCat("variable '", bound.variable->name, "'"),
                       StrCat("its new value is ", Text(graph::ValueType::Tensor(
                                                       tensor.type, graph::ShapeOf(tensor.dims)))),
                       "let what replaces it be of its type and shape");
  }
  for (const Bound& bound : bound_) {
    if (!bound.port.output) continue;
    const HostTensor& tensor = outputs[*bound.port.output].tensor;
    half_applied = true;
    PLIMSOLL_TRY(variables_.Write(*bound.variable, tensor.data.get()));
  }
  return {};
}

RunRecord GraphVariables::SeenOf(const RunRecord& record) const {
  RunRecord seen;
  seen.batch = record.batch;
  seen.clearing = record.clearing;
  if (record.ports.inputs.empty() && record.ports.outputs.empty()) return seen;
  for (const size_t place : given_) seen.ports.inputs.push_back(record.ports.inputs[place]);
  for (const size_t place : wanted_) seen.ports.outputs.push_back(record.ports.outputs[place]);
  return seen;
}

UpdateReport GraphVariables::report() const {
  UpdateReport report;
  const std::shared_ptr<const Executable> executable = graph_->last_executable();
  if (executable == nullptr) {
    for (const Bound& bound : bound_) {
      if (!bound.port.output) continue;
      ++report.copied;
      report.copied_bytes += bound.variable->size;
      report.copies.push_back({bound.variable->name, "the graph runs node by node"});
    }
    return report;
  }
  for (const compile::PlannedUpdate& update : executable->model().planned.updates) {
    ++(update.in_place ? report.in_place : report.copied);
    (update.in_place ? report.in_place_bytes : report.copied_bytes) += update.bytes;
    if (update.in_place) continue;
    report.copies.push_back({graph_->inputs()[update.ports.input].name, update.reason});
  }
  return report;
}

}  // namespace plimsoll::engine
