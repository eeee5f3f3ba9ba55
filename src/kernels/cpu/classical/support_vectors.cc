#include <algorithm>
#include <cmath>

#include "graph/operator_row.h"
#include "kernels/cpu/classical/class_scores.h"
#include "kernels/cpu/classical/row_slots.h"
#include "kernels/cpu/families.h"
#include "plimsoll/base/text.h"

namespace plimsoll::kernels::cpu {
namespace {

std::vector<double> Floats(const KernelSite& site, std::string_view name) {
  const std::vector<double>* list = site.attributes().Floats(name);
  return list != nullptr ? *list : std::vector<double>();
}

// Four sums, which do not wait for each other.
double Dot(const double* a, const double* b, int64_t count) {
  double sums[4] = {};
  int64_t i = 0;
  for (; i + 4 <= count; i += 4) {
    for (int64_t lane = 0; lane < 4; ++lane) sums[lane] += a[i + lane] * b[i + lane];
  }
  for (; i < count; ++i) sums[0] += a[i] * b[i];
  return sums[0] + sums[1] + sums[2] + sums[3];
}

// How alike two rows of features are.
struct Likeness {
  enum class Kind { kLinear, kPolynomial, kRadial, kSigmoid };
  Kind kind = Kind::kLinear;
  double gamma = 0;
  double offset = 0;
  double degree = 0;

  static Result<Likeness> Read(const KernelSite& site) {
    constexpr std::string_view kNames[] = {"LINEAR", "POLY", "RBF", "SIGMOID"};
    Likeness likeness;
    const std::string name = site.attributes().String("kernel_type", "LINEAR");
    const auto found = std::find(std::begin(kNames), std::end(kNames), name);
    if (found == std::end(kNames)) {
      return site.BadInput(StrCat("kernel_type '", name, "' is none of the standard's"));
    }
    likeness.kind = static_cast<Kind>(found - std::begin(kNames));
    std::vector<double> parameters = Floats(site, "kernel_params");
    parameters.resize(3, 0);
    likeness.gamma = parameters[0];
    likeness.offset = parameters[1];
    likeness.degree = parameters[2];
    return likeness;
  }

  // From the squared distance of two rows where the kind is radial, else from their product.
  double Of(double sum) const {
    switch (kind) {
      case Kind::kRadial:
        return std::exp(-gamma * sum);
      case Kind::kPolynomial:
        return Power(gamma * sum + offset, degree);
      case Kind::kSigmoid:
        return std::tanh(gamma * sum + offset);
      case Kind::kLinear:
        return sum;
    }
    return sum;
  }

 private:
  static double Power(double base, double exponent) {
    constexpr double kMost = 64;
    if (!(exponent >= 0 && exponent <= kMost && exponent == std::trunc(exponent))) {
      return std::pow(base, exponent);
    }
    double power = 1;
    for (auto rest = static_cast<unsigned>(exponent); rest != 0; rest >>= 1U, base *= base) {
      if ((rest & 1U) != 0) power *= base;
    }
    return power;
  }
};

// Vectors that a row is compared with.
struct SupportVectors {
  FeatureRows rows;
  Likeness likeness;
  int64_t count = 0;
  std::vector<double> panels;  // [count / kLanes, features, kLanes], zeros behind the last
  std::vector<double> weights;
  std::vector<double> rho;

  static Result<SupportVectors> Read(const KernelSite& site, int64_t count) {
    SupportVectors model;
    PLIMSOLL_ASSIGN(model.rows, FeatureRows::Of(site));
    PLIMSOLL_ASSIGN(model.likeness, Likeness::Read(site));
    model.count = count;
    const std::vector<double> vectors = Floats(site, "support_vectors");
    model.weights = Floats(site, "coefficients");
    model.rho = Floats(site, "rho");
    if (model.rho.empty()) return site.BadInput("attribute rho is missing");
    if (SaturatingMultiply(count, model.rows.features) !=
        static_cast<int64_t>(count > 0 ? vectors.size() : 0)) {
      return site.BadInput(StrCat("support_vectors has ", vectors.size(), " numbers for ", count,
                                  " vectors of ", model.rows.features, " features"));
    }
    model.Pack(vectors);
    return model;
  }

  int64_t padded() const { return (count + kLanes - 1) / kLanes * kLanes; }
  int64_t row_work() const { return (padded() + 1) * (rows.features + kLikenessWork); }

  // `likenesses` has room for padded().
  void Compare(const double* row, double* likenesses) const {
    const double* panel = panels.data();
    for (int64_t first = 0; first < count; first += kLanes, panel += rows.features * kLanes) {
      double sums[kLanes] = {};
      if (likeness.kind == Likeness::Kind::kRadial) {
        for (int64_t i = 0; i < rows.features; ++i) {
          for (int64_t lane = 0; lane < kLanes; ++lane) {
            const double apart = row[i] - panel[i * kLanes + lane];
            sums[lane] += apart * apart;
          }
        }
      } else {
        for (int64_t i = 0; i < rows.features; ++i) {
          for (int64_t lane = 0; lane < kLanes; ++lane) {
            sums[lane] += row[i] * panel[i * kLanes + lane];
          }
        }
      }
      for (int64_t lane = 0; lane < kLanes; ++lane) {
        likenesses[first + lane] = likeness.Of(sums[lane]);
      }
    }
  }

