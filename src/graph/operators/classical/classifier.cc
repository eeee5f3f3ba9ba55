#include <algorithm>
#include <utility>

#include "graph/operators/agreement.h"
#include "graph/operators/families.h"
#include "plimsoll/base/text.h"

// Classifiers and regressors of domain ai.onnx.ml: rows of features in, rows of scores out.
namespace plimsoll::graph::operators {
namespace {

// Rows of features; a vector is one row.
Result<Dim> Rows(const InferContext& context) {
  PLIMSOLL_TRY(CheckRankAtLeast(context, 0, 1));
  const Shape* features = context.input_shape(0);
  if (features == nullptr) return context.UnknownDim(0, 0);
  return features->size() == 1 ? Dim(1) : features->front();
}

// The labels that a classifier chooses from: numbers under `numbers`, or strings.
struct Labels {
  DataType type = DataType::kInt64;
  size_t count = 0;
};

Labels ReadLabels(const InferContext& context, std::string_view numbers) {
  const std::vector<std::string>* strings = context.attributes().Strings("classlabels_strings");
  if (strings != nullptr && !strings->empty()) return {DataType::kString, strings->size()};
  const std::vector<int64_t>* integers = context.attributes().Ints(numbers);
  return {DataType::kInt64, integers != nullptr ? integers->size() : 0};
}

// The label of each row, and a score for each class.
Status SetClasses(InferContext& context, DataType type, std::optional<size_t> scores) {
  PLIMSOLL_ASSIGN(const Dim rows, Rows(context));
  context.SetOutput(0, type, {rows});
  context.SetOutput(1, DataType::kFloat32,
                    {rows, scores ? Dim(static_cast<int64_t>(*scores)) : context.UnknownDim(1, 1)});
  return {};
}

Status InferLinearClassifier(InferContext& context) {
  const Labels labels = ReadLabels(context, "classlabels_ints");
  const std::vector<double>* intercepts = context.attributes().Floats("intercepts");
  if (labels.count > 0) return SetClasses(context, labels.type, labels.count);
  return SetClasses(
      context, labels.type,
      intercepts != nullptr ? std::optional<size_t>(intercepts->size()) : std::nullopt);
}

// Classes that have support vectors are scored in pairs where there are no probabilities.
Status InferSvmClassifier(InferContext& context) {
  const Labels labels = ReadLabels(context, "classlabels_ints");
  const std::vector<double>* probabilities = context.attributes().Floats("prob_a");
  const std::vector<int64_t>* vectors = context.attributes().Ints("vectors_per_class");
  const bool has_vectors = vectors != nullptr && std::any_of(vectors->begin(), vectors->end(),
                                                             [](int64_t n) { return n > 0; });
  size_t scores = has_vectors ? vectors->size() : labels.count;
  if (has_vectors && (probabilities == nullptr || probabilities->empty())) {
    scores = scores * (scores - 1) / 2;
    if (scores == 1 && labels.count == 2) scores = 2;
  }
  return SetClasses(context, labels.type,
                    scores > 0 ? std::optional<size_t>(scores) : std::nullopt);
}

Status InferTreeClassifier(InferContext& context) {
  const Labels labels = ReadLabels(context, "classlabels_int64s");
  return SetClasses(context, labels.type,
                    labels.count > 0 ? std::optional<size_t>(labels.count) : std::nullopt);
}

Status SetScores(InferContext& context, DataType type, int64_t targets) {
  PLIMSOLL_ASSIGN(Dim rows, Rows(context));
  if (targets < 1) return context.Fail(StrCat("it has ", targets, " targets"));
  context.SetOutput(0, type, {std::move(rows), targets});
  return {};
}

Status InferLinearRegressor(InferContext& context) {
  return SetScores(context, DataType::kFloat32, context.attributes().Int("targets", 1));
}

Status InferSvmRegressor(InferContext& context) {
  return SetScores(context, DataType::kFloat32, 1);
}

Status InferTreeRegressor(InferContext& context) {
  return SetScores(context, DataType::kFloat32, context.attributes().Int("n_targets", 1));
}

Status InferTreeEnsemble(InferContext& context) {
  return SetScores(context, context.input_data_type(0), context.attributes().Int("n_targets", 1));
}

constexpr OperatorRow kClassifierRows[] = {
    {kMachineLearningDomain, "LinearClassifier", 1, kNewest, 1, 1, 2, 2, InferLinearClassifier},
    {kMachineLearningDomain, "LinearRegressor", 1, kNewest, 1, 1, 1, 1, InferLinearRegressor},
    {kMachineLearningDomain, "SVMClassifier", 1, kNewest, 1, 1, 2, 2, InferSvmClassifier},
    {kMachineLearningDomain, "SVMRegressor", 1, kNewest, 1, 1, 1, 1, InferSvmRegressor},
    {kMachineLearningDomain, "TreeEnsemble", 5, kNewest, 1, 1, 1, 1, InferTreeEnsemble},
    {kMachineLearningDomain, "TreeEnsembleClassifier", 1, kNewest, 1, 1, 2, 2, InferTreeClassifier},
    {kMachineLearningDomain, "TreeEnsembleRegressor", 1, kNewest, 1, 1, 1, 1, InferTreeRegressor},
};

}  // namespace

std::span<const OperatorRow> ClassifierRows() { return kClassifierRows; }

}  // namespace plimsoll::graph::operators
