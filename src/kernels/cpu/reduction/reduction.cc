#include <algorithm>
#include <array>

#include "kernels/cpu/elementwise/wide_elements.h"
#include "kernels/cpu/families.h"
#include "kernels/cpu/movement/axis_split.h"
#include "kernels/cpu/reduction/axis_groups.h"
#include "kernels/cpu/reduction/reduction_steps.h"
#include "kernels/cpu/reduction/row_reduction.h"
#include "kernels/parallel.h"

namespace plimsoll::kernels::cpu {
namespace {

constexpr int64_t kPiece = 128;  // elements widened at a time
constexpr int64_t kGrain = 1 << 14;

// The axes come as an attribute or, in later versions, as an input; none given means all, or none
// where the node says so.
Result<std::vector<bool>> FoldedAxes(const KernelSite& site) {
  const auto rank = static_cast<size_t>(site.inputs[0].rank());
  std::vector<int64_t> axes;
  if (const std::vector<int64_t>* attribute = site.attributes().Ints("axes")) axes = *attribute;
  if (site.has_input(1)) {
    if (site.inputs[1].data == nullptr && site.inputs[1].elements() > 0) {
      return site.Unsupported("the axes to reduce are not known before the run");
    }
    axes = site.inputs[1].Integers();
  }
  if (axes.empty()) {
    return std::vector<bool>(rank, site.attributes().Int("noop_with_empty_axes", 0) == 0);
  }
  std::vector<bool> folded(rank);
  for (const int64_t axis : axes) {
    PLIMSOLL_ASSIGN(const int64_t place, NormalAxis(site, axis, site.inputs[0].rank()));
    folded[static_cast<size_t>(place)] = true;
  }
  return folded;
}

// The output's shape, where the axes were not known when shapes were inferred.
void SetReducedDims(KernelSite& site, const std::vector<bool>& folded) {
  const bool keep = site.attributes().Int("keepdims", 1) != 0;
  Dims& dims = site.outputs[0].dims;
  dims.clear();
  for (size_t axis = 0; axis < folded.size(); ++axis) {
    if (!folded[axis]) {
      dims.push_back(site.inputs[0].dims[axis]);
    } else if (keep) {
      dims.push_back(1);
    }
  }
}

// Each result out of runs of consecutive elements.
template <typename Step, typename Wide>
void FoldRuns(const AxisGroups& groups, const WideElements<Wide>& elements, const void* x,
              int64_t begin, int64_t end, void* y) {
  const std::span<const AxisGroup> outer(groups.folded.data(), groups.folded.size() - 1);
  const int64_t run = groups.folded.back().size;
  const int64_t runs = run == 0 ? 0 : groups.folded_count / run;
  std::array<Wide, kPiece> piece;
  for (int64_t i = begin; i < end; ++i) {
    Total<Wide> total = Step::template Start<Wide>();
    const int64_t base = OffsetIn(groups.kept, i);
    for (int64_t r = 0; r < runs; ++r) {
      const int64_t first = base + OffsetIn(outer, r);
      for (int64_t at = 0; at < run; at += kPiece) {
        const int64_t count = std::min(kPiece, run - at);
        elements.load(x, first + at, count, piece.data());
        for (int64_t k = 0; k < count; ++k) Step::Take(total, piece[k]);
      }
    }
    const Wide result = Step::End(total, groups.folded_count);
    elements.store(&result, 1, y, i);
  }
}

// Consecutive results out of consecutive elements. Pieces [begin, end) of all rows of results.
template <typename Step, typename Wide>
void FoldColumns(const AxisGroups& groups, const WideElements<Wide>& elements, const void* x,
                 int64_t begin, int64_t end, void* y) {
  const int64_t row = groups.kept.empty() ? 1 : groups.kept.back().size;
  const std::span<const AxisGroup> outer(groups.kept.data(),
                                         groups.kept.empty() ? 0 : groups.kept.size() - 1);
  const int64_t pieces = (row + kPiece - 1) / kPiece;
  std::array<Wide, kPiece> piece;
  std::array<Total<Wide>, kPiece> totals;
  for (int64_t i = begin; i < end; ++i) {
    const int64_t at = i % pieces * kPiece;
    const int64_t count = std::min(kPiece, row - at);
    const int64_t base = OffsetIn(outer, i / pieces) + at;
    totals.fill(Step::template Start<Wide>());
    for (int64_t r = 0; r < groups.folded_count; ++r) {
      elements.load(x, base + OffsetIn(groups.folded, r), count, piece.data());
      for (int64_t k = 0; k < count; ++k) Step::Take(totals[k], piece[k]);
    }
    for (int64_t k = 0; k < count; ++k) piece[k] = Step::End(totals[k], groups.folded_count);
    elements.store(piece.data(), count, y, i / pieces * row + at);
  }
}

template <typename Step, typename Wide>
KernelPointer MakeFold(AxisGroups groups, graph::DataType type) {
  const WideElements<Wide> elements = WideElementsOf<Wide>(type);
  if (groups.folds_innermost()) {
    return MakeKernel([groups = std::move(groups), elements](const KernelCall& call) {
      const int64_t grain =
          std::max<int64_t>(1, kGrain / std::max<int64_t>(groups.folded_count, 1));
      ParallelFor(groups.kept_count, grain, [&](int64_t begin, int64_t end) {
        FoldRuns<Step>(groups, elements, call.inputs[0], begin, end, call.outputs[0]);
      });
    });
  }
  const int64_t row = groups.kept.empty() ? 1 : groups.kept.back().size;
  const int64_t pieces = row == 0 ? 0 : groups.kept_count / row * ((row + kPiece - 1) / kPiece);
  return MakeKernel([groups = std::move(groups), elements, pieces](const KernelCall& call) {
    const int64_t grain =
        std::max<int64_t>(1, kGrain / (kPiece * std::max<int64_t>(groups.folded_count, 1)));
    ParallelFor(pieces, grain, [&](int64_t begin, int64_t end) {
      FoldColumns<Step>(groups, elements, call.inputs[0], begin, end, call.outputs[0]);
    });
  });
}

// What an empty set of signed integers has as its largest or smallest: the type's own limit.
template <typename Step>
KernelPointer MakeEmptyExtreme(graph::DataType type, int64_t count) {
  const int bits = graph::Bits(type);
  const int64_t limit = std::is_same_v<Step, MaxStep> ? kLowest<int64_t> >> (64 - bits)
                                                      : kHighest<int64_t> >> (64 - bits);
  return MakeKernel([type, count, limit](const KernelCall& call) {
    for (int64_t i = 0; i < count; ++i) StoreInteger(type, call.outputs[0], i, limit);
  });
}

// kExact: integers stay integers; else everything is worked out in double.
template <typename Step, bool kExact>
Result<KernelPointer> MakeReduction(KernelSite& site) {
  using graph::DataType;
  const DataType type = site.inputs[0].type;
  PLIMSOLL_ASSIGN(const std::vector<bool> folded, FoldedAxes(site));
  AxisGroups groups = GroupAxes(site.inputs[0].dims, folded);
  if (!site.outputs[0].sized) SetReducedDims(site, folded);
  if (KernelPointer kernel = MakeRowReduction(site.node().op, type, groups)) return kernel;
  if (WideElementsOf<double>(type).load == nullptr) {
    return site.Unsupported("no reduction of this element type");
  }
  const bool is_float = VisitType<AllFloats>(type, []<typename T>() {});
  if constexpr (kExact) {
    const bool is_unsigned =
        VisitType<TypeList<bool, uint8_t, uint16_t, uint32_t, uint64_t>>(type, []<typename T>() {});
    if (is_unsigned) return MakeFold<Step, uint64_t>(std::move(groups), type);
    if constexpr (std::is_same_v<Step, MaxStep> || std::is_same_v<Step, MinStep>) {
      if (!is_float && groups.folded_count == 0) {
        return MakeEmptyExtreme<Step>(type, groups.kept_count);
      }
    }
    if (!is_float) return MakeFold<Step, int64_t>(std::move(groups), type);
  }
  return MakeFold<Step, double>(std::move(groups), type);
}

constexpr KernelRow kReductionRows[] = {
    {"", "ReduceSum", 1, graph::kNewest, MakeReduction<SumStep, true>},
    {"", "ReduceMean", 1, graph::kNewest, MakeReduction<MeanStep, true>},
    {"", "ReduceMax", 1, graph::kNewest, MakeReduction<MaxStep, true>},
    {"", "ReduceMin", 1, graph::kNewest, MakeReduction<MinStep, true>},
    {"", "ReduceProd", 1, graph::kNewest, MakeReduction<ProductStep, true>},
    {"", "ReduceL1", 1, graph::kNewest, MakeReduction<L1Step, true>},
    {"", "ReduceL2", 1, graph::kNewest, MakeReduction<L2Step, false>},
    {"", "ReduceLogSum", 1, graph::kNewest, MakeReduction<LogSumStep, false>},
    {"", "ReduceLogSumExp", 1, graph::kNewest, MakeReduction<LogSumExpStep, false>},
    {"", "ReduceSumSquare", 1, graph::kNewest, MakeReduction<SumSquareStep, true>},
};

}  // namespace

std::span<const KernelRow> ReductionKernels() { return kReductionRows; }

}  // namespace plimsoll::kernels::cpu
