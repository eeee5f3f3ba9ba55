#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/cpu/axis_groups.h"
#include "kernels/kernel.h"

namespace plimsoll::kernels::cpu {

// One letter of a contraction: how many places, and how far apart they lie in each of the two
// operands and in the result; 0 where a letter does not occur or broadcasts.
struct ContractedAxis {
  int64_t size = 1;
  int64_t a = 0;
  int64_t b = 0;
  int64_t c = 0;
};

// c[kept] = the sum over `summed` of a * b, or of a alone.
struct Contraction {
  std::vector<ContractedAxis> kept;
  std::vector<ContractedAxis> summed;
  bool binary = true;

  int64_t kept_count() const;
  int64_t summed_count() const;
};

// A contraction of float32 as products of matrices, one for each place of the letters that both
// operands and the result have. What does not lie as a product wants it is gathered into the
// workspace first.
class MatrixContraction {
 public:
  // Whether every summed letter is in both operands, and there are enough of them to pay.
  static bool Fits(const Contraction& contraction);

  explicit MatrixContraction(const Contraction& contraction);

  Bytes workspace() const;
  void Run(const float* a, const float* b, void* workspace, float* c) const;

 private:
  using Groups = std::vector<AxisGroup>;

  struct Axes {
    Groups a, b, c;  // the same sizes, each operand's strides
    int64_t count = 1;
    void Add(const ContractedAxis& axis);
  };
  // The distance between neighbours where there is one for all of them, else 0.
  static int64_t Stride(const Groups& groups);

  void RunOne(const float* a, const float* b, void* workspace, float* c) const;

  Axes batch_, rows_, columns_, depth_;
  int64_t a_stride_ = 0;  // between the rows of A where it is used as it lies, else 0
  int64_t c_stride_ = 0;  // likewise for C
  int64_t a_offset_ = 0, c_offset_ = 0;  // in the workspace, behind the panels of B
  Bytes workspace_;
};

}  // namespace plimsoll::kernels::cpu
