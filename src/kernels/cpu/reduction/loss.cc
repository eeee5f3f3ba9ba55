#include <cmath>
#include <limits>

#include "kernels/cpu/families.h"
#include "kernels/cpu/movement/axis_split.h"
#include "kernels/cpu/vector/float_rows.h"
#include "kernels/element_types.h"
#include "kernels/parallel.h"
#include "plimsoll/base/text.h"

// NegativeLogLikelihoodLoss and SoftmaxCrossEntropyLoss: what the scores of the right class cost.
namespace plimsoll::kernels::cpu {
namespace {

enum class Reduction { kNone, kSum, kMean };

// What turns scores into log-probabilities: x - largest - log_sum. Kept separate, for next to a
// large score the logarithm would be lost.
struct Normalizer {
  double largest = 0;
  double log_sum = 0;

  double operator()(double score) const { return score - largest - log_sum; }
};

struct Loss {
  AxisSplit classes;  // the scores, seen from their axis of classes
  Reduction reduction = Reduction::kMean;
  bool of_scores = false;  // SoftmaxCrossEntropyLoss; else the input is log-probabilities already
  bool ignores = false;
  int64_t ignored = 0;
  graph::DataType label_type = graph::DataType::kUndefined;
  bool has_weights = false;
  bool has_log_probabilities = false;
  Error wrong_label;

