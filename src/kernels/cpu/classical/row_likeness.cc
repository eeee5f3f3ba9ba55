#include "kernels/cpu/classical/row_likeness.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>

#include "kernels/cpu/classical/squared_distances.h"
#include "kernels/cpu/elementwise/float32_functions.h"
#include "kernels/cpu/product/gemm.h"
#include "kernels/cpu/product/panel_product.h"
#include "kernels/cpu/vector/float_rows.h"
#include "plimsoll/base/bytes.h"
#include "plimsoll/base/text.h"

namespace plimsoll::kernels::cpu {

std::vector<double> FloatsOf(const KernelSite& site, std::string_view name) {
  const std::vector<double>* list = site.attributes().Floats(name);
  return list != nullptr ? *list : std::vector<double>();
}

Result<Likeness> Likeness::Read(const KernelSite& site) {
  constexpr std::string_view kNames[] = {"LINEAR", "POLY", "RBF", "SIGMOID"};
  Likeness likeness;
  const std::string name = site.attributes().String("kernel_type", "LINEAR");
  const auto found = std::find(std::begin(kNames), std::end(kNames), name);
  if (found == std::end(kNames)) {
    return site.BadInput(StrCat("kernel_type '", name, "' is none of the standard's"));
  }
  likeness.kind_ = static_cast<Kind>(found - std::begin(kNames));
  std::vector<double> parameters = FloatsOf(site, "kernel_params");
  parameters.resize(3, 0);
  likeness.gamma_ = static_cast<float>(parameters[0]);
  likeness.offset_ = static_cast<float>(parameters[1]);
  likeness.degree_ = static_cast<float>(parameters[2]);
  return likeness;
}

void Likeness::Apply(float* sums, int64_t count) const {
  switch (kind_) {
    case Kind::kRadial:
      RowAffine(sums, count, -gamma_, 0, sums);
      return Float32().exp(sums, sums, count, {});
    case Kind::kPolynomial:
      RowAffine(sums, count, gamma_, offset_, sums);
      return RaiseToDegree(sums, count);
    case Kind::kSigmoid:
      RowAffine(sums, count, gamma_, offset_, sums);
      return Float32().tanh(sums, sums, count, {});
    case Kind::kLinear:
      return;
  }
}

void Likeness::RaiseToDegree(float* bases, int64_t count) const {
  constexpr float kMost = 64;
  if (degree_ == 2) return Float32().square(bases, bases, count, {});
  if (degree_ == 3) return Float32().cube(bases, bases, count, {});
  if (!(degree_ >= 0 && degree_ <= kMost && degree_ == std::trunc(degree_))) {
    for (int64_t i = 0; i < count; ++i) {
      bases[i] = static_cast<float>(std::pow(static_cast<double>(bases[i]), degree_));
    }
    return;
  }
  constexpr int64_t kAtOnce = 64;
  std::array<float, kAtOnce> powers;
  for (int64_t first = 0; first < count; first += kAtOnce) {
    float* const base = bases + first;
    const int64_t some = std::min(kAtOnce, count - first);
    std::fill_n(powers.data(), some, 1.0F);
    for (auto rest = static_cast<unsigned>(degree_); rest != 0; rest >>= 1U) {
      if ((rest & 1U) != 0) RowMultiplyBy(base, some, powers.data());
      if (rest > 1) Float32().square(base, base, some, {});
    }
    std::copy_n(powers.data(), some, base);
  }
}

Result<SupportVectors> SupportVectors::Read(const KernelSite& site, int64_t count) {
  SupportVectors model;
  PLIMSOLL_ASSIGN(model.rows, FeatureRows::Of(site));
  PLIMSOLL_ASSIGN(model.likeness, Likeness::Read(site));
  model.count = count;
  const std::vector<double> given = FloatsOf(site, "support_vectors");
  const std::vector<double> weights = FloatsOf(site, "coefficients");
  model.weights.assign(weights.begin(), weights.end());
  model.rho = FloatsOf(site, "rho");
  if (model.rho.empty()) return site.BadInput("attribute rho is missing");
  const int64_t features = model.rows.features;
  if (SaturatingMultiply(count, features) != static_cast<int64_t>(count > 0 ? given.size() : 0)) {
    return site.BadInput(StrCat("support_vectors has ", given.size(), " numbers for ", count,
                                " vectors of ", features, " features"));
  }
  if (count == 0) return model;
  const std::vector<float> vectors(given.begin(), given.end());
  model.panels.resize(static_cast<size_t>(PanelElements(features, count)));
  PackPanels(vectors.data(), 1, features, 0, features, 0, count, features, model.panels.data());
  return model;
}

int64_t SupportVectors::padded() const { return PanelColumns(count); }

int64_t SupportVectors::row_work() const {
  constexpr int64_t kLikenessWork = 16;  // of one likeness after its sum
  return (padded() + 1) * (rows.features + kLikenessWork);
}

void SupportVectors::Compare(const float* features, int64_t row_count, float* likenesses) const {
  const int64_t depth = rows.features;
  if (likeness.is_radial()) {
    SquaredDistances(row_count, padded(), depth, features, panels.data(), likenesses, padded());
  } else {
    RunGemm({.rows = row_count,
             .columns = padded(),
             .depth = depth,
             .a = features,
             .a_row_stride = depth,
             .b = {panels.data(), kPanelWidth, depth * kPanelWidth},
             .c = likenesses,
             .c_stride = padded()});
  }
  likeness.Apply(likenesses, row_count * padded());
}

}  // namespace plimsoll::kernels::cpu
