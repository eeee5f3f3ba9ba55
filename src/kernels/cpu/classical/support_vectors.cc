#include <algorithm>
#include <cmath>

#include "graph/operator_row.h"
#include "kernels/cpu/classical/class_scores.h"
#include "kernels/cpu/classical/row_likeness.h"
#include "kernels/cpu/classical/row_slots.h"
#include "kernels/cpu/families.h"
#include "kernels/cpu/vector/float_rows.h"
#include "plimsoll/base/text.h"

namespace plimsoll::kernels::cpu {
namespace {

// Rows in blocks, each with its features and what it is compared with, in memory of their own.
class ComparedRows {
 public:
  // `doubles`: what one row at a time has besides.
  ComparedRows(const SupportVectors& model, int64_t doubles)
      : block_(std::min(SupportVectors::kBlockRows, std::max<int64_t>(model.rows.rows, 1))),
        slots_(
            model.rows.rows, model.row_work(),
            Bytes(sizeof(double)) * doubles +
                Bytes(sizeof(float)) * block_ * SaturatingAdd(model.rows.features, model.padded())),
        doubles_(doubles) {}

  Bytes workspace() const { return slots_.workspace(); }

  // Calls `take(row, features, likenesses, doubles)` for each row.
  template <typename Take>
  void Run(const SupportVectors& model, const KernelCall& call, const Take& take) const {
    slots_.Run(call.workspace, [&](int64_t begin, int64_t end, void* scratch) {
      auto* const doubles = static_cast<double*>(scratch);
      auto* const likenesses = reinterpret_cast<float*>(doubles + doubles_);
      float* const features = likenesses + block_ * model.padded();
      for (int64_t first = begin; first < end; first += block_) {
        const int64_t count = std::min(block_, end - first);
        model.rows.Load(call, first, count, features);
        if (model.count > 0) model.Compare(features, count, likenesses);
        for (int64_t i = 0; i < count; ++i) {
          take(first + i, features + i * model.rows.features, likenesses + i * model.padded(),
               doubles);
        }
      }
    });
  }

 private:
  int64_t block_;
  RowSlots slots_;
  int64_t doubles_;
};

// Without support vectors the coefficients are those of one linear function.
Result<KernelPointer> MakeSvmRegressor(KernelSite& site) {
  const int64_t count = std::max<int64_t>(site.attributes().Int("n_supports", 0), 0);
  PLIMSOLL_ASSIGN(SupportVectors model, SupportVectors::Read(site, count));
  PLIMSOLL_ASSIGN(const PostTransform transform, ReadPostTransform(site));
  const int64_t needed = count > 0 ? count : model.rows.features;
  if (static_cast<int64_t>(model.weights.size()) != needed) {
    return site.BadInput(
        StrCat("it has ", model.weights.size(), " coefficients where ", needed, " belong"));
  }
  const bool one_class = site.attributes().Int("one_class", 0) != 0;
  const ComparedRows rows(model, 0);
  return MakeKernel(
      [model = std::move(model), transform, one_class, rows](const KernelCall& call) {
        rows.Run(model, call,
                 [&](int64_t row, const float* features, const float* likenesses, double*) {
                   double score = model.rho[0];
                   score += model.count > 0
                                ? RowDot(likenesses, model.weights.data(), model.count)
                                : RowDot(features, model.weights.data(), model.rows.features);
                   if (one_class) score = score > 0 ? 1 : -1;
                   Transform(transform, {&score, 1});
                   static_cast<float*>(call.outputs[0])[row] = static_cast<float>(score);
                 });
      },
      rows.workspace());
}

// Each two classes judge a row between them; without support vectors each class has a line.
struct SupportClassifier {
  SupportVectors model;
  std::vector<int64_t> per_class;  // how many support vectors; empty in the linear form
  int64_t classes = 0;
  std::vector<double> slopes, shifts;  // of the pairs' probabilities; empty: scores stay scores

  int64_t pairs() const { return classes * (classes - 1) / 2; }
  bool has_probabilities() const { return !slopes.empty(); }

