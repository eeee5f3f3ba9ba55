#include "engine/graph/graph_compiler.h"

#include <utility>

#include "base/code_pages.h"
#include "base/mapped_pages.h"
#include "compile/memory/streams.h"
#include "compile/passes/pass.h"
#include "compile/plannable.h"
#include "compile/shapes/assumed_constants.h"
#include "compile/shapes/batch_labels.h"
#include "compile/shapes/gear_plan.h"
#include "compile/shapes/shapes.h"
#include "engine/cache/stored_searches.h"
#include "engine/graph/compile_request.h"
#include "engine/graph/gears.h"
#include "engine/run/port_checks.h"
#include "kernels/parallel.h"
#include "plimsoll/base/text.h"

namespace plimsoll::engine {

using graph::Graph;
using kernels::Dims;

Result<InputRanges> PrepareGraph(Graph& graph, const LoadOptions& options) {
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
  for (const graph::ValueId input : graph.root().inputs) graph[input].type = graph[input].declared;
  if (Status inferred = compile::InferShapes(graph); !inferred.ok()) {
    return ranges.Explain(inferred.error());
  }
  PLIMSOLL_TRY(compile::SpreadBatchLabels(graph, options.plan.updates));
  PLIMSOLL_TRY(compile::SettleStreams(graph, options.plan.updates));
  return ranges;
}

GraphCompiler::GraphCompiler(Graph graph, Options options, std::shared_ptr<SessionWeights> weights)
    : options_(std::move(options)),
      plain_(graph),
      graph_(std::move(graph)),
      packed_(std::move(weights),
              options_.load.only_plan ? PackedStore::Makes::kCounts : PackedStore::Makes::kForms) {}

Result<std::unique_ptr<GraphCompiler>> GraphCompiler::Make(
    Graph graph, Options options, std::shared_ptr<SessionWeights> weights) {
  const kernels::ThreadScope threads(options.load.threads);
  std::unique_ptr<GraphCompiler> made(
      new GraphCompiler(std::move(graph), std::move(options), std::move(weights)));
  if (made->options_.load.optimise) PLIMSOLL_TRY(made->SimplifyGraph());
  PLIMSOLL_TRY(made->HoldConstants(made->graph_));
  for (const graph::ConstantTensor& constant : made->graph_.constants) {
    made->packed_.AddLasting(constant.bytes.data());
  }
  return made;
}

// What passes read of the weights and replaced is needed no more; what is still needed comes back
// from the file.
Status GraphCompiler::SimplifyGraph() {
  const std::vector<graph::ConstantTensor> before = graph_.constants;
  const LoadOptions& load = options_.load;
  halves_ = graph_;
  PLIMSOLL_TRY(compile::Simplify(graph_, found_, load.switches, *options_.side.backend));
  if (found_[compile::FusionPattern::kHalfWiden].effects == 0) halves_.reset();
  if (load.on_passes) load.on_passes(found_);
  std::vector<std::span<const std::byte>> read;
  for (const graph::ConstantTensor& constant : before) read.push_back(constant.bytes);
  DropMappedPages(read);
  return {};
}

// Other shapes stay with halves, as the first ones do.
Status GraphCompiler::KeepHalves() {
  graph_ = *std::exchange(halves_, std::nullopt);
  options_.load.switches.SwitchOff(compile::FusionPattern::kHalfWiden);
  found_ = {};
  PLIMSOLL_TRY(SimplifyGraph());
  return HoldConstants(graph_);
}

// Constants as files, where the session keeps them so. Addresses of those that are missing are
// never another's, so these stay.
Status GraphCompiler::HoldConstants(Graph& graph) {
  for (const graph::ConstantTensor& constant : graph.constants) {
    if (!constant.missing) continue;
    assumed_.push_back(constant.storage);
    packed_.AddLasting(constant.bytes.data());
  }
  return packed_.Externalise(graph);
}

Result<Graph> GraphCompiler::GraphFor(const std::vector<Dims>& dims) const {
  Result<Graph> graph = WithShapes(graph_, dims);
  if (!graph.ok()) return options_.ranges.Explain(graph.error());
  return graph;
}

// What is the same for the whole graph and for its stretches.
compile::CompileOptions GraphCompiler::OptionsOfParts() const {
  const LoadOptions& load = options_.load;
  compile::CompileOptions options;
  options.plan = load.plan;
  options.optimise = load.optimise;
  options.switches = load.switches;
  options.weight_forms = load.weight_forms.value_or(options.weight_forms);
  options.trades_memory = load.trades_memory;
  options.threads = load.threads;
  options.deterministic = load.deterministic;
  options.sizes_vary = options_.sizes_vary && load.dynamic_dims.empty();
  return options;
}

Result<compile::CompiledModel> GraphCompiler::CompileGraph(Graph graph,
                                                           const std::vector<Dims>& dims,
                                                           const std::string& gear) {
  const LoadOptions& load = options_.load;
  compile::CompileOptions options = OptionsOfParts();
  // Workspaces that are looked at lie in the plan, and never on a kernel's stack.
  const bool looked_at = load.debug != nullptr && load.debug->settings.oom.enabled;
  if (!looked_at) options.plain_peak = plain_->Peak(dims);
  if (options_.takes_one_shape) plain_.reset();
  options.plan.lifetimes.feature_map_moves |= options_.feature_map_moves;
  options.plan.lifetimes.one_shape = options_.takes_one_shape;
  options.plan.lifetimes.target = options_.side.target();
  options.plan.gear = gear;
  options.found_before = found_;
  if (options_.side.host_reachable) options.tuning = load.tuning;
  if (load.only_plan) options.tuning.subgraphs = options.tuning.operators = false;
  options.packed_weights = load.optimise ? &packed_ : nullptr;
  options.kept_trades = &kept_trades_;
  if (!options_.takes_one_shape && load.dynamic_dims.empty()) options.similar = &similar_;
  options.hold_constants = [this](Graph& final) { return HoldConstants(final); };
  options.separate_host_operators = load.separate_host_operators && !options_.takes_one_shape;
  std::optional<StoredSearches> searches;
  DiskCache* const cache = packed_.disk_cache();
  if (cache != nullptr) options.plan.searches = &searches.emplace(*cache);
  std::optional<Graph> halves;
  if (halves_) {
    PLIMSOLL_ASSIGN(halves,
                    WithShapes(options_.takes_one_shape ? *std::move(halves_) : *halves_, dims));
    if (options_.takes_one_shape) halves_.reset();
  }
  auto model = compile::CompileModel(std::move(graph), options, std::move(halves));
  if (halves_ && model.ok() && model->keeps_halves) PLIMSOLL_TRY(KeepHalves());
  halves_.reset();
  if (model.ok() && load.on_passes) load.on_passes(model->fusion);
  if (cache == nullptr) return model;
  searches->Save();
  cache->Settle();
  return model;
}

Result<std::shared_ptr<const Executable>> GraphCompiler::Build(compile::CompiledModel model) {
  const auto hold = [this](const graph::ConstantTensor& constant, kernels::ReadAs read) {
    return packed_.Hold(constant, read);
  };
  PLIMSOLL_ASSIGN(std::shared_ptr<const Executable> executable,
                  Executable::Build(std::move(model), hold, packed_.memories(), options_.side));
  packed_.DropRead();
  return executable;
}

Result<ShapeCache::Entry> GraphCompiler::Compile(std::vector<Dims> dims) {
  if (failure_) return *failure_;
  ShapeCache::Entry entry;
  entry.dims = std::move(dims);
  PLIMSOLL_ASSIGN(Graph graph, GraphFor(entry.dims));
  if (auto reason = compile::WhyNotPlannable(graph)) {
    entry.reason = *std::move(reason);
    return entry;
  }
  // No other shapes will come: nobody else holds the constants while they are packed.
  if (options_.takes_one_shape) graph_ = {};
  const auto build = [&]() -> Result<std::shared_ptr<const Executable>> {
    PLIMSOLL_ASSIGN(compile::CompiledModel model, CompileGraph(std::move(graph), entry.dims));
    // Most of what is held is there by now, and what follows takes other code.
    if (!std::exchange(gave_back_code_, true)) GiveBackCode("libdnnl");
    return Build(std::move(model));
  };
  auto built = build();
  if (!built.ok()) {
    if (options_.takes_one_shape) failure_ = built.error();
    return built.error();
  }
  entry.run.executable = *std::move(built);
  // What one compilation frees serves the next.
  constexpr int kSharedHeap = 8;
  if (compiled_++ % kSharedHeap == 0) GiveBackFreedHeap();
  return entry;
}

Result<std::shared_ptr<const Executable>> GraphCompiler::CompileStretch(Graph graph) {
  PLIMSOLL_TRY(compile::InferShapes(graph));
  const bool reachable = options_.side.host_reachable;
  compile::CompileOptions options = OptionsOfParts();
  options.plain_peak = compile::PlainPeak(graph);
  options.plan.updates.clear();
  options.plan.lifetimes.target = {};
  // What is said of inputs and outputs is said of the whole graph's.
  compile::ReuseOptions& reuse = options.plan.lifetimes.reuse;
  reuse.inputs.clear();
  reuse.outputs.clear();
  reuse.multi_batch_inputs.clear();
  options.packed_weights = options.optimise && reachable ? &packed_ : nullptr;
  if (reachable) options.hold_constants = [this](Graph& final) { return HoldConstants(final); };
  PLIMSOLL_ASSIGN(compile::CompiledModel model, compile::CompileModel(std::move(graph), options));
  const kernels::HoldConstant hold = [this](const graph::ConstantTensor& constant,
                                            kernels::ReadAs read) {
    return packed_.Hold(constant, read);
  };
  PLIMSOLL_ASSIGN(std::shared_ptr<const Executable> executable,
                  Executable::Build(std::move(model), reachable ? hold : kernels::ToHostTensor,
                                    packed_.memories()));
  packed_.DropRead();
  return executable;
}

Result<std::vector<ShapeCache::Entry>> GraphCompiler::CompileGears() {
  PLIMSOLL_ASSIGN(const std::vector<Gear> gears, ReadGears(graph_, options_.load.dynamic_dims));
  options_.load.plan.lifetimes.reuse.multi_batch_inputs = InputsThatDiffer(gears);
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
  PLIMSOLL_TRY(compile::ShareFeatureMap(plans, options_.load.plan));
  compile::ShareSeparateRegions(plans);
  std::vector<ShapeCache::Entry> entries;
  for (size_t i = 0; i < gears.size(); ++i) {
    ShapeCache::Entry& entry = entries.emplace_back();
    entry.dims = gears[i].dims;
    PLIMSOLL_ASSIGN(entry.run.executable, Build(std::move(models[i])));
  }
  return entries;
}

}  // namespace plimsoll::engine
