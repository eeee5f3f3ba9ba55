#include "compile/compile_model.h"

#include <algorithm>
#include <array>
#include <set>

#include "compile/attempt.h"
#include "compile/bodies/loops.h"
#include "compile/memory/streams.h"
#include "compile/passes/bodies.h"
#include "compile/passes/compact.h"
#include "compile/passes/host_operators.h"
#include "compile/passes/overwrite_order.h"
#include "compile/passes/slices/slice_regions.h"
#include "compile/passes/slices/sum_regions.h"
#include "compile/prepare_kernels.h"
#include "compile/repeat_nodes.h"
#include "compile/shapes/batch_labels.h"
#include "compile/shapes/shapes.h"
#include "compile/similar_sizes.h"
#include "compile/trades.h"
#include "compile/tuning/operator_tuning.h"
#include "compile/tuning/subgraph_tuning.h"
#include "kernels/parallel.h"
#include "kernels/preparation_scope.h"
#include "plimsoll/base/text.h"

namespace plimsoll::compile {
namespace {

using graph::Graph;
using graph::NodeId;
using graph::ValueId;

constexpr FusionPattern kSliceBySlice = FusionPattern::kSliceBySlice;

// Looks for a way whose peak is not above that of plain lives: the fastest layouts and kernels
// first, and those that need less where these need too much.
class Compilation {
 public:
  Compilation(const CompileOptions& options, Graph simplified, const FusionCounts& fusion,
              KernelLooks& looks)
      : options_(options), simplified_(std::move(simplified)), fusion_(fusion), looks_(looks) {}

  // The layouts and slices to take. To be completed.
  Result<Attempt> Search() {
    if (!MaySkipSearch()) return SearchAll();
    SimilarSizes& similar = *options_.similar;
    if (const FoundWay* const way = similar.Find(PlainPeak()); way != nullptr && way->lasts) {
      PLIMSOLL_ASSIGN(std::optional<Attempt> same, TryWay(*way));
      if (same) return *std::move(same);
    }
    PLIMSOLL_ASSIGN(Attempt best, SearchAll());
    similar.Keep(PlainPeak(), {.layouts = best.layouts,
                               .cuts = best.cuts,
                               .share = ShareOf(best),
                               .lasts = best.peak() <= Target() && best.repeated == 0});
    return best;
  }

  Result<CompiledModel> Complete(Attempt best) {
    PLIMSOLL_TRY(TradeMemory(best));
    if (options_.tuning.store != nullptr) {
      PLIMSOLL_TRY(TuneSubgraph(best));
      PLIMSOLL_TRY(TuneOperators(best));
    }
    simplified_ = {};  // nobody holds constants while they are packed
    looks_.Clear();
    PLIMSOLL_TRY(Finish(best));
    best.model.threads = options_.threads;
    if (options_.optimise) PLIMSOLL_TRY(PlanSideBySide(best.model));
    AddTechniques(best, first_, options_.plain_peak);
    return std::move(best.model);
  }

  // What kernels and layouts need not go below: nothing where memory comes first.
  Bytes Target() const { return options_.plan.memory_priority ? Bytes(0) : PlainPeak(); }

 private:
  const compile::Target& device() const { return options_.plan.lifetimes.target; }

  // Where memory comes first, and where the shapes are all there will be, every search is worth its
  // time.
  bool MaySkipSearch() const {
    return options_.similar != nullptr && options_.optimise && options_.plain_peak &&
           PlainPeak() > Bytes(0) && PlainPeak() < Bytes(kSaturated) &&
           !options_.plan.memory_priority && options_.plan.search_order &&
           options_.tuning.store == nullptr && options_.plan.gear.empty();
  }

  double ShareOf(const Attempt& attempt) const {
    return static_cast<double>(attempt.peak().value()) / static_cast<double>(PlainPeak().value());
  }

  // What was found for similar sizes, without a search; nothing where that needs notably more of
  // plain lives here than it does there.
  Result<std::optional<Attempt>> TryWay(const FoundWay& way) {
    constexpr double kWorse = 1.05;
    quick_ = true;
    PLIMSOLL_ASSIGN(Attempt tried, TryCuts(way));
    quick_ = tried.peak() <= Target() && ShareOf(tried) <= way.share * kWorse &&
             tried.cuts.size() == way.cuts.size();
    return quick_ ? std::optional(std::move(tried)) : std::nullopt;
  }

