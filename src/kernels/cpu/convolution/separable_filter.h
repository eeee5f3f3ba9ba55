#pragma once

#include <vector>

#include "kernels/cpu/image/resize_axis.h"
#include "kernels/kernel.h"

namespace plimsoll::kernels::cpu {

// Weighted sums along some axes of a tensor, one axis after the other, the last axis first. A slab
// is what lies at one place of the first such axis: the other axes are worked out slab by slab, and
// only as many slabs are kept as one place of the result is summed from. Computes in float, in
// double for doubles; integers are rounded and cut to their range at the end. Run allocates nothing
// and cannot fail.
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
  // One axis's work on a slab: [outer, from, inner] becomes [outer, to, inner].
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
  // The sum for place i of the first axis, from the slabs that are kept.
  void SumSlabs(int64_t i, const float* slabs, float* to) const;
  void SumSlabs(int64_t i, const double* slabs, double* to) const;
  template <typename T, typename Number>
  void MakeSlab(const T* from, Number* spare, Number* slab) const;
  template <typename T, typename Number>
  void RunPlane(const T* from, T* to, int64_t* kept, Number* slabs) const;
  template <typename T, typename Number>
  void RunPlanes(const T* from, T* to, std::byte* workspace) const;

  graph::DataType type_;
  int64_t planes_ = 1;        // what lies before the first axis
  AxisWeights first_;         // along the first axis
  std::vector<Pass> passes_;  // along the others, of one slab
  int64_t from_slabs_ = 1;
  int64_t from_slab_ = 1;  // elements
  int64_t to_slabs_ = 1;
  int64_t to_slab_ = 1;
  bool direct_ = false;  // one axis, from the data as it lies to the result: one pass over a plane
  int64_t kept_ = 0;     // slabs that are kept
  std::vector<int64_t> offsets_;  // entry i * taps + k: where the k-th slab of place i begins
  std::vector<float> weights_;    // likewise
  int64_t spare_ = 0;             // elements of one of two places between passes
  Bytes slot_;                    // of a thread
  int64_t threads_ = 1;
};

}  // namespace plimsoll::kernels::cpu
