#pragma once

#include <vector>

#include "kernels/cpu/resize_axis.h"
#include "kernels/kernel.h"

namespace plimsoll::kernels::cpu {

// Weighted sums along some axes of a tensor, one axis after the other, the last axis first. Works
// plane by plane, a plane being what lies behind the first such axis, so that what lies between two
// axes stays in cache. Computes in float, in double for doubles; integers are rounded and cut to
// their range at the end. Run allocates nothing and cannot fail.
class SeparableFilter {
 public:
  struct Axis {
    int64_t axis;
    AxisWeights weights;
  };
  // `axes` by rising axis, at least one; the other axes of `from` and `to` are equal.
  SeparableFilter(graph::DataType type, const Dims& from, const Dims& to,
                  const std::vector<Axis>& axes);

  static bool Supports(graph::DataType type);
  Bytes workspace() const;
  void Run(const void* from, void* to, void* workspace) const;

 private:
  // One axis's work on a plane: [outer, from, inner] becomes [outer, to, inner].
  struct Pass {
    int64_t outer;
    int64_t from;
    int64_t to;
    int64_t inner;
    int64_t taps;
    std::vector<int64_t> offsets;    // entry i * taps + k: where the k-th row of place i begins
    std::vector<double> weights;     // likewise
    std::vector<float> row_weights;  // likewise
    // The same tap by tap, entry k * to + i, for a last axis that float32 is summed along.
    std::vector<int32_t> tap_places;
    std::vector<float> tap_weights;
  };

  static Pass MakePass(int64_t outer, int64_t from, int64_t to, int64_t inner,
                       const AxisWeights& weights);
  static void RunPass(const Pass& pass, const float* from, float* to);
  static void RunPass(const Pass& pass, const double* from, double* to);
  template <typename T, typename Number>
  void RunPlanes(const T* from, T* to, std::byte* workspace) const;

  graph::DataType type_;
  std::vector<Pass> passes_;
  int64_t planes_ = 1;
  int64_t from_plane_ = 1;
  int64_t to_plane_ = 1;
  int64_t buffer_ = 0;   // elements of one of a thread's buffers
  int64_t buffers_ = 1;  // of a thread; what is read and what is written take turns in two
  int64_t threads_ = 1;
};

}  // namespace plimsoll::kernels::cpu