  Result<Attempt> TryCuts(const FoundWay& way) {
    PLIMSOLL_ASSIGN(Attempt attempt, Try(way.layouts));
    first_ = attempt.peak();
    FusionCounts found;
    int declined = 0;
    for (const int64_t slices : way.cuts) {
      PLIMSOLL_ASSIGN(std::optional<Attempt> sliced, WithSlices(attempt, slices, declined));
      if (!sliced) break;
      found.Took(kSliceBySlice, sliced->regions - attempt.regions);
      attempt = *std::move(sliced);
    }
    attempt.model.fusion.AddRun(found, std::array{kSliceBySlice});
    return attempt;
  }

  Result<Attempt> SearchAll() {
    PLIMSOLL_ASSIGN(Attempt best, Try(GroupedChannels::kWherePossible));
    first_ = best.peak();
    const int possible = best.grouped;
    for (const GroupedChannels layouts :
         {GroupedChannels::kWhereFilled, GroupedChannels::kNowhere}) {
      if (best.peak() <= Target() || best.grouped == 0) break;
      PLIMSOLL_ASSIGN(Attempt other, Try(layouts));
      if (other.peak() < best.peak()) best = std::move(other);
    }
    if (best.layouts == GroupedChannels::kNowhere && possible > 0) {
      best.model.fusion.Declined(FusionPattern::kChannelGroup, possible);
    }
    PLIMSOLL_TRY(SliceAtPeak(best));
    PLIMSOLL_TRY(RepeatAtPeak(best));
    return best;
  }

  Result<Attempt> Try(GroupedChannels layouts) const {
    Attempt attempt;
    attempt.layouts = layouts;
    attempt.model.graph = simplified_;
    attempt.model.fusion = fusion_;
    Graph& graph = attempt.model.graph;
    if (options_.optimise) {
      PLIMSOLL_ASSIGN(attempt.grouped, ChooseLayouts(graph, layouts, attempt.model.fusion,
                                                     options_.switches, *device().backend));
    }
    PLIMSOLL_TRY(SpreadBatchLabels(graph, options_.plan.updates));
    PLIMSOLL_TRY(SettleStreams(graph, options_.plan.updates));
    SeparateUpdates(graph, options_.plan.updates);
    SeparateCarried(graph);
    if (options_.separate_host_operators) MoveHostOperatorsToOwnStream(graph);
    PlaceNodes(graph, device(), options_.plan.updates);
    PLIMSOLL_TRY(Plan(attempt));
    PLIMSOLL_TRY(LowerWorkspaces(attempt));
    return attempt;
  }

  // Cuts what is between products and the sums over it in slices (`slices` 0), or regions into rows
  // or channels.
  Sliced Cut(Graph& graph, const std::vector<ValueId>& seeds, int64_t slices) const {
    const bool least = options_.plan.memory_priority;
    if (slices == 0) {
      // Where slices are cut depends on threads, and with it the order of the sums.
      if (options_.deterministic) return {};
      // Every slice is work for all threads.
      const int64_t channels = 64 * std::max<int64_t>(kernels::Threads(), 2);
      const SumSlices sizes{.slices = 0, .least_channels = least ? 16 : channels};
      Sliced made;
      made.regions = SliceSums(graph, seeds, sizes);
      return made;
    }
    // Larger slices cost no time; smaller ones read weights too often.
    return SliceRegions(graph, seeds,
                        least ? SliceSizes{slices, 16, 8} : SliceSizes{slices, 128, 32});
  }

  // Beyond so many nodes each further plan takes too long. Steps of several streams have no one
  // order.
  bool MayRewriteAtPeak(const Attempt& best) const {
    constexpr size_t kMostNodes = 20'000;
    const PlannedModel& planned = best.model.planned;
    return options_.optimise && planned.timeline.steps_of_stream.size() < 2 &&
           planned.order.size() <= kMostNodes;
  }

  // Kernels and a plan for a graph that was rewritten.
  Status PlanAgain(Attempt& attempt) const {
    OverwriteAfterReaders(attempt.model.graph);
    attempt.model.graph = Compact(attempt.model.graph);
    PLIMSOLL_TRY(InferShapes(attempt.model.graph));
    PLIMSOLL_TRY(Plan(attempt));
    return LowerWorkspaces(attempt);
  }

