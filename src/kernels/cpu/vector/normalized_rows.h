#pragma once

#include <array>
#include <cstdint>

namespace plimsoll::kernels::cpu {

// Rows of float32, one behind the other, of which each becomes (x - mean) / deviation * scale +
// bias. The order of sums is ONNX Runtime's on processors with AVX2, and results are its to the
// last bit.
struct RowNormalization {
  int64_t length = 0;
  float epsilon = 0;
  bool centred = true;           // else no mean is subtracted: the deviation is from zero
  bool running_means = false;    // mean and deviation grow element by element
  const float* scale = nullptr;  // `length` elements each
  const float* bias = nullptr;   // null: 0
};

inline constexpr int64_t kRowsTogether = 16;  // at most

struct RowMoments {
  std::array<float, kRowsTogether> mean;
  std::array<float, kRowsTogether> inverse_deviation;
};

// Of `rows` rows, at most kRowsTogether. y may be x.
RowMoments NormalizeRows(const RowNormalization& normalization, const float* x, int64_t rows,
                         float* y);

}  // namespace plimsoll::kernels::cpu
