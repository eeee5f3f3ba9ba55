#include "engine/graph/loaded_graph.h"

#include <algorithm>
#include <cstring>

#include "base/mapped_pages.h"
#include "compile/compile_model.h"
#include "compile/memory/streams.h"
#include "compile/shapes/assumed_constants.h"
#include "compile/shapes/batch_labels.h"
#include "compile/shapes/gear_plan.h"
#include "compile/shapes/shapes.h"
#include "engine/graph/compile_request.h"
#include "engine/graph/gears.h"
#include "engine/graph/memory_demands.h"
#include "engine/node_by_node/host_tensors.h"
#include "engine/run/port_checks.h"
#include "engine/transfer/device_queue.h"
#include "engine/transfer/port_memory.h"
#include "engine/transfer/staged_ports.h"
#include "plimsoll/base/text.h"

namespace plimsoll::engine {
namespace {

using graph::Graph;
using graph::ValueId;
using graph::ValueType;
using kernels::Dims;
using kernels::HostTensor;
using kernels::HostValue;

}  // namespace

LoadedGraph::LoadedGraph(Graph graph, const LoadOptions& options,
                         std::shared_ptr<FeatureMemory> memory,
                         std::shared_ptr<SessionWeights> weights, std::string name)
    : name_(std::move(name)),
      graph_(std::move(graph)),
      options_(options),
      packed_(std::move(weights),
              options.only_plan ? PackedStore::Makes::kCounts : PackedStore::Makes::kForms),
      memory_(std::move(memory)),
      side_(memory_->side()),
      areas_(memory_->MakeAreas()),
      ports_(memory_->MakePortMemory()),
      debug_(options.debug, name_) {}

Result<std::unique_ptr<LoadedGraph>> LoadedGraph::Load(Graph graph, const LoadOptions& options,
                                                       std::shared_ptr<FeatureMemory> memory,
                                                       std::shared_ptr<SessionWeights> weights,
                                                       std::string name) {
  if (options.only_plan) PLIMSOLL_TRY(compile::AssumeMissing(graph));
  for (const graph::ConstantTensor& constant : graph.constants) {
    if (constant.missing && !options.only_plan) return kernels::ToHostTensor(constant).error();
  }
  PLIMSOLL_TRY(CheckReuseIndexes(graph, options.plan.lifetimes.reuse));
  PLIMSOLL_ASSIGN(
      InputRanges ranges,
      InputRanges::Open(graph, options.open_shapes,
                        options.dynamic_dims.empty() ? options.shape_ranges : std::nullopt,
                        options.variables));
  for (const ValueId input : graph.root().inputs) graph[input].type = graph[input].declared;
  if (Status inferred = compile::InferShapes(graph); !inferred.ok()) {
    return ranges.Explain(inferred.error());
  }
  PLIMSOLL_TRY(compile::SpreadBatchLabels(graph, options.plan.updates));
  PLIMSOLL_TRY(compile::SettleStreams(graph, options.plan.updates));
  std::unique_ptr<LoadedGraph> loaded(new LoadedGraph(std::move(graph), options, std::move(memory),
                                                      std::move(weights), std::move(name)));
  loaded->ranges_ = std::move(ranges);
  loaded->inputs_ = PortsOf(loaded->graph_, loaded->graph_.root().inputs);
  loaded->outputs_ = PortsOf(loaded->graph_, loaded->graph_.root().outputs);
  loaded->own_streams_ =
      std::any_of(loaded->graph_.nodes.begin(), loaded->graph_.nodes.end(),
                  [](const graph::Node& node) { return node.memory.stream > 0; });
  loaded->batches_ = RunBatches(loaded->graph_);
  for (size_t i = 0; i < loaded->outputs_.size(); ++i) {
    loaded->outputs_[i].batch = compile::BatchOf(loaded->graph_, loaded->graph_.root().outputs[i]);
  }
  loaded->read_.resize(loaded->inputs_.size());
  loaded->written_.resize(loaded->outputs_.size());
  loaded->takes_one_shape_ =
      std::all_of(loaded->inputs_.begin(), loaded->inputs_.end(), [](const Port& port) {
        return port.type.is_tensor() && port.type.shape && graph::IsStatic(*port.type.shape);
      });
  loaded->plain_.emplace(loaded->graph_);
  if (options.optimise) {
    // What passes read of the weights and replaced is needed no more; what is still needed comes
    // back from the file.
    const std::vector<graph::ConstantTensor> before = loaded->graph_.constants;
    PLIMSOLL_TRY(compile::Simplify(loaded->graph_, loaded->passes_));
    std::vector<std::span<const std::byte>> read;
    for (const graph::ConstantTensor& constant : before) read.push_back(constant.bytes);
    DropMappedPages(read);
  }
  PLIMSOLL_TRY(loaded->HoldConstants(loaded->graph_));
  for (const graph::ConstantTensor& constant : loaded->graph_.constants) {
    loaded->packed_.AddLasting(constant.bytes.data());
  }
  PLIMSOLL_TRY(loaded->MakeGears());
  return loaded;
}

// Constants as files, where the session keeps them so. Addresses of those that are missing are
// never another's, so these stay.
Status LoadedGraph::HoldConstants(Graph& graph) {
  for (const graph::ConstantTensor& constant : graph.constants) {
    if (!constant.missing) continue;
    assumed_.push_back(constant.storage);
    packed_.AddLasting(constant.bytes.data());
  }
  return packed_.Externalise(graph);
}

Status LoadedGraph::CheckRuns() const {
  if (!options_.only_plan) return {};
  return BadArgument("run.only_plan", name_, "it was loaded to be planned alone",
                     "load it in a session that runs");
}

Status LoadedGraph::CheckCount(size_t inputs) const {
  if (inputs == inputs_.size()) return {};
  return BadArgument("run.inputs", "inputs",
                     StrCat("the model takes ", inputs_.size(), ", given ", inputs),
                     StrCat("it takes ", PortList(inputs_)));
}

Result<std::string> LoadedGraph::BatchFor(std::span<const TensorView> inputs,
                                          const std::string& named) const {
  PLIMSOLL_TRY(CheckCount(inputs.size()));
  return batches_.Choose(named, inputs);
}

Status LoadedGraph::CheckInputs(std::span<const TensorView> inputs) const {
  PLIMSOLL_TRY(CheckCount(inputs.size()));
  for (size_t i = 0; i < inputs.size(); ++i) {
    PLIMSOLL_TRY(ranges_.Check(i, inputs[i].dims));
    PLIMSOLL_TRY(CheckPort(inputs_[i].name, inputs_[i].type, "input", inputs[i]));
  }
  return {};
}

Status LoadedGraph::CheckShapes(std::span<const TensorView> inputs) const {
  PLIMSOLL_TRY(CheckCount(inputs.size()));
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!inputs_[i].type.is_tensor()) continue;  // its shape says nothing
    PLIMSOLL_TRY(ranges_.Check(i, inputs[i].dims));
    PLIMSOLL_TRY(
        CheckPort(inputs_[i].name, inputs_[i].type, "input", inputs[i], Memory::kNotLookedAt));
  }
  return {};
}

