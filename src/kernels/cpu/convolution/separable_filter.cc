#include "kernels/cpu/convolution/separable_filter.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/cpu/product/weighted_rows.h"
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
    : type_(type), first_(axes.front().weights) {
  const auto first = static_cast<size_t>(axes.front().axis);
  const auto pass_along = [&](const Axis& axis, size_t begin) {
    const auto at = static_cast<size_t>(axis.axis);
    return MakePass(ElementCount(std::span(from).subspan(begin, at - begin)), from[at], to[at],
                    ElementCount(std::span(to).subspan(at + 1)), axis.weights);
  };
  planes_ = ElementCount(std::span(from).first(first));
  from_slabs_ = from[first];
  from_slab_ = ElementCount(std::span(from).subspan(first + 1));
  to_slabs_ = to[first];
  to_slab_ = ElementCount(std::span(to).subspan(first + 1));
  threads_ = std::clamp<int64_t>(Threads(), 1, std::max<int64_t>(planes_, 1));
  const bool converts = type != graph::DataType::kFloat32 && type != graph::DataType::kFloat64;
  if (axes.size() == 1 && !converts) {
    direct_ = true;
    passes_.push_back(pass_along(axes[0], first));
    return;
  }
  for (auto axis = axes.rbegin(); axis + 1 != axes.rend(); ++axis) {
    passes_.push_back(pass_along(*axis, first + 1));
  }
  if (from_slab_ == 1 && to_slab_ == 1) {
    // Slabs of one element each are better taken together, as the one slab of an axis before them.
    passes_ = {pass_along(axes[0], first)};
    std::swap(from_slabs_, from_slab_);
    std::swap(to_slabs_, to_slab_);
    first_ = {.taps = 1, .places = {0}, .weights = {1}, .outside = {}};
  }
  for (int64_t i = 0; i < to_slabs_; ++i) {
    const auto begin = first_.places.begin() + i * first_.taps;
    const auto [low, high] = std::minmax_element(begin, begin + first_.taps);
    kept_ = std::max(kept_, *high - *low + 1);
  }
  for (const int64_t place : first_.places) offsets_.push_back(place % kept_ * to_slab_);
  weights_.assign(first_.weights.begin(), first_.weights.end());
  if (converts) spare_ = std::max(from_slab_, to_slab_);
  for (size_t i = 0; i + 1 < passes_.size(); ++i) {
    spare_ = std::max(spare_, passes_[i].outer * passes_[i].to * passes_[i].inner);
  }
  const int64_t width = type_ == graph::DataType::kFloat64 ? sizeof(double) : sizeof(float);
  slot_ = (Bytes(kept_ * int64_t{sizeof(int64_t)}) + Bytes(kept_ * to_slab_ + 2 * spare_) * width)
              .RoundUp(int64_t{sizeof(double)});
}

bool SeparableFilter::Supports(graph::DataType type) {
  return VisitType<AllNumbers>(type, []<typename T>() {});
}

Bytes SeparableFilter::workspace() const { return slot_ * threads_; }

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

void SeparableFilter::SumSlabs(int64_t i, const float* slabs, float* to) const {
  const int64_t at = i * first_.taps;
  SumRows(slabs, offsets_.data() + at, weights_.data() + at, first_.taps, to_slab_, to);
}

void SeparableFilter::SumSlabs(int64_t i, const double* slabs, double* to) const {
  for (int64_t n = 0; n < to_slab_; ++n) {
    double sum = 0;
    for (int64_t k = i * first_.taps; k < (i + 1) * first_.taps; ++k) {
      sum += first_.weights[k] * slabs[offsets_[k] + n];
    }
    to[n] = sum;
  }
}

// Works the other axes out for the slab at `from`.
template <typename T, typename Number>
void SeparableFilter::MakeSlab(const T* from, Number* spare, Number* slab) const {
  const Number* input = nullptr;
  if constexpr (std::is_same_v<T, Number>) {
    input = from;
  } else {
    Number* const wide = passes_.empty() ? slab : spare;
    std::copy_n(from, from_slab_, wide);
    input = wide;
  }
  for (size_t i = 0; i < passes_.size(); ++i) {
    Number* const between = input == spare ? spare + spare_ : spare;
    Number* const output = i + 1 == passes_.size() ? slab : between;
    RunPass(passes_[i], input, output);
    input = output;
  }
}

template <typename T, typename Number>
void SeparableFilter::RunPlane(const T* from, T* to, int64_t* kept, Number* slabs) const {
  Number* const spare = slabs + kept_ * to_slab_;
  std::fill_n(kept, kept_, int64_t{-1});
  for (int64_t i = 0; i < to_slabs_; ++i) {
    for (int64_t k = i * first_.taps; k < (i + 1) * first_.taps; ++k) {
      const int64_t place = first_.places[k];
      if (kept[place % kept_] == place) continue;
      kept[place % kept_] = place;
      MakeSlab(from + place * from_slab_, spare, slabs + offsets_[k]);
    }
    T* const target = to + i * to_slab_;
    if constexpr (std::is_same_v<T, Number>) {
      SumSlabs(i, slabs, target);
    } else {
      SumSlabs(i, slabs, spare);
      std::transform(spare, spare + to_slab_, target, Rounded<T, Number>);
    }
  }
}

template <typename T, typename Number>
void SeparableFilter::RunPlanes(const T* from, T* to, std::byte* workspace) const {
  ParallelFor(threads_, 1, [&](int64_t begin, int64_t end) {
    auto* const kept = reinterpret_cast<int64_t*>(workspace + begin * slot_.value());
    auto* const slabs = reinterpret_cast<Number*>(kept + kept_);
    const int64_t last = planes_ * end / threads_;
    for (int64_t plane = planes_ * begin / threads_; plane < last; ++plane) {
      const T* const source = from + plane * from_slabs_ * from_slab_;
      T* const target = to + plane * to_slabs_ * to_slab_;
      if constexpr (std::is_same_v<T, Number>) {
        if (direct_) {
          RunPass(passes_[0], source, target);
          continue;
        }
      }
      RunPlane(source, target, kept, slabs);
    }
  });
}

void SeparableFilter::Run(const void* from, void* to, void* workspace) const {
  if (from_slabs_ * from_slab_ == 0 || to_slabs_ * to_slab_ == 0) return;
  VisitType<AllNumbers>(type_, [&]<typename T>() {
    using Number = std::conditional_t<std::is_same_v<T, double>, double, float>;
    RunPlanes<T, Number>(static_cast<const T*>(from), static_cast<T*>(to),
                         static_cast<std::byte*>(workspace));
  });
}

}  // namespace plimsoll::kernels::cpu
