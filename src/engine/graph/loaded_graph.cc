#include "engine/graph/loaded_graph.h"

#include <algorithm>
#include <utility>

#include "base/code_pages.h"
#include "engine/api/port_tensors.h"
#include "plimsoll/base/text.h"

namespace plimsoll::engine {
namespace {

using kernels::HostValue;

Error FeatureMapNotKnown(const std::string& reason, const char* remedy) {
  return BadArgument("run.dynamic", "feature map",
                     StrCat("its size is known only after the run: ", reason), remedy);
}

// Host operators in parallel with the others are small; a stream that the file asks for is like any
// other.
KernelThreads ThreadsFor(const graph::Graph& graph, int threads) {
  const bool own_streams =
      std::any_of(graph.nodes.begin(), graph.nodes.end(),
                  [](const graph::Node& node) { return node.memory.stream > 0; });
  return {.first = threads, .others = own_streams ? threads : 1};
}

}  // namespace

Result<std::unique_ptr<LoadedGraph>> LoadedGraph::Load(graph::Graph graph,
                                                       const LoadOptions& options,
                                                       const SharedParts& parts, std::string name,
                                                       std::vector<VariablePort> variables) {
  LoadOptions load = options;
  PLIMSOLL_TRY(GraphVariables::Prepare(graph, variables, load));
  PLIMSOLL_ASSIGN(InputRanges ranges, PrepareGraph(graph, load));
  GraphPorts ports(graph, std::move(ranges));
  const GraphShapes shapes = ports.takes_one_shape() ? GraphShapes::kStatic : GraphShapes::kDynamic;
  const GraphRunner::Options runs{.threads = ThreadsFor(graph, load.threads),
                                  .pin_threads = load.pin_threads,
                                  .deterministic = load.deterministic,
                                  .separate_host_operators = load.separate_host_operators,
                                  .input_fusion_size = load.plan.input_fusion_size,
                                  .debug = GraphDebug(load.debug, name, load.profiled)};
  PLIMSOLL_ASSIGN(auto compiler,
                  GraphCompiler::Make(std::move(graph),
                                      {.load = load,
                                       .ranges = ports.ranges(),
                                       .takes_one_shape = ports.takes_one_shape(),
                                       .sizes_vary = ports.sizes_vary(),
                                       .feature_map_moves = !parts.memory->KeptWhileLoaded(shapes),
                                       .side = parts.memory->side()},
                                      parts.weights));
  PLIMSOLL_ASSIGN(std::vector<ShapeCache::Entry> gears, compiler->CompileGears());
  PLIMSOLL_ASSIGN(
      GraphVariables bound,
      GraphVariables::Bind(ports.inputs(), ports.outputs(), std::move(variables), parts.variables));
  std::unique_ptr<LoadedGraph> loaded(new LoadedGraph(
      std::move(name), load, std::move(ports), std::move(compiler), std::move(bound), runs, parts));
  for (ShapeCache::Entry& gear : gears) loaded->cache_.Pin(std::move(gear));
  return loaded;
}

LoadedGraph::LoadedGraph(std::string name, const LoadOptions& options, GraphPorts ports,
                         std::unique_ptr<GraphCompiler> compiler, GraphVariables variables,
                         const GraphRunner::Options& runs, const SharedParts& parts)
    : name_(std::move(name)),
      shapes_(ports.takes_one_shape() ? GraphShapes::kStatic : GraphShapes::kDynamic),
      only_plan_(options.only_plan),
      steps_(options.steps),
      kept_plans_(options.kept_plans),
      ports_(std::move(ports)),
      variables_(std::move(variables)),
      compiler_(std::move(compiler)),
      cache_(options.kept_plans),
      runner_(runs, parts.memory->side(),
              RunMemory(parts.memory, shapes_, name_,
                        options.plan.lifetimes.feature_base_refreshable)) {}

Status LoadedGraph::CheckRuns() const {
  if (!only_plan_) return {};
  return BadArgument("run.only_plan", name_, "it was loaded to be planned alone",
                     "load it in a session that runs");
}

Result<std::string> LoadedGraph::BatchFor(std::span<const TensorView> inputs,
                                          const std::string& named) const {
  PLIMSOLL_TRY(variables_.CheckInputCount(inputs.size()));
  return ports_.batches().Choose(named, variables_.CopyOfAllInputs(inputs));
}

Result<ShapeCache::Entry*> LoadedGraph::EntryFor(std::span<const TensorView> all_inputs) {
  if (ShapeCache::Entry* const known = cache_.Find(all_inputs)) return known;
  std::vector<kernels::Dims> dims;
  for (const TensorView& input : all_inputs) dims.push_back(input.dims);
  PLIMSOLL_ASSIGN(ShapeCache::Entry entry, compiler_->Compile(std::move(dims)));
  return &cache_.Add(std::move(entry));
}

Result<std::shared_ptr<const Executable>> LoadedGraph::Compile(std::span<const TensorView> inputs,
                                                               std::string* reason) {
  PLIMSOLL_TRY(variables_.CheckInputCount(inputs.size()));
  const std::lock_guard lock(mutex_);
  const auto all = variables_.AllInputs(inputs);
  PLIMSOLL_TRY(ports_.CheckInputs(all, Memory::kNotLookedAt));
  PLIMSOLL_ASSIGN(const ShapeCache::Entry* const entry, EntryFor(all));
  if (reason != nullptr) *reason = entry->reason;
  return entry->run.executable;
}

Status LoadedGraph::Reserve(std::span<const TensorView> inputs) {
  std::string reason;
  PLIMSOLL_ASSIGN(const auto executable, Compile(inputs, &reason));
  if (executable == nullptr) {
    return FeatureMapNotKnown(reason, "run it to see what it takes");
  }
  static char somewhere = 0;
  const std::vector<TensorView> outputs(variables_.outputs().size(),
                                        TensorView{.data = &somewhere});
  const std::lock_guard lock(mutex_);
  return runner_.Reserve(*executable, variables_.AllInputs(inputs), variables_.AllOutputs(outputs));
}

Result<Bytes> LoadedGraph::FeatureMapSize(std::span<const TensorView> inputs) {
  std::string reason;
  PLIMSOLL_ASSIGN(const auto executable, Compile(inputs, &reason));
  if (executable != nullptr) return executable->program().arena;
  return FeatureMapNotKnown(reason, "let the session take the memory");
}

Status LoadedGraph::SetFeatureMapBase(std::byte* base, Bytes size) {
  const std::lock_guard lock(mutex_);
  return runner_.memory().SetBase(base, size);
}

Status LoadedGraph::RunStep(std::span<const TensorView> inputs, std::span<const TensorView> outputs,
                            const RunOptions& options, bool& half_applied) {
  const std::lock_guard lock(mutex_);
  const auto read = variables_.AllInputs(inputs);
  PLIMSOLL_TRY(ports_.CheckInputs(read, Memory::kNeeded));
  PLIMSOLL_ASSIGN(const std::string batch, ports_.batches().Choose(options.batch, read));
  PLIMSOLL_ASSIGN(ShapeCache::Entry* const entry, EntryFor(read));
  if (entry->run.executable == nullptr) {
    return BadArgument("run.dynamic", "outputs",
                       StrCat("their sizes are known only after the run: ", entry->reason),
                       "run it with values");
  }
  const graph::Graph& compiled = entry->run.executable->model().graph;
  PLIMSOLL_TRY(variables_.MakeRoom(compiled));
  const auto written = variables_.AllOutputs(outputs);
  PLIMSOLL_TRY(ports_.CheckOutputs(written, compiled, batch));
  PLIMSOLL_TRY(runner_.Run(entry->run, {.inputs = read,
                                        .outputs = written,
                                        .ports = ports_.outputs(),
                                        .batch = batch,
                                        .cancelled = options.cancelled,
                                        .task = options.task,
                                        .half_applied = &half_applied}));
  variables_.TakeNewSizes();
  // What loading and what only the first run does have used.
  if (!std::exchange(gave_back_code_, true)) GiveBackCode("libdnnl");
  return {};
}

Status LoadedGraph::Run(std::span<const TensorView> inputs, std::span<const TensorView> outputs,
                        const RunOptions& options) {
  PLIMSOLL_TRY(CheckRuns());
  if (options.feed && !inputs.empty()) {
    return BadArgument("run.inputs", "inputs", "they are given twice, and by a feed",
                       "give one or the other");
  }
  if (!options.feed) PLIMSOLL_TRY(variables_.CheckInputCount(inputs.size()));
  PLIMSOLL_TRY(variables_.CheckOutputCount(outputs.size()));
  PLIMSOLL_ASSIGN(const GraphVariables::Lock held, variables_.LockForRun());
  for (int64_t step = 0; step < steps(); ++step) {
    if (options.feed) {
      PLIMSOLL_ASSIGN(inputs, options.feed(step));
      PLIMSOLL_TRY(variables_.CheckInputCount(inputs.size()));
    }
    bool half_applied = false;
    const Status done = RunStep(inputs, outputs, options, half_applied);
    if (!done.ok()) return variables_.Failed(done.error(), step, steps(), half_applied);
    variables_.CountStep();
  }
  return {};
}

Result<std::vector<Tensor>> LoadedGraph::MakeOutputs(const Executable& executable,
                                                     const std::string& batch) {
  return engine::MakeOutputs(executable, outputs(), batch, output_blocks_.get());
}

Result<std::vector<HostValue>> LoadedGraph::RunValues(std::vector<HostValue> inputs,
                                                      const RunOptions& options) {
  PLIMSOLL_TRY(CheckRuns());
  if (options.feed) {
    return BadArgument("run.inputs", "inputs", "a run over values takes no feed", "use Run");
  }
  PLIMSOLL_TRY(variables_.CheckInputCount(inputs.size()));
  std::vector<TensorView> views;
  bool tensors = true;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Port& port = variables_.inputs()[i];
    PLIMSOLL_TRY(CheckKind(port, inputs[i]));
    views.push_back(inputs[i].tensor.View());
    tensors &= port.type.is_tensor() && views[i].type != graph::DataType::kString;
  }
  if (!tensors) return RunNodeByNode(std::move(inputs), options);
  PLIMSOLL_ASSIGN(const auto executable, Compile(views));
  if (executable == nullptr) return RunNodeByNode(std::move(inputs), options);
  PLIMSOLL_ASSIGN(const std::string batch, BatchFor(views, options.batch));
  PLIMSOLL_ASSIGN(std::vector<Tensor> made, MakeOutputs(*executable, batch));
  PLIMSOLL_TRY(Run(views, ViewsOf(made), options));
  std::vector<HostValue> values;
  for (size_t i = 0; i < made.size(); ++i) {
    const bool absent = !Makes(batch, outputs()[i]);
    values.push_back(absent ? HostValue() : HostValue::Of(std::move(made[i])));
  }
  return values;
}