  static Result<SupportClassifier> Read(const KernelSite& site, size_t labels) {
    SupportClassifier classifier;
    const std::vector<int64_t>* sizes = site.attributes().Ints("vectors_per_class");
    if (sizes != nullptr) classifier.per_class = *sizes;
    int64_t count = 0;
    for (const int64_t size : classifier.per_class) {
      if (size < 0) return site.BadInput("vectors_per_class holds a negative number");
      count = SaturatingAdd(count, size);
    }
    if (count == 0) classifier.per_class.clear();
    PLIMSOLL_ASSIGN(classifier.model, SupportVectors::Read(site, count));
    classifier.classes = static_cast<int64_t>(count > 0 ? classifier.per_class.size() : labels);
    classifier.slopes = count > 0 ? FloatsOf(site, "prob_a") : std::vector<double>();
    classifier.shifts = count > 0 ? FloatsOf(site, "prob_b") : std::vector<double>();
    const SupportVectors& model = classifier.model;
    const int64_t weights = count > 0 ? SaturatingMultiply(classifier.classes - 1, count)
                                      : classifier.classes * model.rows.features;
    const int64_t rhos = count > 0 ? classifier.pairs() : 1;
    const auto pairs = static_cast<size_t>(classifier.pairs());
    const bool fits = classifier.classes >= 1 && (count == 0 || classifier.classes >= 2) &&
                      static_cast<int64_t>(model.weights.size()) == weights &&
                      static_cast<int64_t>(model.rho.size()) >= rhos &&
                      (classifier.slopes.empty() || classifier.slopes.size() == pairs) &&
                      classifier.slopes.size() == classifier.shifts.size();
    if (!fits) return site.BadInput("the lengths of its attributes do not go together");
    return classifier;
  }

  // Doubles that one row takes besides, for `columns` scores.
  int64_t doubles(int64_t columns) const {
    return SaturatingAdd(SaturatingMultiply(classes, classes + 2), std::max(pairs(), columns));
  }

  // One row; `room` is for doubles().
  void Classify(const KernelCall& call, int64_t row, const ClassWriter& writer,
                const float* features, const float* likenesses, double* room) const {
    double* const wins = room;
    double* const margins = wins + classes;
    double* const pairwise = margins + std::max(pairs(), writer.columns());
    double* const chances = pairwise + classes * classes;
    const auto columns = static_cast<size_t>(writer.columns());
    if (per_class.empty()) {
      for (int64_t i = 0; i < classes; ++i) {
        const float* line = model.weights.data() + i * model.rows.features;
        margins[i] = model.rho[0] + RowDot(features, line, model.rows.features);
      }
      return writer.Write(call, row, {margins, columns});
    }
    Judge(likenesses, margins, wins);
    const auto winner = static_cast<size_t>(std::max_element(wins, wins + classes) - wins);
    if (has_probabilities()) Probabilities(margins, pairwise, chances);
    writer.Write(call, row, {has_probabilities() ? chances : margins, columns}, winner);
  }

 private:
  // The margins of all pairs of classes, the first against the second; and who wins how often.
  void Judge(const float* likenesses, double* margins, double* wins) const {
    std::fill_n(wins, classes, 0);
    int64_t first_begin = 0;
    int64_t pair = 0;
    for (int64_t first = 0; first < classes; ++first) {
      int64_t second_begin = first_begin + per_class[static_cast<size_t>(first)];
      for (int64_t second = first + 1; second < classes; ++second, ++pair) {
        const float* for_first = model.weights.data() + (second - 1) * model.count + first_begin;
        const float* for_second = model.weights.data() + first * model.count + second_begin;
        const int64_t second_count = per_class[static_cast<size_t>(second)];
        margins[pair] =
            model.rho[static_cast<size_t>(pair)] +
            RowDot(for_first, likenesses + first_begin, per_class[static_cast<size_t>(first)]) +
            RowDot(for_second, likenesses + second_begin, second_count);
        ++wins[margins[pair] > 0 ? first : second];
        second_begin += second_count;
      }
      first_begin += per_class[static_cast<size_t>(first)];
    }
  }