  // Who forbids to use memory again wants more than plain lives take.
  Bytes PlainPeak() const {
    const ReuseOptions& reuse = options_.plan.lifetimes.reuse;
    if (reuse.disabled || !reuse.not_of.empty()) return Bytes(kSaturated);
    return options_.plain_peak.value_or(Bytes(kSaturated));
  }

  // Where the peak is above that of plain lives, makes values that live over it once more behind
  // it. More work than moving bytes is repeated only where that reaches plain lives.
  Status RepeatAtPeak(Attempt& best) const {
    constexpr int kMostRounds = 6;
    if (!MayRewriteAtPeak(best)) return {};
    for (const RepeatedWork work : {RepeatedWork::kMoves, RepeatedWork::kAny}) {
      if (best.peak() <= PlainPeak()) return {};
      std::optional<Attempt> latest;
      for (int round = 0; round < kMostRounds; ++round) {
        const Attempt& before = latest ? *latest : best;
        if (before.peak() <= PlainPeak()) break;
        PLIMSOLL_ASSIGN(std::optional<Attempt> lower, WithRepetitions(before, work));
        if (!lower) break;
        latest = std::move(lower);
      }
      if (!latest) continue;
      const bool enough = work == RepeatedWork::kMoves || latest->peak() <= PlainPeak();
      if (enough) best = *std::move(latest);
    }
    return {};
  }

  // The same with values made again, where the peak is lower then: all that may help, or the one
  // that helps most.
  Result<std::optional<Attempt>> WithRepetitions(const Attempt& before, RepeatedWork work) const {
    constexpr size_t kMostAlone = 8;
    const std::vector<Repetition> all = FindRepetitions(before.model, PlainPeak(), work);
    const std::span<const Repetition> found(all);
    std::optional<Attempt> lowest;
    for (size_t i = 0; i <= std::min(found.size(), kMostAlone) && !all.empty(); ++i) {
      Attempt repeated = before.Again();
      repeated.most_workspace.clear();
      repeated.choices.clear();
      repeated.repeated += Repeat(repeated.model.graph, i == 0 ? found : found.subspan(i - 1, 1));
      PLIMSOLL_TRY(PlanAgain(repeated));
      repeated.repeated_by = before.repeated_by + before.peak() - repeated.peak();
      const bool lower = repeated.peak() < (lowest ? *lowest : before).peak();
      if (lower) lowest = std::move(repeated);
      if (i == 0 && lowest) break;
    }
    return lowest;
  }

  // The same with what lives at the highest steps cut in slices, where that lowers them.
  Result<std::optional<Attempt>> WithSlices(const Attempt& before, int64_t slices,
                                            int& declined) const {
    Attempt sliced;
    sliced.layouts = before.layouts;
    sliced.grouped = before.grouped;
    sliced.model.fusion = before.model.fusion;
    sliced.model.graph = before.model.graph;
    const Sliced made = Cut(sliced.model.graph, LargeAtPeak(before.model), slices);
    declined = made.declined + made.regions;
    if (made.regions == 0) return std::optional<Attempt>();
    PLIMSOLL_TRY(PlanAgain(sliced));
    // Other shapes may read the same constants whole.
    const Bytes more = options_.plan.lifetimes.one_shape ? Bytes(0) : made.constants;
    const bool lower =
        sliced.peak() * 50 < before.peak() * 49 && sliced.peak() + more < before.peak();
    if (!lower) return std::optional<Attempt>();
    sliced.regions = before.regions + made.regions;
    sliced.sliced_by = before.sliced_by + before.peak() - sliced.peak();
    sliced.cuts = before.cuts;
    sliced.cuts.push_back(slices);
    declined = made.declined;
    return std::optional<Attempt>(std::move(sliced));
  }

  // Makes what lives at the highest steps slice by slice, again and again while that lowers them.
  Status SliceAtPeak(Attempt& best) const {
    constexpr int kMostRounds = 6;
    if (!MayRewriteAtPeak(best) || !options_.switches.IsOn(kSliceBySlice)) return {};
    FusionCounts found;
    int declined = 0;  // in the last round
    for (int round = 0; round < kMostRounds; ++round) {
      bool lower = false;
      for (const int64_t slices : {0, 2, 4}) {
        PLIMSOLL_ASSIGN(std::optional<Attempt> sliced, WithSlices(best, slices, declined));
        lower = sliced.has_value();
        if (!lower) continue;
        found.Took(kSliceBySlice, sliced->regions - best.regions);
        best = *std::move(sliced);
        break;
      }
      if (!lower) break;
    }
    found.Declined(kSliceBySlice, declined);
    best.model.fusion.AddRun(found, std::array{kSliceBySlice});
    return {};
  }

