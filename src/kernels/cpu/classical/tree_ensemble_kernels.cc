#include <algorithm>

#include "graph/operator_row.h"
#include "kernels/cpu/classical/class_scores.h"
#include "kernels/cpu/classical/row_slots.h"
#include "kernels/cpu/classical/tree_ensemble_attributes.h"
#include "kernels/cpu/classical/tree_walk.h"
#include "kernels/cpu/families.h"
#include "kernels/element_types.h"

namespace plimsoll::kernels::cpu {
namespace {

Status Check(const KernelSite& site, const TreeEnsemble& trees, const FeatureRows& rows) {
  if (const auto fault = trees.Fault(rows.features)) return site.BadInput(*fault);
  return {};
}

// Rows that go through trees in blocks.
class TreeRows {
 public:
  TreeRows(const TreeEnsemble& trees, const FeatureRows& rows)
      : walk_(trees),
        rows_(rows),
        features_(std::max<int64_t>(rows.features, 1)),
        loads_(rows.features == 0 ||
               (rows.type != graph::DataType::kFloat64 &&
                !(rows.type == graph::DataType::kFloat32 && walk_.orders_rows()))),
        slots_(rows.rows, walk_.row_work(),
               Bytes(sizeof(double)) *
                   SaturatingAdd(SaturatingAdd(loads_ ? SaturatingMultiply(kBlock, features_) : 0,
                                               walk_.keys()),
                                 2 * kBlock * (trees.targets + 1))) {}

  Bytes workspace() const { return slots_.workspace(); }
  int64_t targets() const { return walk_.targets(); }

  // Calls `take(row, scores)` for each row; there is room for one score more.
  template <typename Take>
  void Run(const KernelCall& call, const Take& take) const {
    slots_.Run(call.workspace, [&](int64_t begin, int64_t end, void* scratch) {
      const int64_t stride = targets() + 1;
      auto* const scores = static_cast<double*>(scratch);
      double* const seen = scores + kBlock * stride;
      auto* const keys = reinterpret_cast<uint64_t*>(seen + kBlock * stride);
      auto* const features = reinterpret_cast<double*>(keys + walk_.keys());
      for (int64_t first = begin; first < end; first += kBlock) {
        const int64_t count = std::min(kBlock, end - first);
        TreeWalk::Block block{
            .count = count, .features = features_, .scores = scores, .seen = seen, .keys = keys};
        Point(call, first, features, block);
        walk_.Score(block);
        for (int64_t row = 0; row < count; ++row) {
          take(first + row, std::span(scores + row * stride, static_cast<size_t>(stride)));
        }
      }
    });
  }

 private:
  static constexpr int64_t kBlock = TreeWalk::kBlockRows;

  // To the rows from `first` on, where they lie or in `features` as doubles.
  void Point(const KernelCall& call, int64_t first, double* features,
             TreeWalk::Block& block) const {
    const int64_t before = first * rows_.features;
    if (!loads_ && rows_.type == graph::DataType::kFloat32) {
      block.floats = static_cast<const float*>(call.inputs[0]) + before;
    } else if (!loads_) {
      block.rows = static_cast<const double*>(call.inputs[0]) + before;
    } else {
      for (int64_t row = 0; row < block.count; ++row) {
        rows_.Load(call, first + row, features + row * features_);
      }
      block.rows = features;
    }
  }

