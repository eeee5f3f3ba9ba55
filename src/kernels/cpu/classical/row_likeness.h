#pragma once

#include <string_view>
#include <vector>

#include "kernels/cpu/classical/class_scores.h"
#include "kernels/kernel.h"

namespace plimsoll::kernels::cpu {

// How alike two rows of features are: attributes kernel_type and kernel_params.
class Likeness {
 public:
  static Result<Likeness> Read(const KernelSite& site);

  // From squared distances where it is radial, else from products.
  bool is_radial() const { return kind_ == Kind::kRadial; }
  void Apply(float* sums, int64_t count) const;

 private:
  enum class Kind { kLinear, kPolynomial, kRadial, kSigmoid };

  void RaiseToDegree(float* bases, int64_t count) const;

  Kind kind_ = Kind::kLinear;
  float gamma_ = 0;
  float offset_ = 0;
  float degree_ = 0;
};

// The vectors that rows are compared with, and what is added up of that, in float32.
struct SupportVectors {
  static constexpr int64_t kBlockRows = 12;  // that are compared at once

  FeatureRows rows;
  Likeness likeness;
  int64_t count = 0;
  std::vector<float> panels;  // as columns of a product's B
  std::vector<float> weights;
  std::vector<double> rho;

  static Result<SupportVectors> Read(const KernelSite& site, int64_t count);

  int64_t padded() const;  // columns of the panels
  int64_t row_work() const;
  // Features of rows that lie one behind the other; likenesses of a row lie padded() apart.
  void Compare(const float* features, int64_t row_count, float* likenesses) const;
};

std::vector<double> FloatsOf(const KernelSite& site, std::string_view name);

}  // namespace plimsoll::kernels::cpu