Result<LoadedGraph::Entry> LoadedGraph::MakeEntry(const std::vector<Dims>& dims) {
  if (failure_) return *failure_;
  Entry entry;
  entry.dims = dims;
  PLIMSOLL_ASSIGN(Graph graph, GraphFor(dims));
  if (auto reason = compile::WhyNotPlannable(graph)) {
    entry.reason = *std::move(reason);
    return entry;
  }
  if (takes_one_shape_) {
    // No other shapes will come: nobody else holds the constants while they are packed.
    graph_.constants.clear();
  }
  auto model = CompileGraph(std::move(graph), dims);
  const Status made = model.ok() ? SetExecutable(entry, *std::move(model)) : model.status();
  if (!made.ok()) {
    if (takes_one_shape_) failure_ = made.error();
    return made.error();
  }
  GiveBackFreedHeap();
  return entry;
}

Status LoadedGraph::SetExecutable(Entry& entry, compile::CompiledModel model) {
  const auto hold = [this](const graph::ConstantTensor& constant) {
    return packed_.Hold(constant);
  };
  PLIMSOLL_ASSIGN(entry.executable,
                  Executable::Build(std::move(model), hold, packed_.memories(), side_));
  const bool several = StreamedRun::StreamsOf(*entry.executable) > 1;
  if (several && options_.streams_of != nullptr) entry.streamed.emplace(entry.executable);
  return {};
}

