#include "kernels/cpu/signal/fourier.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

namespace plimsoll::kernels::cpu {
namespace {

ComplexNumber Multiply(ComplexNumber a, ComplexNumber b) {
  return {a.real * b.real - a.imaginary * b.imaginary, a.real * b.imaginary + a.imaginary * b.real};
}

ComplexNumber Conjugate(ComplexNumber a) { return {a.real, -a.imaginary}; }

// exp(i pi numerator / denominator)
ComplexNumber Root(double numerator, double denominator) {
  const double angle = std::numbers::pi * numerator / denominator;
  return {std::cos(angle), std::sin(angle)};
}

}  // namespace

FourierTransform::FourierTransform(int64_t length, bool inverse)
    : length_(length), inverse_(inverse) {
  const bool power_of_two = (length & (length - 1)) == 0;
  const int64_t needed = power_of_two ? length : 2 * length - 1;
  while (size_ < needed) size_ *= 2;
  for (int64_t k = 0; k < size_ / 2; ++k) {
    roots_.push_back(Root(static_cast<double>(-2 * k), static_cast<double>(size_)));
  }
  if (power_of_two) return;
  chirp_spectrum_.resize(static_cast<size_t>(size_));
  for (int64_t k = 0; k < length; ++k) {
    // k squared turns the circle many times; what is left of it keeps the angle exact.
    const int64_t turn = k * k % (2 * length);
    chirp_.push_back(
        Root(static_cast<double>(inverse ? turn : -turn), static_cast<double>(length)));
    chirp_spectrum_[k] = Conjugate(chirp_[k]);
    if (k > 0) chirp_spectrum_[size_ - k] = Conjugate(chirp_[k]);
  }
  RunPowerOfTwo(chirp_spectrum_.data(), false);
}

void FourierTransform::RunPowerOfTwo(ComplexNumber* numbers, bool conjugate) const {
  for (int64_t i = 1, mirrored = 0; i < size_; ++i) {
    int64_t bit = size_ / 2;
    for (; (mirrored & bit) != 0; bit /= 2) mirrored ^= bit;
    mirrored ^= bit;
    if (i < mirrored) std::swap(numbers[i], numbers[mirrored]);
  }
  for (int64_t half = 1; half < size_; half *= 2) {
    const int64_t step = size_ / (2 * half);
    for (int64_t first = 0; first < size_; first += 2 * half) {
      for (int64_t k = 0; k < half; ++k) {
        const ComplexNumber root = conjugate ? Conjugate(roots_[k * step]) : roots_[k * step];
        ComplexNumber& low = numbers[first + k];
        ComplexNumber& high = numbers[first + k + half];
        const ComplexNumber turned = Multiply(high, root);
        high = {low.real - turned.real, low.imaginary - turned.imaginary};
        low = {low.real + turned.real, low.imaginary + turned.imaginary};
      }
    }
  }
}

void FourierTransform::Run(ComplexNumber* numbers, ComplexNumber* scratch) const {
  if (length_ == size_) {
    RunPowerOfTwo(numbers, inverse_);
  } else {
    for (int64_t k = 0; k < length_; ++k) scratch[k] = Multiply(numbers[k], chirp_[k]);
    std::fill(scratch + length_, scratch + size_, ComplexNumber());
    RunPowerOfTwo(scratch, false);
    for (int64_t k = 0; k < size_; ++k) scratch[k] = Multiply(scratch[k], chirp_spectrum_[k]);
    RunPowerOfTwo(scratch, true);
    const auto size = static_cast<double>(size_);
    for (int64_t k = 0; k < length_; ++k) {
      const ComplexNumber sum = Multiply(scratch[k], chirp_[k]);
      numbers[k] = {sum.real / size, sum.imaginary / size};
    }
  }
  if (!inverse_) return;
  const auto length = static_cast<double>(length_);
  for (int64_t k = 0; k < length_; ++k) {
    numbers[k] = {numbers[k].real / length, numbers[k].imaginary / length};
  }
}

}  // namespace plimsoll::kernels::cpu