  int64_t LabelAt(const KernelCall& call, int64_t i) const {
    return IndexAt(label_type, call.inputs[1], i);
  }
  bool IsIgnored(int64_t label) const { return ignores && label == ignored; }
  Status CheckLabels(const KernelCall& call) const;
  template <typename T>
  Normalizer NormalizerOf(const T* lane) const;
  template <typename T>
  void LossesOf(const KernelCall& call, int64_t begin, int64_t end, double* losses) const;
  template <typename T>
  void Run(const KernelCall& call) const;
  // Labels whose losses are worked out at once, each by its thread; then they are summed in order.
  int64_t Stretch() const { return std::min<int64_t>(classes.lanes(), 4096); }
  // Weight of a label's class, 0 where the label is ignored.
  template <typename T>
  double WeightOf(const KernelCall& call, int64_t label) const {
    if (IsIgnored(label)) return 0;
    return has_weights ? static_cast<double>(static_cast<const T*>(call.inputs[2])[label]) : 1.0;
  }
};

Status Loss::CheckLabels(const KernelCall& call) const {
  for (int64_t i = 0; i < classes.lanes(); ++i) {
    const int64_t label = LabelAt(call, i);
    if (IsIgnored(label) || (label >= 0 && label < classes.length)) continue;
    Error error = wrong_label;
    error.why = StrCat("label ", label, " at place ", i, " is not one of ", classes.length,
                       " classes, nor ignore_index");
    return error;
  }
  return {};
}

template <typename T>
Normalizer Loss::NormalizerOf(const T* lane) const {
  if (!of_scores) return {};
  if constexpr (std::is_same_v<T, float>) {
    if (classes.inner == 1) {
      const float largest = RowMax(lane, classes.length);
      if (!std::isfinite(largest)) return {std::numeric_limits<double>::quiet_NaN(), 0};
      return {largest, std::log(RowExpSum(lane, classes.length, largest))};
    }
  }
  double largest = -std::numeric_limits<double>::infinity();
  for (int64_t c = 0; c < classes.length; ++c) {
    largest = std::max(largest, static_cast<double>(lane[c * classes.inner]));
  }
  double sum = 0;
  for (int64_t c = 0; c < classes.length; ++c) {
    sum += std::exp(static_cast<double>(lane[c * classes.inner]) - largest);
  }
  return {largest, std::log(sum)};
}

// The losses of labels [begin, end), and output 1 where it is wanted.
template <typename T>
void Loss::LossesOf(const KernelCall& call, int64_t begin, int64_t end, double* losses) const {
  for (int64_t i = begin; i < end; ++i, ++losses) {
    const int64_t at = i / classes.inner * classes.length * classes.inner + i % classes.inner;
    const T* lane = static_cast<const T*>(call.inputs[0]) + at;
    const Normalizer log_probability = NormalizerOf(lane);
    const int64_t label = LabelAt(call, i);
    *losses = 0;
    if (!IsIgnored(label)) {
      *losses = -WeightOf<T>(call, label) * log_probability(lane[label * classes.inner]);
    }
    if (!has_log_probabilities) continue;
    T* to = static_cast<T*>(call.outputs[1]) + at;
    for (int64_t c = 0; c < classes.length * classes.inner; c += classes.inner) {
      to[c] = T(static_cast<Wide<T>>(log_probability(lane[c])));
    }
  }
}

template <typename T>
void Loss::Run(const KernelCall& call) const {
  auto* const losses = static_cast<double*>(call.workspace);
  auto* y = static_cast<T*>(call.outputs[0]);
  const int64_t grain = std::max<int64_t>(4096 / std::max<int64_t>(classes.length, 1), 1);
  double sum = 0;
  double weights = 0;
  for (int64_t first = 0; first < classes.lanes(); first += Stretch()) {
    const int64_t count = std::min(Stretch(), classes.lanes() - first);
    ParallelFor(count, grain, [&](int64_t begin, int64_t end) {
      LossesOf<T>(call, first + begin, first + end, losses + begin);
    });
    for (int64_t i = 0; i < count; ++i) {
      if (reduction == Reduction::kNone) y[first + i] = T(static_cast<Wide<T>>(losses[i]));
      sum += losses[i];
      weights += WeightOf<T>(call, LabelAt(call, first + i));
    }
  }
  if (reduction == Reduction::kSum) y[0] = T(static_cast<Wide<T>>(sum));
  if (reduction == Reduction::kMean) y[0] = T(static_cast<Wide<T>>(sum / weights));
}

template <bool kOfScores>
Result<KernelPointer> MakeLoss(KernelSite& site) {
  const TensorInfo& scores = site.inputs[0];
  Loss loss{.classes = SplitAt(scores.dims, 1),
            .of_scores = kOfScores,
            .label_type = site.inputs[1].type,
            .has_weights = site.has_input(2),
            .has_log_probabilities = site.has_output(1),
            .wrong_label = site.BadInput("")};
  PLIMSOLL_TRY(CheckIndexType(site, 1));
  if (site.inputs[1].elements() != loss.classes.lanes()) {
    return site.BadInput("there must be one label for each lane of scores");
  }
  if (loss.has_weights && site.inputs[2].elements() != loss.classes.length) {
    return site.BadInput("there must be one weight for each class");
  }
  const std::string reduction = site.attributes().String("reduction", "mean");
  loss.reduction = reduction == "none"  ? Reduction::kNone
                   : reduction == "sum" ? Reduction::kSum
                                        : Reduction::kMean;
  loss.ignores = site.attributes().Find("ignore_index") != nullptr;
  loss.ignored = site.attributes().Int("ignore_index", 0);
  KernelPointer kernel;
  VisitType<AllFloats>(scores.type, [&]<typename T>() {
    const Bytes workspace = Bytes(loss.Stretch()) * static_cast<int64_t>(sizeof(double));
    kernel = MakeKernel(
        [loss = std::move(loss)](const KernelCall& call) -> Status {
          PLIMSOLL_TRY(loss.CheckLabels(call));
          loss.Run<T>(call);
          return {};
        },
        workspace, "losses of some labels");
  });
  if (kernel == nullptr) return site.Unsupported("a loss is of floats");
  return kernel;
}

constexpr KernelRow kLossRows[] = {
    {"", "NegativeLogLikelihoodLoss", 12, graph::kNewest, MakeLoss<false>},
    {"", "SoftmaxCrossEntropyLoss", 12, graph::kNewest, MakeLoss<true>},
};

}  // namespace

std::span<const KernelRow> LossKernels() { return kLossRows; }

}  // namespace plimsoll::kernels::cpu