  Status Plan(Attempt& attempt) const {
    PLIMSOLL_TRY(LookAtKernels(attempt.model, options_, attempt.most_workspace, attempt.choices,
                               looks_, attempt.trades));
    return PlanWithKernels(attempt.model);
  }

  Status PlanWithKernels(CompiledModel& model) const {
    PlanOptions plan = options_.plan;
    plan.fold_at_load = false;
    plan.lifetimes.workspaces = WorkspacesOf(model);
    if (quick_) plan.order_effort.steps = 0;
    PLIMSOLL_ASSIGN(model.planned, PlanModel(model.graph, plan));
    model.plan_options = std::move(plan);
    return {};
  }

  // Tells kernels that lift the peak above the target to take less, where they can; at last all of
  // them. The lowest of the plans is kept.
  Status LowerWorkspaces(Attempt& attempt) const {
    constexpr int kMostRounds = 4;
    const Bytes before = attempt.peak();
    std::vector<Bytes> most = WorkspacesToKeep(attempt);
    bool told_all = false;
    for (int round = 0; attempt.peak() > Target() && !told_all; ++round) {
      told_all = most.empty() || round == kMostRounds;
      if (told_all) most.assign(attempt.model.graph.nodes.size(), Bytes(0));
      Attempt lower;
      lower.most_workspace = std::move(most);
      lower.model.graph = attempt.model.graph;
      lower.model.fusion = attempt.model.fusion;
      PLIMSOLL_TRY(Plan(lower));
      most = WorkspacesToKeep(lower);
      if (lower.peak() >= attempt.peak()) continue;
      attempt.model = std::move(lower.model);
      attempt.most_workspace = std::move(lower.most_workspace);
      attempt.trades = std::move(lower.trades);
    }
    attempt.lowered_by = before - attempt.peak();
    return {};
  }

  // By node: a workspace that keeps the node's step at the target, or at what the highest step
  // takes without any; empty where no workspace is in the way. Steps of several streams are not
  // told apart: all of them keep as little as they can.
  std::vector<Bytes> WorkspacesToKeep(const Attempt& attempt) const {
    const PlannedModel& planned = attempt.model.planned;
    const std::vector<Bytes> workspaces = WorkspacesOf(attempt.model);
    if (planned.timeline.steps_of_stream.size() > 1) {
      const bool known = !attempt.most_workspace.empty();
      return known ? std::vector<Bytes>() : std::vector<Bytes>(workspaces.size());
    }
    const std::vector<Bytes> live = LiveBytes(planned);
    Bytes goal = Target();
    for (size_t i = 0; i < live.size(); ++i) {
      goal = std::max(goal, live[i] - workspaces[planned.timeline.steps[i].node.index()]);
    }
    std::vector<Bytes> most = attempt.most_workspace;
    if (most.empty()) most.assign(workspaces.size(), Bytes(kSaturated));
    bool any = false;
    for (size_t i = 0; i < live.size(); ++i) {
      const size_t node = planned.timeline.steps[i].node.index();
      if (live[i] <= goal || workspaces[node] == Bytes(0)) continue;
      const Bytes kept = goal - (live[i] - workspaces[node]);
      if (kept >= most[node]) continue;
      most[node] = kept;
      any = true;
    }
    return any ? most : std::vector<Bytes>();
  }

  // The attempt's kernels, ready to run. Where one needs another workspace than it seemed, the plan
  // is made again.
  Status Finish(Attempt& attempt) const {
    const std::vector<Bytes> planned = WorkspacesOf(attempt.model);
    attempt.model.kernels.clear();
    if (options_.hold_constants) PLIMSOLL_TRY(options_.hold_constants(attempt.model.graph));
    return PrepareToRun(attempt, options_, planned);
  }

