#include "kernels/cpu/classical/class_scores.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/element_types.h"
#include "plimsoll/base/text.h"

namespace plimsoll::kernels::cpu {
namespace {

double Logistic(double score) { return 1 / (1 + std::exp(-score)); }

// The inverse of the normal distribution function: a closed first guess of the inverse error
// function, made exact by Newton's method.
double Probit(double probability) {
  const double x = 2 * probability - 1;
  if (!(x > -1 && x < 1)) {
    const double infinity = std::numeric_limits<double>::infinity();
    return x == 1 ? infinity : x == -1 ? -infinity : std::numeric_limits<double>::quiet_NaN();
  }
  constexpr double kPi = 3.14159265358979323846;
  constexpr double kShape = 0.147;
  const double log_part = std::log1p(-x * x);
  const double middle = 2 / (kPi * kShape) + log_part / 2;
  double guess =
      std::copysign(std::sqrt(std::sqrt(middle * middle - log_part / kShape) - middle), x);
  for (int step = 0; step < 3; ++step) {
    guess -= (std::erf(guess) - x) * std::sqrt(kPi) / 2 * std::exp(guess * guess);
  }
  return std::sqrt(2.0) * guess;
}

// Scores that are zero take no part where `zero_stays`.
void Softmax(std::span<double> scores, bool zero_stays) {
  constexpr double kZero = 1e-7;
  if (scores.empty()) return;
  const double highest = *std::max_element(scores.begin(), scores.end());
  double sum = 0;
  for (double& score : scores) {
    score = zero_stays && std::abs(score) <= kZero ? 0 : std::exp(score - highest);
    sum += score;
  }
  if (sum == 0) return;
  for (double& score : scores) score /= sum;
}

constexpr std::string_view kTransforms[] = {"NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO",
                                            "PROBIT"};

}  // namespace

Result<PostTransform> ReadPostTransform(const KernelSite& site) {
  const std::string name = site.attributes().String("post_transform", "");
  const int64_t number = site.attributes().Int("post_transform", 0);
  for (size_t i = 0; i < std::size(kTransforms); ++i) {
    const bool is_it = name.empty() ? number == static_cast<int64_t>(i) : name == kTransforms[i];
    if (is_it) return static_cast<PostTransform>(i);
  }
  return site.BadInput(StrCat("post_transform '", name, "' is none of the standard's"));
}

void Transform(PostTransform transform, std::span<double> scores) {
  switch (transform) {
    case PostTransform::kNone:
      return;
    case PostTransform::kSoftmax:
    case PostTransform::kSoftmaxZero:
      return Softmax(scores, transform == PostTransform::kSoftmaxZero);
    case PostTransform::kLogistic:
      for (double& score : scores) score = Logistic(score);
      return;
    case PostTransform::kProbit:
      for (double& score : scores) score = Probit(score);
      return;
  }
}

LabelList ReadClassLabels(const KernelSite& site, std::string_view integers) {
  const std::vector<std::string>* names = site.attributes().Strings("classlabels_strings");
  if (names != nullptr && !names->empty()) {
    LabelList labels(graph::DataType::kString);
    for (const std::string& name : *names) labels.Add(name);
    return labels;
  }
  LabelList labels(graph::DataType::kInt64);
  if (const std::vector<int64_t>* numbers = site.attributes().Ints(integers)) {
    for (const int64_t number : *numbers) labels.Add(number);
  }
  return labels;
}

Result<ClassWriter> ClassWriter::Make(KernelSite& site, LabelList labels, int64_t rows,
                                      int64_t scores, LoneScore lone) {
  PLIMSOLL_ASSIGN(const PostTransform transform, ReadPostTransform(site));
  if (labels.size() == 0) {
    for (int64_t number = 0; number < scores; ++number) labels.Add(number);
  }
  if (scores < 1 || labels.size() == 0) return site.BadInput("it has no classes");
  ClassWriter writer(std::move(labels), transform, scores, lone);
  writer.columns_ = scores == 1 && writer.labels_.size() == 2 ? 2 : scores;
  const Dims expected[] = {{rows}, {rows, writer.columns_}};
  for (size_t output = 0; output < 2 && output < site.outputs.size(); ++output) {
    TensorInfo& info = site.outputs[output];
    if (!info.present()) continue;
    if (info.sized && info.dims != expected[output]) {
      return site.BadInput(
          StrCat("it has ", scores, " scores per row for ", writer.labels_.size(), " labels"));
    }
    info.dims = expected[output];
    info.sized = true;
  }
  return writer;
}

size_t ClassWriter::Best(std::span<const double> scores) const {
  if (is_lone()) return scores[0] > lone_.above ? 1 : 0;
  const auto best = std::max_element(scores.begin(), scores.begin() + scores_);
  return std::min(static_cast<size_t>(best - scores.begin()), labels_.size() - 1);
}

void ClassWriter::Write(const KernelCall& call, int64_t row, std::span<double> scores) const {
  Write(call, row, scores, Best(scores));
}

void ClassWriter::Write(const KernelCall& call, int64_t row, std::span<double> scores,
                        size_t chosen) const {
  if (call.outputs[0] != nullptr) labels_.Store(chosen, call.outputs[0], row);
  if (call.outputs.size() < 2 || call.outputs[1] == nullptr) return;
  scores = scores.first(static_cast<size_t>(columns_));
  if (is_lone()) {
    const bool negated = transform_ == PostTransform::kLogistic || !lone_.is_probability;
    scores[1] = scores[0];
    scores[0] = negated ? -scores[1] : 1 - scores[1];
    const bool is_done =
        transform_ == PostTransform::kSoftmax || transform_ == PostTransform::kSoftmaxZero;
    if (!is_done) Transform(transform_, scores);
  } else {
    Transform(transform_, scores);
  }
  auto* out = static_cast<float*>(call.outputs[1]) + row * columns_;
  for (const double score : scores) *out++ = static_cast<float>(score);
}

Result<FeatureRows> FeatureRows::Of(const KernelSite& site) {
  const TensorInfo& input = site.inputs[0];
  if (input.rank() < 1 || input.rank() > 2 ||
      !(graph::IsFloating(input.type) || graph::IsInteger(input.type))) {
    return site.BadInput("its input must be rows of numbers");
  }
  return FeatureRows{input.type, input.rank() == 1 ? 1 : input.dims[0], input.dims.back()};
}

void FeatureRows::Load(const KernelCall& call, int64_t row, double* out) const {
  if (type == graph::DataType::kFloat32) {
    const float* const from = static_cast<const float*>(call.inputs[0]) + row * features;
    std::copy_n(from, features, out);
    return;
  }
  for (int64_t i = 0; i < features; ++i) {
    out[i] = LoadDouble(type, call.inputs[0], row * features + i);
  }
}

void FeatureRows::Load(const KernelCall& call, int64_t first_row, int64_t count, float* out) const {
  const int64_t first = first_row * features;
  if (type == graph::DataType::kFloat32) {
    std::copy_n(static_cast<const float*>(call.inputs[0]) + first, count * features, out);
    return;
  }
  for (int64_t i = 0; i < count * features; ++i) {
    out[i] = static_cast<float>(LoadDouble(type, call.inputs[0], first + i));
  }
}

}  // namespace plimsoll::kernels::cpu