Result<StreamSet*> LoadedGraph::Streams(size_t count) {
  if (streams_ == nullptr) {
    streams_ = std::make_unique<StreamSet>(options_.streams_of, options_.streams_device);
  }
  PLIMSOLL_TRY(streams_->Grow(count));
  return streams_.get();
}

// Host operators in parallel with the others are small; a stream that the file asks for is like any
// other.
KernelThreads LoadedGraph::ThreadsOnStreams() const {
  return {.first = options_.threads, .others = own_streams_ ? options_.threads : 1};
}

Result<Graph> LoadedGraph::GraphFor(const std::vector<Dims>& dims) const {
  Result<Graph> graph = WithShapes(graph_, dims);
  if (!graph.ok()) return ranges_.Explain(graph.error());
  return graph;
}

Status LoadedGraph::MakeGears() {
  PLIMSOLL_ASSIGN(const std::vector<Gear> gears, ReadGears(graph_, options_.dynamic_dims));
  options_.plan.lifetimes.reuse.multi_batch_inputs = InputsThatDiffer(gears);
  std::vector<compile::CompiledModel> models;
  for (const Gear& gear : gears) {
    PLIMSOLL_ASSIGN(Graph graph, GraphFor(gear.dims));
    if (auto reason = compile::WhyNotPlannable(graph)) {
      return BadArgument("config.gears", StrCat("gear ", gear.label), *std::move(reason),
                         "load it without gears");
    }
    PLIMSOLL_ASSIGN(compile::CompiledModel model,
                    CompileGraph(std::move(graph), gear.dims, gear.label));
    models.push_back(std::move(model));
  }
  std::vector<compile::GearPlan> plans;
  for (size_t i = 0; i < gears.size(); ++i) plans.push_back({gears[i].label, &models[i].planned});
  PLIMSOLL_TRY(compile::ShareFeatureMap(plans, options_.plan));
  compile::ShareSeparateRegions(plans);
  for (size_t i = 0; i < gears.size(); ++i) {
    Entry& entry = entries_.emplace_back();
    entry.dims = gears[i].dims;
    entry.gear = true;
    PLIMSOLL_TRY(SetExecutable(entry, std::move(models[i])));
  }
  return {};
}

Result<compile::CompiledModel> LoadedGraph::CompileGraph(Graph graph, const std::vector<Dims>& dims,
                                                         const std::string& gear) {
  compile::CompileOptions options;
  // Workspaces that are looked at lie in the plan, and never on a kernel's stack.
  const bool looked_at = options_.debug != nullptr && options_.debug->settings.oom.enabled;
  if (!looked_at) options.plain_peak = plain_->Peak(dims);
  options.plan = options_.plan;
  options.plan.lifetimes.feature_map_moves |= !memory_->KeptWhileLoaded(shapes());
  options.plan.lifetimes.one_shape = takes_one_shape_;
  options.plan.gear = gear;
  options.optimise = options_.optimise;
  options.packed_weights = options_.optimise ? &packed_ : nullptr;
  options.weight_forms = options_.weight_forms.value_or(options.weight_forms);
  options.hold_constants = [this](Graph& final) { return HoldConstants(final); };
  options.separate_host_operators = options_.separate_host_operators && !takes_one_shape_;
  return compile::CompileModel(std::move(graph), options);
}

Result<LoadedGraph::Entry*> LoadedGraph::EntryFor(std::span<const TensorView> inputs) {
  const auto matches = [&](const Entry& entry) {
    return std::equal(
        inputs.begin(), inputs.end(), entry.dims.begin(), entry.dims.end(),
        [](const TensorView& tensor, const Dims& dims) { return tensor.dims == dims; });
  };
  const auto found = std::find_if(entries_.begin(), entries_.end(), matches);
  if (found != entries_.end()) {
    entries_.splice(entries_.begin(), entries_, found);
    return &entries_.front();
  }
  std::vector<Dims> dims;
  for (const TensorView& input : inputs) dims.push_back(input.dims);
  PLIMSOLL_ASSIGN(Entry entry, MakeEntry(dims));
  entries_.push_front(std::move(entry));
  ForgetLongestUnused();
  return &entries_.front();
}