  Status PrepareToRun(Attempt& attempt, const CompileOptions& options,
                      const std::vector<Bytes>& planned) const {
    CompiledModel& model = attempt.model;
    PLIMSOLL_TRY(PrepareKernels(model, options, attempt.most_workspace, attempt.choices));
    return WorkspacesOf(model) == planned ? Status() : PlanWithKernels(model);
  }

  // Lets kernels hold larger forms of constants where that saves most time, as far as the budget
  // and the peak allow.
  Status TradeMemory(Attempt& best) const {
    const bool packs =
        options_.packed_weights != nullptr && options_.weight_forms == WeightForms::kPacked;
    if (!options_.optimise || !options_.trades_memory || !packs) return {};
    if (options_.plan.memory_priority) return {};
    KeptTrades* const kept = options_.plan.lifetimes.one_shape ? nullptr : options_.kept_trades;
    if (kept == nullptr && !options_.plan.lifetimes.one_shape) return {};
    const Bytes peak = best.peak();
    const Bytes budget = TradeBudget(best.model, peak);
    // The packing may need some room beside what lives at a step.
    for (const int64_t sixteenths : {16, 14, 8}) {
      const std::vector<Bytes> room =
          WorkspacesWithin(best.model, Bytes(peak.value() / 16 * sixteenths));
      Attempt traded = best.Again();
      const TradesByNode trades = TradesWithin(best.model, options_, best.trades, room);
      traded.choices = ChooseTrades(best.model.graph, trades, room, budget, kept);
      const bool any = std::ranges::any_of(
          traded.choices, [](const KernelChoice& choice) { return !choice.alternative.empty(); });
      if (!any) break;
      PLIMSOLL_TRY(Plan(traded));
      if (traded.peak() > peak) continue;
      best = std::move(traded);
      break;
    }
    if (kept != nullptr && !kept->decided()) {
      Keep(best.model.graph, best.trades, best.choices, *kept);
    }
    return {};
  }

  // The highest peak that tuning may lead to.
  Bytes HighestTuned(const Attempt& best) const {
    const bool to_plain = options_.tuning.high_performance && !options_.plan.memory_priority;
    return std::max(best.peak(), to_plain ? options_.plain_peak.value_or(Bytes(0)) : Bytes(0));
  }

  // Takes the variant of the whole graph that is known to be fastest, or finds it.
  Status TuneSubgraph(Attempt& best) const {
    const TuningOptions& tuning = options_.tuning;
    const std::string signature = StrCat(
        "graph ", options_.plan.memory_priority, tuning.high_performance, options_.deterministic,
        static_cast<int>(options_.weight_forms), " ", SignatureOf(best.model.graph));
    const Bytes highest = HighestTuned(best);
    if (const auto stored = tuning.store->Find(signature)) {
      const GraphVariant* const variant = FindVariant(*stored);
      if (variant == nullptr) return {};
      Result<Attempt> tuned = Make(*variant, highest);
      if (!tuned.ok() || tuned->peak() > highest) return {};
      Replace(best, *std::move(tuned));
      best.model.fusion.HitRepository(variant->slices ? FusionPattern::kChannelGroup
                                                      : FusionPattern::kSliceBySlice);
      return {};
    }
    const auto& nodes = best.model.graph.root().nodes;
    const bool wanted = std::ranges::any_of(
        nodes, [&](NodeId id) { return IsSelected(tuning, best.model.graph, id); });
    if (!tuning.subgraphs || !tuning.make_runnable || !wanted) return {};
    std::vector<Attempt> attempts;
    std::vector<std::string> names = {""};
    std::set<std::string> seen = {SignatureOf(best.model.graph)};
    attempts.push_back(std::move(best));
    for (const GraphVariant& variant : kGraphVariants) {
      if (!variant.slices && !tuning.uneven_split) continue;
      Result<Attempt> other = Make(variant, highest);
      if (!other.ok() || other->peak() > highest) continue;
      if (!seen.insert(SignatureOf(other->model.graph)).second) continue;
      attempts.push_back(*std::move(other));
      names.emplace_back(variant.name);
    }
    std::vector<std::function<Result<RunnableModel>()>> makers;
    for (const Attempt& attempt : attempts) {
      makers.emplace_back([this, &attempt] { return Runnable(attempt); });
    }
    TunedChoice choice{.signature = signature, .what = "graph", .choice = {}};
    const Result<size_t> fastest =
        FastestModel(tuning, makers, names, options_.deterministic, &choice.gain);
    best = std::move(attempts[0]);
    if (!fastest.ok()) return {};
    if (*fastest > 0) Replace(best, std::move(attempts[*fastest]));
    choice.choice = names[*fastest];
    tuning.store->Keep({choice});
    return {};
  }