Result<std::vector<HostValue>> LoadedGraph::RunStepNodeByNode(std::vector<HostValue> inputs,
                                                              const RunOptions& options,
                                                              bool& half_applied) {
  const std::lock_guard lock(mutex_);
  PLIMSOLL_ASSIGN(std::vector<HostValue> all, variables_.AllValues(std::move(inputs)));
  PLIMSOLL_TRY(ports_.CheckValues(all));
  std::vector<TensorView> views;
  for (const HostValue& value : all) views.push_back(value.tensor.View());
  PLIMSOLL_ASSIGN(const std::string batch, ports_.batches().Choose(options.batch, views));
  PLIMSOLL_ASSIGN(std::vector<HostValue> made,
                  runner_.RunNodeByNode({.graph = compiler_->graph(),
                                         .constants = compiler_->constants(),
                                         .compile =
                                             [this](graph::Graph stretch) {
                                               return compiler_->CompileStretch(std::move(stretch));
                                             },
                                         .kept_plans = kept_plans_},
                                        std::move(all), options.cancelled, batch));
  return variables_.Assign(std::move(made), half_applied);
}

Result<std::vector<HostValue>> LoadedGraph::RunNodeByNode(std::vector<HostValue> inputs,
                                                          const RunOptions& options) {
  PLIMSOLL_ASSIGN(const GraphVariables::Lock held, variables_.LockForRun());
  std::vector<HostValue> made;
  for (int64_t step = 0; step < steps(); ++step) {
    bool half_applied = false;
    const bool last = step + 1 == steps();
    auto done = RunStepNodeByNode(last ? std::move(inputs) : inputs, options, half_applied);
    if (!done.ok()) return variables_.Failed(done.error(), step, steps(), half_applied);
    variables_.CountStep();
    made = *std::move(done);
  }
  return made;
}

