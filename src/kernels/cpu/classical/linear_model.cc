#include <algorithm>

#include "graph/operator_row.h"
#include "kernels/cpu/classical/class_scores.h"
#include "kernels/cpu/families.h"
#include "plimsoll/base/text.h"

namespace plimsoll::kernels::cpu {
namespace {

// Scores of a row of features: one weighted sum each.
struct LinearModel {
  FeatureRows rows;
  int64_t scores = 0;
  std::vector<double> weights;     // [scores, features]
  std::vector<double> intercepts;  // [scores]

  // A model with `scores` of them; as many as there are intercepts where that is 0.
  static Result<LinearModel> Read(const KernelSite& site, int64_t scores) {
    LinearModel model;
    PLIMSOLL_ASSIGN(model.rows, FeatureRows::Of(site));
    const std::vector<double>* weights = site.attributes().Floats("coefficients");
    const std::vector<double>* intercepts = site.attributes().Floats("intercepts");
    if (weights == nullptr) return site.BadInput("attribute coefficients is missing");
    model.weights = *weights;
    if (intercepts != nullptr) model.intercepts = *intercepts;
    const auto count = static_cast<int64_t>(model.weights.size());
    const int64_t features = std::max<int64_t>(model.rows.features, 1);
    model.scores = scores > 0 ? scores : static_cast<int64_t>(model.intercepts.size());
    if (model.scores == 0) model.scores = count / features;
    if (model.intercepts.empty()) model.intercepts.resize(static_cast<size_t>(model.scores), 0);
    // Files of other tools can have more coefficients than are used.
    const bool fits = static_cast<int64_t>(model.intercepts.size()) == model.scores &&
                      SaturatingMultiply(model.scores, model.rows.features) <= count;
    if (!fits) {
      return site.BadInput(StrCat(count, " coefficients and ", model.intercepts.size(),
                                  " intercepts do not go with ", model.rows.features,
                                  " features and ", model.scores, " scores"));
    }
    return model;
  }

  void Score(const double* features, std::span<double> out) const {
    for (int64_t score = 0; score < scores; ++score) {
      const double* weight = weights.data() + score * rows.features;
      double sum = 0;
      for (int64_t i = 0; i < rows.features; ++i) sum += weight[i] * features[i];
      out[static_cast<size_t>(score)] = sum + intercepts[static_cast<size_t>(score)];
    }
  }
};

Result<KernelPointer> MakeLinearRegressor(KernelSite& site) {
  PLIMSOLL_ASSIGN(
      LinearModel model,
      LinearModel::Read(site, std::max<int64_t>(site.attributes().Int("targets", 1), 1)));
  PLIMSOLL_ASSIGN(const PostTransform transform, ReadPostTransform(site));
  const Bytes workspace = Bytes(8) * SaturatingAdd(model.rows.features, model.scores);
  return MakeKernel(
      [model = std::move(model), transform](const KernelCall& call) {
        auto* features = static_cast<double*>(call.workspace);
        const std::span<double> scores(features + model.rows.features,
                                       static_cast<size_t>(model.scores));
        auto* out = static_cast<float*>(call.outputs[0]);
        for (int64_t row = 0; row < model.rows.rows; ++row) {
          model.rows.Load(call, row, features);
          model.Score(features, scores);
          Transform(transform, scores);
          for (const double score : scores) *out++ = static_cast<float>(score);
        }
      },
      workspace);
}

Result<KernelPointer> MakeLinearClassifier(KernelSite& site) {
  PLIMSOLL_ASSIGN(LinearModel model, LinearModel::Read(site, 0));
  PLIMSOLL_ASSIGN(ClassWriter writer,
                  ClassWriter::Make(site, ReadClassLabels(site, "classlabels_ints"),
                                    model.rows.rows, model.scores));
  const Bytes workspace = Bytes(8) * SaturatingAdd(model.rows.features, writer.columns());
  return MakeKernel(
      [model = std::move(model), writer = std::move(writer)](const KernelCall& call) {
        auto* features = static_cast<double*>(call.workspace);
        const std::span<double> scores(features + model.rows.features,
                                       static_cast<size_t>(writer.columns()));
        for (int64_t row = 0; row < model.rows.rows; ++row) {
          model.rows.Load(call, row, features);
          model.Score(features, scores);
          writer.Write(call, row, scores);
        }
      },
      workspace);
}

constexpr KernelRow kLinearModelRows[] = {
    {graph::kMachineLearningDomain, "LinearClassifier", 1, graph::kNewest, MakeLinearClassifier},
    {graph::kMachineLearningDomain, "LinearRegressor", 1, graph::kNewest, MakeLinearRegressor},
};

}  // namespace

std::span<const KernelRow> LinearModelKernels() { return kLinearModelRows; }

}  // namespace plimsoll::kernels::cpu