  // What was found for the one and is not done for the other was declined.
  static void Replace(Attempt& best, Attempt tuned) {
    for (const FusionPattern pattern : {FusionPattern::kChannelGroup, kSliceBySlice}) {
      const int left = best.model.fusion[pattern].matches() - tuned.model.fusion[pattern].matches();
      if (left > 0) tuned.model.fusion.Declined(pattern, left);
    }
    best = std::move(tuned);
  }

  // With kernels that keep below the peak where they can.
  Result<Attempt> Make(const GraphVariant& variant, Bytes highest) const {
    CompileOptions options = options_;
    options.plain_peak = highest;
    const Compilation other(options, simplified_, fusion_, looks_);
    PLIMSOLL_ASSIGN(Attempt attempt, other.Try(variant.layouts));
    if (variant.slices) PLIMSOLL_TRY(other.SliceAtPeak(attempt));
    PLIMSOLL_TRY(other.TradeMemory(attempt));
    return attempt;
  }

  Result<RunnableModel> Runnable(const Attempt& attempt) const {
    TemporaryPacking packing;
    CompileOptions options = options_;
    if (options.packed_weights != nullptr) options.packed_weights = &packing;
    Attempt copy = attempt.Again();
    copy.model.planned = attempt.model.planned;
    copy.model.plan_options = attempt.model.plan_options;
    copy.model.input_fusion_size = options_.plan.input_fusion_size;
    copy.model.threads = options_.threads;
    PLIMSOLL_TRY(PrepareToRun(copy, options, WorkspacesOf(attempt.model)));
    return options_.tuning.make_runnable(std::move(copy.model), packing.memory());
  }

  // Takes alternatives of kernels as far as they keep the peak where it may be.
  Status TuneOperators(Attempt& best) const {
    const Bytes highest = HighestTuned(best);
    const std::vector<Bytes> before = WorkspacesOf(best.model);
    PLIMSOLL_ASSIGN(std::vector<KernelChoice> choices,
                    ChooseAlternatives(best.model, options_, best.most_workspace,
                                       WorkspacesWithin(best.model, highest), best.choices));
    std::vector<KernelChoice> usual = best.choices;
    usual.resize(choices.size());
    for (const bool only_smaller : {false, true}) {
      if (choices == usual) return {};
      Attempt tuned = best.Again();
      tuned.choices = choices;
      PLIMSOLL_TRY(Plan(tuned));
      if (tuned.peak() <= highest) {
        best = std::move(tuned);
        return {};
      }
      const std::vector<Bytes> after = WorkspacesOf(tuned.model);
      for (size_t i = 0; i < choices.size() && !only_smaller; ++i) {
        if (after[i] > before[i]) choices[i] = usual[i];
      }
    }
    return {};
  }

