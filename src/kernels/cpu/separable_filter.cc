#include "kernels/cpu/separable_filter.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/cpu/weighted_rows.h"
#include "kernels/element_types.h"
#include "kernels/parallel.h"

namespace plimsoll::kernels::cpu {
namespace {

template <typename T, typename Number>
T Rounded(Number value) {
  if constexpr (std::is_integral_v<T>) {
    const double whole = std::nearbyint(static_cast<double>(value));
    constexpr auto kLeast = static_cast<double>(std::numeric_limits<T>::min());
    constexpr auto kMost = static_cast<double>(std::numeric_limits<T>::max());
    if (!(whole > kLeast)) return std::numeric_limits<T>::min();
    return whole < kMost ? static_cast<T>(whole) : std::numeric_limits<T>::max();
  } else {
    return static_cast<T>(value);
  }
}

}  // namespace

SeparableFilter::SeparableFilter(graph::DataType type, const Dims& from, const Dims& to,
                                 const std::vector<Axis>& axes)
    : type_(type) {
  const auto first = static_cast<size_t>(axes.front().axis);
  planes_ = ElementCount(std::span(from).first(first));
  from_plane_ = ElementCount(std::span(from).subspan(first));
  to_plane_ = ElementCount(std::span(to).subspan(first));
  const bool converts = type != graph::DataType::kFloat32 && type != graph::DataType::kFloat64;
  if (converts) buffer_ = std::max(from_plane_, to_plane_);
  for (auto axis = axes.rbegin(); axis != axes.rend(); ++axis) {
    const auto at = static_cast<size_t>(axis->axis);
    Pass pass = MakePass(ElementCount(std::span(from).subspan(first, at - first)), from[at], to[at],
                         ElementCount(std::span(to).subspan(at + 1)), axis->weights);
    const bool last = axis + 1 == axes.rend();
    if (!last) buffer_ = std::max(buffer_, pass.outer * pass.to * pass.inner);
    passes_.push_back(std::move(pass));
  }
  buffers_ = converts || passes_.size() > 2 ? 2 : 1;
  threads_ = std::clamp<int64_t>(Threads(), 1, std::max<int64_t>(planes_, 1));
}

bool SeparableFilter::Supports(graph::DataType type) {
  return VisitType<AllNumbers>(type, []<typename T>() {});
}

Bytes SeparableFilter::workspace() const {
  const int64_t width = type_ == graph::DataType::kFloat64 ? sizeof(double) : sizeof(float);
  return Bytes(buffers_ * buffer_ * width * threads_);
}

SeparableFilter::Pass SeparableFilter::MakePass(int64_t outer, int64_t from, int64_t to,
                                                int64_t inner, const AxisWeights& weights) {
  Pass pass{outer, from, to, inner, weights.taps, weights.places, weights.weights, {}, {}, {}};
  for (int64_t& offset : pass.offsets) offset *= inner;
  pass.row_weights.assign(weights.weights.begin(), weights.weights.end());
  for (int64_t k = 0; inner == 1 && k < weights.taps; ++k) {
    for (int64_t i = 0; i < to; ++i) {
      pass.tap_places.push_back(static_cast<int32_t>(weights.places[i * weights.taps + k]));
      pass.tap_weights.push_back(static_cast<float>(weights.weights[i * weights.taps + k]));
    }
  }
  return pass;
}

void SeparableFilter::RunPass(const Pass& pass, const float* from, float* to) {
  for (int64_t outer = 0; outer < pass.outer; ++outer) {
    if (pass.inner == 1) {
      SumPlaces(from, pass.tap_places.data(), pass.tap_weights.data(), pass.taps, pass.to, to);
      to += pass.to;
    }
    for (int64_t i = 0; pass.inner > 1 && i < pass.to; ++i, to += pass.inner) {
      const int64_t at = i * pass.taps;
      SumRows(from, pass.offsets.data() + at, pass.row_weights.data() + at, pass.taps, pass.inner,
              to);
    }
    from += pass.from * pass.inner;
  }
}

void SeparableFilter::RunPass(const Pass& pass, const double* from, double* to) {
  for (int64_t outer = 0; outer < pass.outer; ++outer, from += pass.from * pass.inner) {
    for (int64_t i = 0; i < pass.to; ++i) {
      for (int64_t n = 0; n < pass.inner; ++n) {
        double sum = 0;
        for (int64_t k = i * pass.taps; k < (i + 1) * pass.taps; ++k) {
          sum += pass.weights[k] * from[pass.offsets[k] + n];
        }
        *to++ = sum;
      }
    }
  }
}

template <typename T, typename Number>
void SeparableFilter::RunPlanes(const T* from, T* to, std::byte* workspace) const {
  ParallelFor(threads_, 1, [&](int64_t begin, int64_t end) {
    auto* const buffers = reinterpret_cast<Number*>(workspace) + begin * buffers_ * buffer_;
    const int64_t last = planes_ * end / threads_;
    for (int64_t plane = planes_ * begin / threads_; plane < last; ++plane) {
      const T* source = from + plane * from_plane_;
      T* target = to + plane * to_plane_;
      const Number* input = nullptr;
      if constexpr (std::is_same_v<T, Number>) {
        input = source;
      } else {
        std::copy_n(source, from_plane_, buffers);
        input = buffers;
      }
      for (size_t i = 0; i < passes_.size(); ++i) {
        Number* output = input == buffers ? buffers + buffer_ : buffers;
        if constexpr (std::is_same_v<T, Number>) {
          if (i + 1 == passes_.size()) output = target;
        }
        RunPass(passes_[i], input, output);
        input = output;
      }
      if constexpr (!std::is_same_v<T, Number>) {
        std::transform(input, input + to_plane_, target, Rounded<T, Number>);
      }
    }
  });
}

void SeparableFilter::Run(const void* from, void* to, void* workspace) const {
  if (from_plane_ == 0 || to_plane_ == 0) return;
  VisitType<AllNumbers>(type_, [&]<typename T>() {
    using Number = std::conditional_t<std::is_same_v<T, double>, double, float>;
    RunPlanes<T, Number>(static_cast<const T*>(from), static_cast<T*>(to),
                         static_cast<std::byte*>(workspace));
  });
}

}  // namespace plimsoll::kernels::cpu
