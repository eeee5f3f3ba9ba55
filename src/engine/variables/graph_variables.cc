#include "engine/variables/graph_variables.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "engine/graph/compile_request.h"
#include "engine/run/port_checks.h"
#include "plimsoll/base/text.h"

namespace plimsoll::engine {
namespace {

using kernels::HostTensor;
using kernels::HostValue;

TensorView View(const Variable& variable, kernels::Dims dims) {
  return {
      .type = variable.type, .dims = std::move(dims), .data = variable.address, .on_device = true};
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
    load.plan.updates.push_back({port.input, *port.output, port.growth_axis.has_value()});
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
  // Each step of a loop reads the same inputs.
  if (load.steps > 1) reuse.inputs.clear();
  return {};
}

Result<GraphVariables> GraphVariables::Bind(const std::vector<Port>& inputs,
                                            const std::vector<Port>& outputs,
                                            std::vector<VariablePort> ports, Variables* variables) {
  GraphVariables made;
  made.variables_ = variables;
  std::vector<bool> is_variable(inputs.size());
  std::vector<bool> replaces(outputs.size());
  std::vector<Variables::Wanted> wanted;
  for (VariablePort& port : ports) {
    const Port& input = inputs[port.input];
    const Port* output = port.output ? &outputs[*port.output] : nullptr;
    PLIMSOLL_TRY(CheckVariableTypes(input.name, input.type,
                                    output == nullptr ? nullptr : &output->type, port.growth_axis));
    is_variable[port.input] = true;
    if (port.output) replaces[*port.output] = true;
    made.updates_ = made.updates_ || port.output.has_value();
    wanted.push_back({input.name, input.type.data_type,
                      port.growth_axis ? port.most : graph::StaticDims(*input.type.shape),
                      std::move(port.initial), port.growth_axis});
    port.initial = {};
  }
  made.given_ = PlacesWithout(is_variable);
  made.wanted_ = PlacesWithout(replaces);
  for (const size_t place : made.given_) made.inputs_.push_back(inputs[place]);
  for (const size_t place : made.wanted_) made.outputs_.push_back(outputs[place]);
  if (ports.empty()) return made;
  PLIMSOLL_ASSIGN(const std::vector<const Variable*> declared, variables->Declare(wanted));
  made.read_.resize(inputs.size());
  made.written_.resize(outputs.size());
  for (size_t i = 0; i < ports.size(); ++i) {
    const TensorView view = View(*declared[i], variables->DimsOf(*declared[i]));
    made.read_[ports[i].input] = view;
    if (ports[i].output) made.written_[*ports[i].output] = view;
    made.bound_.push_back({std::move(ports[i]), declared[i]});
  }
  return made;
}

Status GraphVariables::CheckCount(size_t given, const std::vector<Port>& ports,
                                  const char* what) const {
  if (given == ports.size()) return {};
  const std::string besides =
      bound_.empty() ? "" : StrCat("besides its ", bound_.size(), " variables ");
  return BadArgument(StrCat("run.", what), what,
                     StrCat(besides, "the model has ", ports.size(), ", given ", given),
                     StrCat("they are ", PortList(ports)));
}

Status GraphVariables::CheckInputCount(size_t given) const {
  return CheckCount(given, inputs_, "inputs");
}

Status GraphVariables::CheckOutputCount(size_t given) const {
  return CheckCount(given, outputs_, "outputs");
}

std::span<const TensorView> GraphVariables::AllInputs(std::span<const TensorView> given) {
  if (bound_.empty()) return given;
  for (size_t i = 0; i < given.size(); ++i) read_[given_[i]] = given[i];
  for (const Bound& bound : bound_) {
    if (bound.port.growth_axis) read_[bound.port.input].dims = variables_->DimsOf(*bound.variable);
  }
  return read_;
}

std::span<const TensorView> GraphVariables::AllOutputs(std::span<const TensorView> given) {
  if (bound_.empty()) return given;
  for (size_t i = 0; i < given.size(); ++i) written_[wanted_[i]] = given[i];
  return written_;
}

Status GraphVariables::CheckRoom(const Variable& variable, const kernels::Dims& dims) const {
  if (variable.Takes(dims)) return {};
  const auto text = [&](const kernels::Dims& sizes) {
    return Text(graph::ValueType::Tensor(variable.type, graph::ShapeOf(sizes)));
  };
  return BadArgument("variables.capacity", StrCat("variable '", variable.name, "'"),
                     StrCat("it has room for ", text(variable.most), " and holds ",
                            text(variable.dims), "; this run would make ", text(dims)),
                     "give it more room (input=output@SIZES), or set it to fewer rows");
}

Status GraphVariables::MakeRoom(const graph::Graph& compiled) {
  for (const Bound& bound : bound_) {
    if (!bound.port.growth_axis || !bound.port.output) continue;
    const graph::ValueId output = compiled.root().outputs[*bound.port.output];
    const kernels::Dims dims = graph::StaticDims(*compiled[output].type.shape);
    PLIMSOLL_TRY(CheckRoom(*bound.variable, dims));
    written_[*bound.port.output].dims = dims;
  }
  return {};
}

void GraphVariables::TakeNewSizes() const {
  for (const Bound& bound : bound_) {
    if (!bound.port.growth_axis || !bound.port.output) continue;
    variables_->Resize(*bound.variable, written_[*bound.port.output].dims);
  }
}

std::vector<TensorView> GraphVariables::CopyOfAllInputs(std::span<const TensorView> given) const {
  std::vector<TensorView> all(given_.size() + bound_.size());
  for (size_t i = 0; i < given.size(); ++i) all[given_[i]] = given[i];
  for (const Bound& bound : bound_) {
    all[bound.port.input] = View(*bound.variable, variables_->DimsOf(*bound.variable));
  }
  return all;
}

Result<GraphVariables::Lock> GraphVariables::LockForRun() const {
  Lock lock;
  if (bound_.empty()) return lock;
  if (updates_) {
    lock.writing = variables_->LockToWrite();
  } else {
    lock.reading = variables_->LockToRead();
  }
  PLIMSOLL_TRY(variables_->CheckWhole());
  return lock;
}

void GraphVariables::CountStep() const {
  if (updates_) variables_->CountStep();
}

Error GraphVariables::Failed(const Error& error, int64_t step, int64_t steps,
                             bool half_applied) const {
  Error told = error;
  if (steps > 1) told.where = StrCat("step ", step + 1, " of ", steps, ": ", error.where);
  if (!half_applied) return told;
  std::vector<const Variable*> written;
  for (const Bound& bound : bound_) {
    if (bound.port.output) written.push_back(bound.variable);
  }
  variables_->NoteHalfApplied(written);
  told.code = "variables.half_applied";
  told.what = StrCat("the step was half applied: ", error.what);
  told.remedy = "restore the variables from the last save, or set them anew";
  return told;
}

Result<std::vector<HostValue>> GraphVariables::AllValues(std::vector<HostValue> given) const {
  std::vector<HostValue> all(given_.size() + bound_.size());
  for (size_t i = 0; i < given.size(); ++i) all[given_[i]] = std::move(given[i]);
  for (const Bound& bound : bound_) {
    PLIMSOLL_ASSIGN(all[bound.port.input], ValueOf(*bound.variable, *variables_));
  }
  return all;
}

// What is a variable's own memory becomes a copy of it, since the variable may get a new value.
Status GraphVariables::Detach(HostValue& value) const {
  if (bound_.empty()) return {};
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
Result<std::vector<HostValue>> GraphVariables::Assign(std::vector<HostValue> outputs,
                                                      bool& half_applied) const {
  for (HostValue& output : outputs) PLIMSOLL_TRY(Detach(output));
  for (const Bound& bound : bound_) {
    if (!bound.port.output) continue;
    const HostTensor& tensor = outputs[*bound.port.output].tensor;
    if (bound.port.growth_axis) PLIMSOLL_TRY(CheckRoom(*bound.variable, tensor.dims));
    if (tensor.type == bound.variable->type && bound.variable->Takes(tensor.dims)) continue;
    return BadArgument("variables.type", StrCat("variable '", bound.variable->name, "'"),
                       StrCat("its new value is ", Text(graph::ValueType::Tensor(
                                                       tensor.type, graph::ShapeOf(tensor.dims)))),
                       "let what replaces it be of its type and shape");
  }
  for (const Bound& bound : bound_) {
    if (!bound.port.output) continue;
    const HostTensor& tensor = outputs[*bound.port.output].tensor;
    half_applied = true;
    if (bound.port.growth_axis) variables_->Resize(*bound.variable, tensor.dims);
    PLIMSOLL_TRY(variables_->Write(*bound.variable, tensor.data.get()));
  }
  std::vector<HostValue> seen;
  for (const size_t place : wanted_) seen.push_back(std::move(outputs[place]));
  return seen;
}

RunRecord GraphVariables::SeenOf(RunRecord record) const {
  if (bound_.empty()) return record;
  const compile::PortUses all = std::exchange(record.ports, {});
  if (all.inputs.empty() && all.outputs.empty()) return record;
  for (const size_t place : given_) record.ports.inputs.push_back(all.inputs[place]);
  for (const size_t place : wanted_) record.ports.outputs.push_back(all.outputs[place]);
  return record;
}

UpdateReport GraphVariables::ReportOf(const Executable* executable) const {
  UpdateReport report;
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
    const auto bound = std::find_if(bound_.begin(), bound_.end(), [&](const Bound& one) {
      return one.port.input == update.ports.input;
    });
    report.copies.push_back({bound->variable->name, update.reason});
  }
  return report;
}

}  // namespace plimsoll::engine
