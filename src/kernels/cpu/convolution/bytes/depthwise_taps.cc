#include "kernels/cpu/convolution/bytes/depthwise_taps.h"

#include <algorithm>
#include <cstdlib>
#include <span>

#include "kernels/cpu/quantization/bounded_weights.h"
#include "kernels/cpu/quantization/byte_quads.h"
#include "kernels/cpu/quantization/byte_taps.h"
#include "plimsoll/base/text.h"

namespace plimsoll::kernels::cpu {
namespace {

// Whether a quad's neighbours can be added up as `wide` (in 32 bits) or in 16 bits.
bool AreBounded(int32_t a, int32_t b, bool wide) {
  if (wide) return std::min(a, b) >= -128 && std::max(a, b) <= 127;
  return std::abs(a) + std::abs(b) <= kMostOfPair && std::max(a, b) <= 127;
}

int32_t QuadOf(const std::array<int32_t, 4>& weights) {
  uint32_t quad = 0;
  for (size_t t = 0; t < 4; ++t) quad |= static_cast<uint32_t>(weights[t] & 0xff) << (8 * t);
  return static_cast<int32_t>(quad);
}

}  // namespace

DepthwiseTaps::DepthwiseTaps(const Window& window, const std::vector<int64_t>& lines)
    : height_(window.kernel[1]),
      width_(window.kernel[2]),
      together_(TapsOfQuad(window.strides[2], window.dilations[2])) {
  for (int64_t y = 0; y < height_; ++y) {
    for (int64_t x = 0; x < width_; x += together_) {
      offsets_.push_back(lines[static_cast<size_t>(y)] + x * window.dilations[2]);
    }
  }
}

template <typename W, typename Part>
int32_t DepthwiseTaps::VisitOf(const Weights& weights, int64_t filter, const Part& part) const {
  const bool wide = SumsQuadsWide();
  const auto* const zeros = static_cast<const W*>(weights.zeros);
  const auto* from = static_cast<const W*>(weights.data) + filter * height_ * width_;
  const int32_t zero = zeros == nullptr ? 0 : zeros[filter % weights.zero_count];
  int32_t sum = 0;
  int64_t quad = 0;
  for (int64_t y = 0; y < height_; ++y, from += width_) {
    for (int64_t x = 0; x < width_; x += together_, ++quad) {
      std::array<int32_t, 4> left = {};
      const int64_t count = std::min(together_, width_ - x);
      for (int64_t t = 0; t < count; ++t) {
        sum += left[static_cast<size_t>(t)] = from[x + t] - zero;
      }
      if (AreBounded(left[0], left[1], wide) && AreBounded(left[2], left[3], wide)) {
        part(quad, QuadOf(left));
        continue;
      }
      while (left != std::array<int32_t, 4>()) {
        std::array<int32_t, 4> bounded = left;
        BoundSum(std::span(bounded.data(), 2));
        BoundSum(std::span(bounded.data() + 2, 2));
        part(quad, QuadOf(bounded));
        for (size_t t = 0; t < 4; ++t) left[t] -= bounded[t];
      }
    }
  }
  return sum;
}

template <typename Part>
int32_t DepthwiseTaps::Visit(const Weights& weights, int64_t filter, const Part& part) const {
  return weights.is_signed ? VisitOf<int8_t>(weights, filter, part)
                           : VisitOf<uint8_t>(weights, filter, part);
}

Status DepthwiseTaps::Pack(const KernelSite& site, size_t weights, size_t zeros) {
  const TensorInfo& tensor = site.inputs[weights];
  const bool zeros_known = !site.has_input(zeros) || site.inputs[zeros].constant;
  if (!tensor.constant || !zeros_known || site.packed_weights == nullptr) return {};
  Weights known{.data = tensor.data, .is_signed = tensor.type == graph::DataType::kInt8};
  std::vector<int64_t> zero_points;
  bool assumed = tensor.assumed;
  if (site.has_input(zeros)) {
    known.zeros = site.inputs[zeros].data;
    known.zero_count = site.inputs[zeros].elements();
    zero_points = site.inputs[zeros].Integers();
    assumed = assumed || site.inputs[zeros].assumed;
  }
  const int64_t filters = tensor.dims[0];
  int64_t parts = filters * quads();
  if (!assumed) {
    parts = 0;
    for (int64_t filter = 0; filter < filters; ++filter) {
      Visit(known, filter, [&](int64_t, int32_t) { ++parts; });
    }
  }
  const bool apart = parts != filters * quads();
  const Bytes size = Bytes(filters + parts + (apart ? filters + 1 + parts : 0)) * 4;
  if (!site.packed_weights->Wants(tensor.data, tensor.size(), size, Bytes())) return {};
  const auto fill = [&](void* packed) {
    Fill(known, filters, parts, static_cast<int32_t*>(packed));
    return Status();
  };
  PLIMSOLL_ASSIGN(
      const void* const packed,
      site.packed_weights->Pack(
          tensor.data, tensor.size(),
          StrCat("taps of ", height_, " rows of ", width_, ", ", together_, " at once, ",
                 SumsQuadsWide() ? "in 32 bits" : "bounded", ", zeros ", Join(zero_points, ",")),
          size, fill));
  packed_ = static_cast<const int32_t*>(packed);
  filters_ = filters;
  parts_ = parts;
  return {};
}

void DepthwiseTaps::Fill(const Weights& weights, int64_t filters, int64_t parts,
                         int32_t* packed) const {
  int32_t* const quad_weights = packed + filters;
  int32_t* const first = quad_weights + parts;
  int32_t* const quad_of = first + filters + 1;
  const bool apart = parts != filters * quads();
  int32_t done = 0;
  for (int64_t filter = 0; filter < filters; ++filter) {
    if (apart) first[filter] = done;
    packed[filter] = Visit(weights, filter, [&](int64_t quad, int32_t own) {
      if (apart) quad_of[done] = static_cast<int32_t>(quad);
      quad_weights[done++] = own;
    });
  }
  if (apart) first[filters] = done;
}

DepthwiseTaps::Filter DepthwiseTaps::Of(const Weights& weights, int64_t filter,
                                        Scratch& scratch) const {
  Filter made{.offsets = offsets_.data(), .quads = quads()};
  if (packed_ == nullptr) {
    made.quads = 0;
    made.sum = Visit(weights, filter, [&](int64_t quad, int32_t own) {
      scratch.offsets[static_cast<size_t>(made.quads)] = offsets_[static_cast<size_t>(quad)];
      scratch.weights[static_cast<size_t>(made.quads++)] = own;
    });
    made.offsets = scratch.offsets.data();
    made.weights = scratch.weights.data();
    return made;
  }
  made.sum = packed_[filter];
  const int32_t* const all = packed_ + filters_;
  made.weights = all + filter * quads();
  if (parts_ == filters_ * quads()) return made;
  const int32_t* const first = all + parts_;
  const int32_t* const quad_of = first + filters_ + 1 + first[filter];
  made.weights = all + first[filter];
  made.quads = first[filter + 1] - first[filter];
  for (int64_t i = 0; i < made.quads; ++i) {
    scratch.offsets[static_cast<size_t>(i)] = offsets_[static_cast<size_t>(quad_of[i])];
  }
  made.offsets = scratch.offsets.data();
  return made;
}

}  // namespace plimsoll::kernels::cpu