  const CompileOptions& options_;
  Graph simplified_;
  const FusionCounts fusion_;
  KernelLooks& looks_;
  Bytes first_;         // the peak with grouped channels everywhere
  bool quick_ = false;  // orders are not searched for
};

// Halves are kept where they keep to the peak of plain lives, or are the lower of two where memory
// comes first.
bool KeepsHalves(const Attempt& halves, const Attempt& wide, const CompileOptions& options,
                 Bytes target) {
  return halves.peak() <= target || (options.plan.memory_priority && halves.peak() < wide.peak());
}

CompileOptions OverHalves(CompileOptions options) {
  options.switches.SwitchOff(FusionPattern::kHalfWiden);
  return options;
}

bool ForbidsReuse(const CompileOptions& options) {
  const ReuseOptions& reuse = options.plan.lifetimes.reuse;
  return reuse.disabled || !reuse.not_of.empty();
}

// Who forbids to use memory again, to look for an error say, gets the numbers that are there with
// it: whether halves would be kept then.
Result<bool> KeepsHalvesWithReuse(const Graph& graph, Graph halves, CompileOptions options,
                                  const FusionCounts& fusion) {
  options.plan.lifetimes.reuse.disabled = false;
  options.plan.lifetimes.reuse.not_of.clear();
  options.similar = nullptr;
  KernelLooks looks;
  Compilation wide(options, Graph(graph), fusion, looks);
  PLIMSOLL_ASSIGN(const Attempt best, wide.Search());
  if (best.peak() <= wide.Target()) return false;
  const CompileOptions narrow_options = OverHalves(options);
  FusionCounts narrow_fusion;
  PLIMSOLL_TRY(Simplify(halves, narrow_fusion, narrow_options.switches,
                        *options.plan.lifetimes.target.backend));
  Compilation narrow(narrow_options, std::move(halves), narrow_fusion, looks);
  PLIMSOLL_ASSIGN(const Attempt other, narrow.Search());
  return KeepsHalves(other, best, options, narrow.Target());
}

// Float32 between nodes where that keeps to the peak of plain lives, else halves where these do.
// Where neither does, float32 may take as much as halves do, with what each node widens for itself.
Result<CompiledModel> CompileOnce(Graph graph, const CompileOptions& options,
                                  std::optional<Graph> halves) {
  FusionCounts fusion = options.found_before;
  const Target& target = options.plan.lifetimes.target;
  if (options.optimise) {
    PLIMSOLL_TRY(Simplify(graph, fusion, options.switches, *target.backend));
  }
  // Constants go as soon as they are packed, so only what may be needed again is kept.
  KernelLooks looks;
  const bool forbids = halves && ForbidsReuse(options);
  if (forbids) {
    PLIMSOLL_ASSIGN(const bool keeps, KeepsHalvesWithReuse(graph, Graph(*halves), options, fusion));
    if (!keeps) halves.reset();
  }
  Compilation wide(options, halves ? Graph(graph) : std::move(graph), fusion, looks);
  PLIMSOLL_ASSIGN(Attempt best, wide.Search());
  if (!halves || (!forbids && best.peak() <= wide.Target())) {
    halves.reset();
    graph = {};
    return wide.Complete(std::move(best));
  }
  const CompileOptions narrow_options = OverHalves(options);
  FusionCounts narrow_fusion;
  PLIMSOLL_TRY(Simplify(*halves, narrow_fusion, narrow_options.switches, *target.backend));
  Compilation narrow(narrow_options, *std::move(halves), narrow_fusion, looks);
  PLIMSOLL_ASSIGN(Attempt other, narrow.Search());
  const bool lower = other.peak() < best.peak();
  const bool keeps = forbids || KeepsHalves(other, best, options, narrow.Target());
  Technique told;
  told.name = "float32 between nodes over halves";
  if (keeps) {
    told.declined = 1;
    told.reason = StrCat("with it the peak would be ", FormatBytes(best.peak()));
    best = {};
    PLIMSOLL_ASSIGN(CompiledModel model, narrow.Complete(std::move(other)));
    model.keeps_halves = true;
    model.planned.techniques.push_back(std::move(told));
    return model;
  }
  told.taken = 1;
  told.gained = other.peak() - best.peak();
  if (lower) told.reason = "nodes over halves would widen what they read, and round what they make";
  CompileOptions bounded_options = options;
  if (!options.plan.memory_priority) {
    bounded_options.plain_peak = std::max(best.peak(), other.peak());
  }
  Compilation bounded(bounded_options, std::move(graph), fusion, looks);
  best = {};
  other = {};
  PLIMSOLL_ASSIGN(best, bounded.Search());
  PLIMSOLL_ASSIGN(CompiledModel model, bounded.Complete(std::move(best)));
  model.planned.techniques.push_back(std::move(told));
  return model;
}

}  // namespace

Result<CompiledModel> CompileModel(Graph graph, const CompileOptions& options,
                                   std::optional<Graph> halves) {
  const kernels::ThreadScope threads(options.threads);
  const kernels::PreparationScope preparation;
  PLIMSOLL_ASSIGN(CompiledModel model, CompileOnce(std::move(graph), options, std::move(halves)));
  const Target& target = options.plan.lifetimes.target;
  model.plan_options.searches = nullptr;  // which may go before the model
  model.input_fusion_size = options.plan.input_fusion_size;
  model.transfers = CountHostTransfers(model.graph, target, options.plan.updates);
  return model;
}

}  // namespace plimsoll::compile