void LoadedGraph::ForgetLongestUnused() {
  const auto goes = [](const Entry& entry) { return !entry.gear; };
  const auto kept = static_cast<size_t>(std::count_if(entries_.begin(), entries_.end(), goes));
  if (kept <= std::max<size_t>(options_.kept_plans, 1)) return;
  const auto last = std::find_if(entries_.rbegin(), entries_.rend(), goes);
  entries_.erase(std::next(last).base());
}

Result<std::shared_ptr<const Executable>> LoadedGraph::Compile(std::span<const TensorView> inputs,
                                                               std::string* reason) {
  const std::lock_guard lock(mutex_);
  PLIMSOLL_TRY(CheckShapes(inputs));
  PLIMSOLL_ASSIGN(Entry * entry, EntryFor(inputs));
  if (reason != nullptr) *reason = entry->reason;
  return entry->executable;
}

Status LoadedGraph::Reserve(std::span<const TensorView> inputs) {
  const std::lock_guard lock(mutex_);
  PLIMSOLL_TRY(CheckShapes(inputs));
  PLIMSOLL_ASSIGN(Entry * entry, EntryFor(inputs));
  if (entry->executable != nullptr) {
    PLIMSOLL_TRY(TakeMemory(entry->executable->program()).status());
    return side_.host_reachable ? Status() : ReservePorts(*entry->executable, inputs);
  }
  return BadArgument("run.dynamic", "feature map",
                     StrCat("its size is known only after the run: ", entry->reason),
                     "run it to see what it takes");
}

Status LoadedGraph::ReservePorts(const Executable& executable, std::span<const TensorView> inputs) {
  std::vector<PortAddress> read;
  for (const TensorView& input : inputs) read.push_back({input.data, input.on_device});
  // What replaces a variable is written where the variable lies.
  static char somewhere = 0;
  std::vector<PortAddress> written(outputs_.size(), PortAddress{&somewhere, false});
  for (const compile::VariableUpdate& update : options_.plan.updates) {
    written[update.output].on_device = true;
  }
  return TakePorts(PortMemory::SizeFor(executable, read, written, options_.plan.input_fusion_size))
      .status();
}

Result<std::byte*> LoadedGraph::TakePorts(Bytes size) {
  return ports_->Take({.type = plan::MemoryType::kDevice, .bytes = size, .key = "ports"});
}

Result<LoadedGraph::RunMemory> LoadedGraph::TakeMemory(const Program& program) {
  RunMemory memory;
  const Bytes size = base_ == nullptr ? program.arena : Bytes(0);
  if (base_ != nullptr && program.arena > base_size_) {
    return Error{
        .kind = ErrorKind::kDoesNotFit,
        .code = "run.base_size",
        .what = "the run was refused",
        .where = "feature map",
        .why = StrCat("it takes ", program.arena, ", the memory given for it has ", base_size_),
        .remedy = "ask for the size of the feature map first, and give that much"};
  }
  areas_at_.resize(program.areas.size());
  for (size_t i = 0; i < areas_at_.size(); ++i) {
    PLIMSOLL_ASSIGN(areas_at_[i], areas_->Take(program.areas[i]));
  }
  FeatureMap& held = memory_->KeptWhileLoaded(shapes()) ? kept_ : memory.taken;
  if (held.size() < size) {
    held = FeatureMap();
    PLIMSOLL_ASSIGN(held, memory_->Take(shapes(), size, name_));
  }
  memory.arena = base_ == nullptr ? held.base() : base_;
  last_feature_map_ = program.total();
  ran_ = true;
  return memory;
}

Result<Bytes> LoadedGraph::FeatureMapSize(std::span<const TensorView> inputs) {
  std::string reason;
  PLIMSOLL_ASSIGN(const auto executable, Compile(inputs, &reason));
  if (executable != nullptr) return executable->program().arena;
  return BadArgument("run.dynamic", "feature map",
                     StrCat("its size is known only after the run: ", reason),
                     "let the session take the memory");
}