HeldWeights LoadedGraph::PlainWeights() const {
  HeldWeights weights;
  for (const ShapeCache::Entry& entry : cache_.entries()) {
    if (entry.run.executable != nullptr) entry.run.executable->AddTo(weights);
  }
  runner_.AddTo(weights);
  return weights;
}

HeldWeights LoadedGraph::Weights() const {
  HeldWeights weights = PlainWeights();
  compiler_->constants().AddTo(weights);
  return weights;
}

void LoadedGraph::AddWeightsTo(HeldWeights& weights) const {
  const std::lock_guard lock(mutex_);
  weights.merge(Weights());
}

GraphMemory LoadedGraph::memory() const {
  const std::lock_guard lock(mutex_);
  GraphMemory memory;
  memory.feature_map = runner_.memory().last_taken();
  memory.plans = static_cast<int>(cache_.entries().size());
  memory.weights = SumOf(Weights());
  memory.packed = compiler_->constants().packed(PlainWeights());
  memory.stretches = runner_.stretch_counts();
  const ShapeCache::Entry* const last = cache_.last_used();
  if (last != nullptr && last->run.executable != nullptr) {
    const auto& planned = last->run.executable->model().planned;
    memory.planned_peak = planned.plan.regions[planned.buffers.feature_map.index()].size;
    memory.merged_blocks = planned.plan.merged_size();
    memory.merged_cost = planned.plan.merged_cost();
  }
  return memory;
}

RunRecord LoadedGraph::last_run() const {
  const std::lock_guard lock(mutex_);
  return variables_.SeenOf(runner_.last_run());
}

UpdateReport LoadedGraph::updates() const {
  const std::lock_guard lock(mutex_);
  const ShapeCache::Entry* const last = cache_.last_used();
  return variables_.ReportOf(last == nullptr ? nullptr : last->run.executable.get());
}

}  // namespace plimsoll::engine
