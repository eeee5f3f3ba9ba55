#pragma once

#include <cstdint>
#include <vector>

#include "plimsoll/base/bytes.h"

namespace plimsoll::kernels::cpu {

struct ComplexNumber {
  double real = 0;
  double imaginary = 0;
};

// The discrete Fourier transform of one length: by halves where it is a power of two, and for
// every other length as a convolution of such a length (Bluestein). Tables are made once; Run
// allocates nothing, is const, and takes O(n log n).
class FourierTransform {
 public:
  explicit FourierTransform(int64_t length, bool inverse);  // length >= 1

  int64_t length() const { return length_; }
  int64_t scratch() const { return length_ == size_ ? 0 : size_; }  // numbers that Run needs
  // In place; the inverse divides by the length.
  void Run(ComplexNumber* numbers, ComplexNumber* scratch) const;

 private:
  void RunPowerOfTwo(ComplexNumber* numbers, bool conjugate) const;

  int64_t length_;
  bool inverse_;
  int64_t size_ = 1;                  // the power of two that is computed with
  std::vector<ComplexNumber> roots_;  // exp(-2 pi i k / size), k below size / 2
  std::vector<ComplexNumber> chirp_;  // exp(-+ pi i k^2 / length)
  std::vector<ComplexNumber> chirp_spectrum_;
};

}  // namespace plimsoll::kernels::cpu