Status LoadedGraph::SetFeatureMapBase(std::byte* base, Bytes size) {
  const std::lock_guard lock(mutex_);
  if (ran_ && !options_.plan.lifetimes.feature_base_refreshable) {
    return BadArgument("run.base", "feature map", "the graph has run, and its base is fixed",
                       "set ge.featureBaseRefreshable to 1, or give the base before the first run");
  }
  if (base == nullptr || reinterpret_cast<uintptr_t>(base) % plan::kDefaultAlignment != 0) {
    return BadArgument("run.base", "feature map",
                       base == nullptr ? "there is no memory behind it"
                                       : StrCat("it is not aligned to ", plan::kDefaultAlignment),
                       StrCat("give memory aligned to ", plan::kDefaultAlignment, " bytes"));
  }
  if (base_ == nullptr) kept_ = FeatureMap();
  base_ = base;
  base_size_ = size;
  return {};
}

// A run in which an operand that never moves would lie elsewhere than before is refused.
Status LoadedGraph::Bind(Entry& entry, std::byte* arena) {
  std::vector<RunRecord::StableAddress> stable;
  for (const StablePlace& operand : entry.executable->program().stable) {
    const void* const now = entry.executable->AddressOf(operand.place, arena, areas_at_);
    const void* const before = stable_.try_emplace(operand.key, now).first->second;
    if (now != before) {
      return Error{.kind = ErrorKind::kRunFailed,
                   .code = "run.stable_address",
                   .what = "the run was refused",
                   .where = StrCat(operand.key, " ('", operand.value, "')"),
                   .why = "it keeps its address, and with these shapes it would lie elsewhere",
                   .remedy = "let it lie in no group with values whose sizes change"};
    }
    stable.push_back({operand.key, operand.value, now});
  }
  entry.addresses = entry.executable->Bind(arena, areas_at_);
  entry.arena = arena;
  entry.areas = areas_at_;
  entry.stable = std::move(stable);
  return {};
}

Status LoadedGraph::RunPlanned(Entry& entry, std::span<const TensorView> inputs,
                               std::span<const TensorView> outputs, const RunOptions& options,
                               const std::string& batch, bool* half_applied) {
  PLIMSOLL_ASSIGN(const RunMemory memory, TakeMemory(entry.executable->program()));
  const bool bound = entry.arena == memory.arena && entry.areas == areas_at_;
  if (!bound || entry.addresses.operands.empty()) PLIMSOLL_TRY(Bind(entry, memory.arena));
  last_run_.ports = entry.executable->port_uses();
  last_run_.clearing = {};
  last_run_.stable = entry.stable;
  last_run_.batch = batch;
  const Executable::Call call{.inputs = {},
                              .outputs = {},
                              .cancelled = options.cancelled,
                              .clearing = &last_run_.clearing,
                              .half_applied = half_applied,
                              .batch = entry.executable->program().BatchNamed(batch)};
  return side_.host_reachable ? RunOnHost(entry, inputs, outputs, call, batch)
                              : RunOnDevice(entry, inputs, outputs, call, batch);
}

Status LoadedGraph::RunBound(Entry& entry, Executable::Call call) {
  const auto monitor = debug_.BeginRun(entry.executable->model().graph, entry.streamed.has_value());
  call.monitor = monitor.get();
  const auto run = [&]() -> Status {
    if (!entry.streamed) return entry.executable->Run(entry.addresses, call);
    PLIMSOLL_ASSIGN(StreamSet* const streams, Streams(StreamedRun::StreamsOf(*entry.executable)));
    return entry.streamed->Run(*streams, ThreadsOnStreams(), entry.addresses, call);
  };
  return monitor == nullptr ? run() : monitor->Finished(run(), call.queue);
}