 private:
  static constexpr int64_t kLanes = 8;          // sums that do not wait for each other
  static constexpr int64_t kLikenessWork = 16;  // of one likeness after its sum

  void Pack(const std::vector<double>& vectors) {
    panels.resize(static_cast<size_t>(padded() * rows.features));
    for (int64_t i = 0; i < count; ++i) {
      for (int64_t feature = 0; feature < rows.features; ++feature) {
        const int64_t at = (i / kLanes * rows.features + feature) * kLanes + i % kLanes;
        panels[static_cast<size_t>(at)] = vectors[static_cast<size_t>(i * rows.features + feature)];
      }
    }
  }
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
  const RowSlots slots(model.rows.rows, model.row_work(),
                       Bytes(sizeof(double)) * SaturatingAdd(model.rows.features, model.padded()));
  return MakeKernel(
      [model = std::move(model), transform, one_class, slots](const KernelCall& call) {
        slots.Run(call.workspace, [&](int64_t begin, int64_t end, void* scratch) {
          auto* features = static_cast<double*>(scratch);
          double* const likenesses = features + model.rows.features;
          for (int64_t row = begin; row < end; ++row) {
            model.rows.Load(call, row, features);
            model.Compare(features, likenesses);
            double score = model.rho[0];
            score += model.count > 0 ? Dot(likenesses, model.weights.data(), model.count)
                                     : Dot(features, model.weights.data(), model.rows.features);
            if (one_class) score = score > 0 ? 1 : -1;
            Transform(transform, {&score, 1});
            static_cast<float*>(call.outputs[0])[row] = static_cast<float>(score);
          }
        });
      },
      slots.workspace());
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
    classifier.slopes = count > 0 ? Floats(site, "prob_a") : std::vector<double>();
    classifier.shifts = count > 0 ? Floats(site, "prob_b") : std::vector<double>();
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

  // One row. `features` has room for them, for likenesses, and for what classes and pairs need.
  void Classify(const KernelCall& call, int64_t row, const ClassWriter& writer,
                double* features) const {
    double* const likenesses = features + model.rows.features;
    double* const wins = likenesses + model.padded();
    double* const margins = wins + classes;
    double* const pairwise = margins + std::max(pairs(), writer.columns());
    double* const chances = pairwise + classes * classes;
    const auto columns = static_cast<size_t>(writer.columns());
    model.rows.Load(call, row, features);
    if (per_class.empty()) {
      for (int64_t i = 0; i < classes; ++i) {
        const double* line = model.weights.data() + i * model.rows.features;
        margins[i] = model.rho[0] + Dot(features, line, model.rows.features);
      }
      return writer.Write(call, row, {margins, columns});
    }
    model.Compare(features, likenesses);
    Judge(likenesses, margins, wins);
    const auto winner = static_cast<size_t>(std::max_element(wins, wins + classes) - wins);
    if (has_probabilities()) Probabilities(margins, pairwise, chances);
    writer.Write(call, row, {has_probabilities() ? chances : margins, columns}, winner);
  }

 private:
  // The margins of all pairs of classes, the first against the second; and who wins how often.
  void Judge(const double* likenesses, double* margins, double* wins) const {
    std::fill_n(wins, classes, 0);
    int64_t first_begin = 0;
    int64_t pair = 0;
    for (int64_t first = 0; first < classes; ++first) {
      int64_t second_begin = first_begin + per_class[static_cast<size_t>(first)];
      for (int64_t second = first + 1; second < classes; ++second, ++pair) {
        const double* for_first = model.weights.data() + (second - 1) * model.count + first_begin;
        const double* for_second = model.weights.data() + first * model.count + second_begin;
        const int64_t second_count = per_class[static_cast<size_t>(second)];
        margins[pair] =
            model.rho[static_cast<size_t>(pair)] +
            Dot(for_first, likenesses + first_begin, per_class[static_cast<size_t>(first)]) +
            Dot(for_second, likenesses + second_begin, second_count);
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
  const int64_t doubles =
      SaturatingAdd(SaturatingAdd(classifier.model.rows.features, classifier.model.padded()),
                    SaturatingMultiply(classes + 2, classes + 2) * 3);
  const RowSlots slots(classifier.model.rows.rows, classifier.model.row_work(),
                       Bytes(sizeof(double)) * doubles);
  return MakeKernel(
      [classifier = std::move(classifier), writer = std::move(writer),
       slots](const KernelCall& call) {
        slots.Run(call.workspace, [&](int64_t begin, int64_t end, void* scratch) {
          for (int64_t row = begin; row < end; ++row) {
            classifier.Classify(call, row, writer, static_cast<double*>(scratch));
          }
        });
      },
      slots.workspace());
}

constexpr KernelRow kSupportVectorsRows[] = {
    {graph::kMachineLearningDomain, "SVMClassifier", 1, graph::kNewest, MakeSvmClassifier},
    {graph::kMachineLearningDomain, "SVMRegressor", 1, graph::kNewest, MakeSvmRegressor},
};

}  // namespace

std::span<const KernelRow> SupportVectorKernels() { return kSupportVectorsRows; }

}  // namespace plimsoll::kernels::cpu