  // How probable each class is, from the pairs' margins: the distribution whose pairwise odds are
  // nearest, by fixed-point steps. `pairwise` is [classes, classes].
  void Probabilities(const double* margins, double* pairwise, double* probabilities) const {
    constexpr double kLeast = 1e-7;
    int64_t pair = 0;
    for (int64_t i = 0; i < classes; ++i) {
      for (int64_t j = i + 1; j < classes; ++j, ++pair) {
        const auto at = static_cast<size_t>(pair);
        const double odds = margins[pair] * slopes[at] + shifts[at];
        const double first = std::clamp(1 / (1 + std::exp(odds)), kLeast, 1 - kLeast);
        pairwise[i * classes + j] = first;
        pairwise[j * classes + i] = 1 - first;
      }
    }
    Couple(pairwise, probabilities);
  }

  // Minimises p'Qp over distributions p, with Q(i,i) = sum of r(j,i)^2 and Q(i,j) = -r(j,i) r(i,j).
  void Couple(const double* r, double* p) const {
    const auto q = [r, n = classes](int64_t i, int64_t j) {
      if (i != j) return -r[j * n + i] * r[i * n + j];
      double sum = 0;
      for (int64_t k = 0; k < n; ++k) sum += k == i ? 0 : r[k * n + i] * r[k * n + i];
      return sum;
    };
    const auto row_product = [&](int64_t i) {
      double sum = 0;
      for (int64_t j = 0; j < classes; ++j) sum += q(i, j) * p[j];
      return sum;
    };
    std::fill_n(p, classes, 1.0 / static_cast<double>(classes));
    const int64_t most_steps = std::max<int64_t>(100, classes);
    const double close_enough = 0.005 / static_cast<double>(classes);
    for (int64_t step = 0; step < most_steps; ++step) {
      double whole = 0;
      double worst = 0;
      for (int64_t i = 0; i < classes; ++i) whole += p[i] * row_product(i);
      for (int64_t i = 0; i < classes; ++i) {
        worst = std::max(worst, std::abs(row_product(i) - whole));
      }
      if (worst < close_enough) return;
      for (int64_t i = 0; i < classes; ++i) {
        const double change = (whole - row_product(i)) / q(i, i);
        p[i] += change;
        for (int64_t j = 0; j < classes; ++j) p[j] /= 1 + change;
        whole = 0;
        for (int64_t j = 0; j < classes; ++j) whole += p[j] * row_product(j);
      }
    }
  }
};

Result<KernelPointer> MakeSvmClassifier(KernelSite& site) {
  LabelList labels = ReadClassLabels(site, "classlabels_ints");
  PLIMSOLL_ASSIGN(SupportClassifier classifier, SupportClassifier::Read(site, labels.size()));
  const bool linear = classifier.per_class.empty();
  const int64_t classes = classifier.classes;
  const int64_t scores = linear || classifier.has_probabilities() ? classes : classifier.pairs();
  const bool all_positive =
      std::all_of(classifier.model.weights.begin(), classifier.model.weights.end(),
                  [](double weight) { return weight >= 0; });
  const LoneScore lone{.is_probability = all_positive};
  PLIMSOLL_ASSIGN(ClassWriter writer, ClassWriter::Make(site, std::move(labels),
                                                        classifier.model.rows.rows, scores, lone));
  const ComparedRows rows(classifier.model, classifier.doubles(writer.columns()));
  return MakeKernel(
      [classifier = std::move(classifier), writer = std::move(writer),
       rows](const KernelCall& call) {
        rows.Run(classifier.model, call,
                 [&](int64_t row, const float* features, const float* likenesses, double* room) {
                   classifier.Classify(call, row, writer, features, likenesses, room);
                 });
      },
      rows.workspace());
}

constexpr KernelRow kSupportVectorsRows[] = {
    {graph::kMachineLearningDomain, "SVMClassifier", 1, graph::kNewest, MakeSvmClassifier},
    {graph::kMachineLearningDomain, "SVMRegressor", 1, graph::kNewest, MakeSvmRegressor},
};

}  // namespace

std::span<const KernelRow> SupportVectorKernels() { return kSupportVectorsRows; }

}  // namespace plimsoll::kernels::cpu
