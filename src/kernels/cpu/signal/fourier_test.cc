#include "kernels/cpu/signal/fourier.h"

#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <numbers>

namespace plimsoll::kernels::cpu {
namespace fourier_test {

std::vector<ComplexNumber> Signal(int64_t length) {
  std::vector<ComplexNumber> numbers;
  for (int64_t i = 0; i < length; ++i) {
    const auto x = static_cast<double>(i);
    numbers.push_back({std::sin(x * x), std::cos(3 * x) - 0.5});
  }
  return numbers;
}

// The sum of the definition.
std::vector<ComplexNumber> TransformedSlowly(const std::vector<ComplexNumber>& from) {
  std::vector<ComplexNumber> to;
  const auto length = static_cast<double>(from.size());
  for (size_t k = 0; k < from.size(); ++k) {
    std::complex<double> sum = 0;
    for (size_t n = 0; n < from.size(); ++n) {
      const double angle = -2 * std::numbers::pi * static_cast<double>(k * n) / length;
      sum += std::polar(1.0, angle) * std::complex(from[n].real, from[n].imaginary);
    }
    to.push_back({sum.real(), sum.imag()});
  }
  return to;
}

void ExpectNear(const std::vector<ComplexNumber>& made,
                const std::vector<ComplexNumber>& expected) {
  for (size_t i = 0; i < made.size(); ++i) {
    EXPECT_NEAR(made[i].real, expected[i].real, 1e-9) << i << " of " << made.size();
    EXPECT_NEAR(made[i].imaginary, expected[i].imaginary, 1e-9) << i << " of " << made.size();
  }
}

TEST(FourierTransformTest, EveryLengthAgreesWithTheDefinitionAndIsUndoneByTheInverse) {
  for (const int64_t length : {1, 2, 3, 5, 7, 8, 12, 17, 64, 100, 127}) {
    const std::vector<ComplexNumber> signal = Signal(length);
    const FourierTransform forward(length, false);
    const FourierTransform back(length, true);
    std::vector<ComplexNumber> numbers = signal;
    std::vector<ComplexNumber> scratch(static_cast<size_t>(forward.scratch()));
    forward.Run(numbers.data(), scratch.data());
    ExpectNear(numbers, TransformedSlowly(signal));
    back.Run(numbers.data(), scratch.data());
    ExpectNear(numbers, signal);
  }
}

}  // namespace fourier_test
}  // namespace plimsoll::kernels::cpu