  TreeWalk walk_;
  FeatureRows rows_;
  int64_t features_;  // of a row, one at least: leaves look at the first
  bool loads_;        // rows are not read where they lie
  RowSlots slots_;
};

Result<KernelPointer> MakeScores(KernelSite& site, const TreeEnsemble& trees) {
  PLIMSOLL_ASSIGN(const FeatureRows rows, FeatureRows::Of(site));
  PLIMSOLL_ASSIGN(const PostTransform transform, ReadPostTransform(site));
  PLIMSOLL_TRY(Check(site, trees, rows));
  TreeRows walked(trees, rows);
  const Bytes workspace = walked.workspace();
  return MakeKernel(
      [walked = std::move(walked), transform, type = site.outputs[0].type](const KernelCall& call) {
        const int64_t targets = walked.targets();
        walked.Run(call, [&](int64_t row, std::span<double> scores) {
          scores = scores.first(static_cast<size_t>(targets));
          Transform(transform, scores);
          for (int64_t target = 0; target < targets; ++target) {
            StoreDouble(type, call.outputs[0], row * targets + target,
                        scores[static_cast<size_t>(target)]);
          }
        });
      },
      workspace);
}

Result<KernelPointer> MakeTreeEnsemble(KernelSite& site) {
  PLIMSOLL_ASSIGN(const TreeEnsemble trees, ReadFlatTrees(site));
  return MakeScores(site, trees);
}

Result<KernelPointer> MakeTreeEnsembleRegressor(KernelSite& site) {
  PLIMSOLL_ASSIGN(const TreeEnsemble trees,
                  ReadTreesById(site, "target", site.attributes().Int("n_targets", 1)));
  return MakeScores(site, trees);
}

// Where all votes go to one of two classes their sum is a lone score: for the second class.
LoneScore MergeLoneClass(TreeEnsemble& trees) {
  const auto same_target = [&trees](const Vote& vote) {
    return vote.target == trees.votes.front().target;
  };
  const bool lone = trees.targets == 2 && !trees.votes.empty() &&
                    std::all_of(trees.votes.begin(), trees.votes.end(), same_target);
  if (!lone) return {};
  const auto target = static_cast<size_t>(trees.votes.front().target);
  if (trees.base.size() == 2) trees.base = {trees.base[target]};
  trees.targets = 1;
  for (Vote& vote : trees.votes) vote.target = 0;
  const bool all_positive = std::all_of(trees.votes.begin(), trees.votes.end(),
                                        [](const Vote& vote) { return vote.weight >= 0; });
  return all_positive ? LoneScore{0.5, true} : LoneScore{0, false};
}

Result<KernelPointer> MakeTreeEnsembleClassifier(KernelSite& site) {
  LabelList labels = ReadClassLabels(site, "classlabels_int64s");
  PLIMSOLL_ASSIGN(const FeatureRows rows, FeatureRows::Of(site));
  PLIMSOLL_ASSIGN(TreeEnsemble trees,
                  ReadTreesById(site, "class", static_cast<int64_t>(labels.size())));
  const bool in_range = std::all_of(
      trees.votes.begin(), trees.votes.end(),
      [&trees](const Vote& vote) { return vote.target >= 0 && vote.target < trees.targets; });
  const LoneScore lone = in_range ? MergeLoneClass(trees) : LoneScore();
  PLIMSOLL_TRY(Check(site, trees, rows));
  PLIMSOLL_ASSIGN(ClassWriter writer,
                  ClassWriter::Make(site, std::move(labels), rows.rows, trees.targets, lone));
  TreeRows walked(trees, rows);
  const Bytes workspace = walked.workspace();
  return MakeKernel(
      [walked = std::move(walked), writer = std::move(writer)](const KernelCall& call) {
        walked.Run(call,
                   [&](int64_t row, std::span<double> scores) { writer.Write(call, row, scores); });
      },
      workspace);
}

constexpr KernelRow kTreeEnsembleKernelsRows[] = {
    {graph::kMachineLearningDomain, "TreeEnsemble", 5, graph::kNewest, MakeTreeEnsemble},
    {graph::kMachineLearningDomain, "TreeEnsembleClassifier", 1, graph::kNewest,
     MakeTreeEnsembleClassifier},
    {graph::kMachineLearningDomain, "TreeEnsembleRegressor", 1, graph::kNewest,
     MakeTreeEnsembleRegressor},
};

}  // namespace

std::span<const KernelRow> TreeEnsembleKernels() { return kTreeEnsembleKernelsRows; }

}  // namespace plimsoll::kernels::cpu
