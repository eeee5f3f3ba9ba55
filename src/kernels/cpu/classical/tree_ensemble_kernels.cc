#include <algorithm>

#include "graph/operator_row.h"
#include "kernels/cpu/classical/class_scores.h"
#include "kernels/cpu/classical/tree_ensemble_attributes.h"
#include "kernels/cpu/families.h"
#include "kernels/element_types.h"

namespace plimsoll::kernels::cpu {
namespace {

Status Check(const KernelSite& site, const TreeEnsemble& trees, const FeatureRows& rows) {
  if (const auto fault = trees.Fault(rows.features)) return site.BadInput(*fault);
  return {};
}

// The parts of the workspace: a row of features, scores (with room for a second one), flags.
struct Scratch {
  std::span<double> features;
  std::span<double> scores;
  std::span<double> seen;

  static Bytes Size(const FeatureRows& rows, const TreeEnsemble& trees) {
    return Bytes(sizeof(double)) * rows.features + Bytes(sizeof(double)) * trees.targets * 2 +
           Bytes(sizeof(double));
  }
  Scratch(const KernelCall& call, const FeatureRows& rows, const TreeEnsemble& trees) {
    auto* next = static_cast<double*>(call.workspace);
    const auto targets = static_cast<size_t>(trees.targets);
    features = {next, static_cast<size_t>(rows.features)};
    scores = {features.data() + features.size(), targets + 1};
    seen = {scores.data() + scores.size(), targets};
  }
};

Result<KernelPointer> MakeScores(KernelSite& site, TreeEnsemble trees) {
  PLIMSOLL_ASSIGN(const FeatureRows rows, FeatureRows::Of(site));
  PLIMSOLL_ASSIGN(const PostTransform transform, ReadPostTransform(site));
  PLIMSOLL_TRY(Check(site, trees, rows));
  const Bytes workspace = Scratch::Size(rows, trees);
  return MakeKernel(
      [trees = std::move(trees), rows, transform,
       type = site.outputs[0].type](const KernelCall& call) {
        const Scratch scratch(call, rows, trees);
        const auto scores = scratch.scores.first(static_cast<size_t>(trees.targets));
        for (int64_t row = 0; row < rows.rows; ++row) {
          rows.Load(call, row, scratch.features.data());
          trees.Score(scratch.features, scores, scratch.seen);
          Transform(transform, scores);
          for (int64_t target = 0; target < trees.targets; ++target) {
            StoreDouble(type, call.outputs[0], row * trees.targets + target,
                        scores[static_cast<size_t>(target)]);
          }
        }
      },
      workspace);
}

Result<KernelPointer> MakeTreeEnsemble(KernelSite& site) {
  PLIMSOLL_ASSIGN(TreeEnsemble trees, ReadFlatTrees(site));
  return MakeScores(site, std::move(trees));
}

Result<KernelPointer> MakeTreeEnsembleRegressor(KernelSite& site) {
  PLIMSOLL_ASSIGN(TreeEnsemble trees,
                  ReadTreesById(site, "target", site.attributes().Int("n_targets", 1)));
  return MakeScores(site, std::move(trees));
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
  const Bytes workspace = Scratch::Size(rows, trees);
  return MakeKernel(
      [trees = std::move(trees), writer = std::move(writer), rows](const KernelCall& call) {
        const Scratch scratch(call, rows, trees);
        for (int64_t row = 0; row < rows.rows; ++row) {
          rows.Load(call, row, scratch.features.data());
          trees.Score(scratch.features, scratch.scores.first(static_cast<size_t>(trees.targets)),
                      scratch.seen);
          writer.Write(call, row, scratch.scores);
        }
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