Status LoadedGraph::RunOnHost(Entry& entry, std::span<const TensorView> inputs,
                              std::span<const TensorView> outputs, Executable::Call call,
                              const std::string& batch) {
  StagedPorts staged;
  last_run_.transfers = CountTransfers(entry.executable->program());
  for (size_t i = 0; i < inputs.size(); ++i) {
    const TensorView& input = inputs[i];
    PLIMSOLL_ASSIGN(read_[i],
                    staged.Input(input.type, input.dims, input.data, last_run_.ports.inputs[i]));
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    const TensorView& output = outputs[i];
    written_[i] = nullptr;
    if (!Makes(batch, i)) continue;
    PLIMSOLL_ASSIGN(written_[i], staged.Output(output.type, output.dims, output.data,
                                               last_run_.ports.outputs[i]));
  }
  call.inputs = read_;
  call.outputs = written_;
  PLIMSOLL_TRY(RunBound(entry, call));
  staged.CopyOutputs();
  return {};
}

Status LoadedGraph::RunOnDevice(Entry& entry, std::span<const TensorView> inputs,
                                std::span<const TensorView> outputs, Executable::Call call,
                                const std::string& batch) {
  PLIMSOLL_ASSIGN(StreamSet* const streams, Streams(StreamedRun::StreamsOf(*entry.executable)));
  DeviceQueue queue(side_, streams->At(0), options_.threads);
  const auto place = [](const TensorView& tensor, compile::PortUse& use) {
    if (!tensor.on_device) {
      use = {.how = compile::PortUse::How::kCopied,
             .reason = "the host cannot reach the device's memory"};
    }
    return PortAddress{tensor.data, tensor.on_device};
  };
  std::vector<PortAddress> read;
  std::vector<PortAddress> written;
  for (size_t i = 0; i < inputs.size(); ++i) {
    read.push_back(place(inputs[i], last_run_.ports.inputs[i]));
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    written.emplace_back();
    if (Makes(batch, i)) written.back() = place(outputs[i], last_run_.ports.outputs[i]);
  }
  const auto take = [this](Bytes size) { return TakePorts(size); };
  PLIMSOLL_ASSIGN(const PortMemory ports,
                  PortMemory::Bring(*entry.executable, read, written,
                                    options_.plan.input_fusion_size, take, queue));
  PLIMSOLL_TRY(queue.Finish());
  last_run_.transfers = ports.transfers();
  call.inputs = ports.inputs();
  call.outputs = ports.outputs();
  call.queue = &queue;
  PLIMSOLL_TRY(RunBound(entry, call));
  PLIMSOLL_TRY(ports.Fetch(queue));
  return queue.Finish();
}

Status LoadedGraph::Run(std::span<const TensorView> inputs, std::span<const TensorView> outputs,
                        const RunOptions& options, bool* half_applied) {
  const std::lock_guard lock(mutex_);
  PLIMSOLL_TRY(CheckRuns());
  PLIMSOLL_TRY(CheckInputs(inputs));
  PLIMSOLL_ASSIGN(const std::string batch, batches_.Choose(options.batch, inputs));
  if (outputs.size() != outputs_.size()) {
    return BadArgument("run.outputs", "outputs",
                       StrCat("the model gives ", outputs_.size(), ", asked for ", outputs.size()),
                       StrCat("it gives ", PortList(outputs_)));
  }
  PLIMSOLL_ASSIGN(Entry * entry, EntryFor(inputs));
  if (entry->executable == nullptr) {
    return BadArgument("run.dynamic", "outputs",
                       StrCat("their sizes are known only after the run: ", entry->reason),
                       "run it with values");
  }
  const Graph& compiled = entry->executable->model().graph;
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (!Makes(batch, i)) continue;
    const ValueType& type = compiled[compiled.root().outputs[i]].type;
    PLIMSOLL_TRY(CheckPort(outputs_[i].name, type, "output", outputs[i]));
  }
  return RunPlanned(*entry, inputs, outputs, options, batch, half_applied);
}

Result<std::vector<HostValue>> LoadedGraph::RunNodeByNode(std::vector<HostValue> inputs,
                                                          const RunOptions& options,
                                                          const std::string& batch) {
  PLIMSOLL_TRY(CheckNodeByNode(graph_));
  if (!interpreter_) interpreter_.emplace(graph_);
  const auto monitor = debug_.BeginRun(graph_, false);
  Interpreter::Options walk;
  walk.monitor = monitor.get();
  walk.cancelled = options.cancelled;
  walk.batch = batch;
  walk.allocate = memory_->TensorAllocator();
  if (side_.host_reachable) {
    walk.hold = [this](const graph::ConstantTensor& constant) { return packed_.Hold(constant); };
  }
  if (options_.separate_host_operators) {
    PLIMSOLL_ASSIGN(walk.streams, Streams(2));
  }
  return interpreter_->Run(std::move(inputs), walk);
}

Result<std::vector<HostValue>> LoadedGraph::RunValues(std::vector<HostValue> inputs,
                                                      const RunOptions& options) {
  const std::lock_guard lock(mutex_);
  PLIMSOLL_TRY(CheckRuns());
  PLIMSOLL_TRY(CheckCount(inputs.size()));
  std::vector<TensorView> tensors;
  bool plain = true;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const HostTensor& tensor = inputs[i].tensor;
    tensors.push_back({tensor.type, tensor.dims, tensor.data.get()});
    plain &= inputs_[i].type.is_tensor() && tensor.type != graph::DataType::kString;
    PLIMSOLL_TRY(CheckKind(inputs_[i], inputs[i]));
    if (!inputs_[i].type.is_tensor()) continue;
    PLIMSOLL_TRY(ranges_.Check(i, tensor.dims));
    PLIMSOLL_TRY(CheckPort(inputs_[i].name, inputs_[i].type, "input", tensors[i]));
  }
  PLIMSOLL_ASSIGN(const std::string batch, batches_.Choose(options.batch, tensors));
  if (!plain) return RunNodeByNode(std::move(inputs), options, batch);
  PLIMSOLL_ASSIGN(Entry * entry, EntryFor(tensors));
  if (entry->executable == nullptr) return RunNodeByNode(std::move(inputs), options, batch);
  const Graph& compiled = entry->executable->model().graph;
  std::vector<HostValue> outputs;
  std::vector<TensorView> made;
  for (size_t i = 0; i < outputs_.size(); ++i) {
    if (!Makes(batch, i)) {
      made.emplace_back();
      outputs.emplace_back();
      continue;
    }
    const ValueType& type = compiled[compiled.root().outputs[i]].type;
    PLIMSOLL_ASSIGN(HostTensor tensor,
                    kernels::AllocateOnHeap(type.data_type, graph::StaticDims(*type.shape)));
    made.push_back({tensor.type, tensor.dims, tensor.data.get()});
    outputs.push_back(HostValue::Of(std::move(tensor)));
  }
  PLIMSOLL_TRY(RunPlanned(*entry, tensors, made, options, batch));
  return outputs;
}

std::shared_ptr<const Executable> LoadedGraph::last_executable() const {
  const std::lock_guard lock(mutex_);
  return entries_.empty() ? nullptr : entries_.front().executable;
}

HeldWeights LoadedGraph::PlainWeights() const {
  HeldWeights weights;
  for (const Entry& entry : entries_) {
    if (entry.executable != nullptr) entry.executable->AddTo(weights);
  }
  if (interpreter_) interpreter_->AddTo(weights);
  return weights;
}

HeldWeights LoadedGraph::Weights() const {
  HeldWeights weights = PlainWeights();
  packed_.AddTo(weights);
  return weights;
}

void LoadedGraph::AddWeightsTo(HeldWeights& weights) const {
  const std::lock_guard lock(mutex_);
  weights.merge(Weights());
}

GraphMemory LoadedGraph::memory() const {
  const std::lock_guard lock(mutex_);
  GraphMemory memory;
  memory.feature_map = last_feature_map_;
  memory.plans = static_cast<int>(entries_.size());
  memory.weights = SumOf(Weights());
  memory.packed = packed_.packed(PlainWeights());
  if (!entries_.empty() && entries_.front().executable != nullptr) {
    const Executable& executable = *entries_.front().executable;
    const auto& planned = executable.model().planned;
    memory.planned_peak = planned.plan.regions[planned.buffers.feature_map.index()].size;
    memory.merged_blocks = planned.plan.merged_size();
    memory.merged_cost = planned.plan.merged_cost();
  }
  return memory;
}

RunRecord LoadedGraph::last_run() const {
  const std::lock_guard lock(mutex_);
  return last_run_;
}

}  // namespace plimsoll::engine
