#include "kernels/cpu/quantization/bounded_weights.h"

#include <algorithm>
#include <array>
#include <vector>

#include "kernels/cpu/quantization/byte_tiles.h"
#include "kernels/cpu/quantization/quantized_operand.h"
#include "plimsoll/base/text.h"

namespace plimsoll::kernels::cpu {
namespace {

constexpr int64_t kMostDepth = 1 << 16;
// More rests than one of so many weights cost as much as is won.
constexpr int64_t kWeightsPerRest = 16;
constexpr int64_t kWeightsPerRestOfTwo = 80;

// A line of weights, which bounding changes.
class Line {
 public:
  explicit Line(int64_t quads)
      : count_(quads * 4), elements_(static_cast<size_t>((count_ + 47) / 16 * 16)) {}

  int16_t* data() { return elements_.data(); }
  std::span<const int16_t> elements() const {
    return std::span(elements_).first(static_cast<size_t>(count_));
  }
  // Calls rest(place, value) for what is missing of the elements afterwards.
  template <typename Rest>
  void Bound(QuadSteps steps, const Rest& rest) {
    constexpr int64_t kTwoQuads = 8;
    for (int64_t at = 0; (at = FirstUnbounded(data(), at, count_, steps)) < count_;) {
      at = at / kTwoQuads * kTwoQuads;
      if (steps == QuadSteps::kTwo) {
        BoundPlaces<4>({at, at + 1, at + 4, at + 5}, rest);
        BoundPlaces<4>({at + 2, at + 3, at + 6, at + 7}, rest);
      } else if (steps == QuadSteps::kWide) {
        for (int64_t place = at; place < at + kTwoQuads; ++place) BoundPlaces<1>({place}, rest);
      } else {
        for (int64_t pair = at; pair < at + kTwoQuads; pair += 2) {
          BoundPlaces<2>({pair, pair + 1}, rest);
        }
      }
      at += kTwoQuads;
    }
  }

 private:
  template <size_t kCount, typename Rest>
  void BoundPlaces(const std::array<int64_t, kCount>& places, const Rest& rest) {
    std::array<int32_t, kCount> values;
    for (size_t i = 0; i < kCount; ++i) values[i] = elements_[static_cast<size_t>(places[i])];
    BoundSum(values);
    for (size_t i = 0; i < kCount; ++i) {
      int16_t& element = elements_[static_cast<size_t>(places[i])];
      if (element == values[i]) continue;
      rest(places[i], element - values[i]);
      element = static_cast<int16_t>(values[i]);
    }
  }

  int64_t count_;
  std::vector<int16_t> elements_;  // and zeros behind them
};

// The zero point of all weights; nothing where it is not known or they have several.
std::optional<int32_t> OneZero(const KernelSite& site, size_t zeros) {
  if (!site.has_input(zeros)) return 0;
  const TensorInfo& tensor = site.inputs[zeros];
  if (!tensor.constant || tensor.data == nullptr || tensor.assumed) return std::nullopt;
  const std::vector<int64_t> all = tensor.Integers();
  if (all.empty() || std::ranges::any_of(all, [&](int64_t z) { return z != all[0]; })) {
    return std::nullopt;
  }
  return static_cast<int32_t>(all[0]);
}

std::string_view StepsName(QuadSteps steps) {
  switch (steps) {
    case QuadSteps::kOne:
      return "one at a time";
    case QuadSteps::kTwo:
      return "two at a time";
    case QuadSteps::kWide:
      return "in 32 bits";
  }
  return "";
}

int64_t CountRests(const BoundedWeights::Shape& shape, const BoundedWeights::ReadLine& read,
                   QuadSteps steps, int64_t most) {
  int64_t rests = 0;
  Line line(shape.quads);
  for (int64_t i = 0; i < shape.lines && rests <= most; ++i) {
    read(i, line.data());
    line.Bound(steps, [&](int64_t, int32_t) { ++rests; });
  }
  return rests;
}

}  // namespace

void BoundSum(std::span<int32_t> weights) {
  for (int32_t& weight : weights) weight = std::clamp(weight, -128, 127);
  const auto left = [&](int32_t sign) {
    int32_t sum = -kMostOfPair;
    for (const int32_t weight : weights) sum += std::max(weight * sign, 0);
    return sum;
  };
  for (const int32_t sign : {1, -1}) {
    for (int32_t over = left(sign); over > 0; over = left(sign)) {
      const auto largest =
          std::ranges::max_element(weights, {}, [&](int32_t weight) { return weight * sign; });
      *largest -= sign * std::min(over, *largest * sign);
    }
  }
}

int64_t BoundedWeights::Lines() const {
  return shape_.columns || shape_.tiles ? ColumnGroups(shape_.lines) * kGroupColumns : shape_.lines;
}

int64_t BoundedWeights::Quads() const {
  return shape_.tiles ? WholeTileQuads(shape_.quads) : shape_.quads;
}

int64_t BoundedWeights::PlaceOf(int64_t line) const {
  if (shape_.columns) {
    return line / kGroupColumns * kGroupColumns * Quads() + line % kGroupColumns;
  }
  return shape_.tiles ? RowTilePlace(line, 0, Quads()) : line * Quads();
}

// The way to bound weights that leaves the fewest rests aside; nothing where these are too many.
struct BoundedWeights::Bounding {
  QuadSteps steps = QuadSteps::kOne;
  int64_t rests = 0;

  static std::optional<Bounding> Of(const TensorInfo& weights, const Shape& shape,
                                    const ReadLine& read) {
    const bool wide = shape.tiles || SumsQuadsWide();
    if (weights.assumed) return Bounding{.steps = wide ? QuadSteps::kWide : QuadSteps::kOne};
    const auto bounding = [&](QuadSteps steps, int64_t weights_per_rest) {
      const int64_t most = weights.elements() / weights_per_rest;
      const int64_t rests = CountRests(shape, read, steps, most);
      return rests <= most ? std::optional(Bounding{steps, rests}) : std::nullopt;
    };
    if (wide) return bounding(QuadSteps::kWide, kWeightsPerRest);
    if (!shape.columns) {
      const std::optional<Bounding> two = bounding(QuadSteps::kTwo, kWeightsPerRestOfTwo);
      if (two) return two;
    }
    return bounding(QuadSteps::kOne, kWeightsPerRest);
  }
};

Result<std::optional<BoundedWeights>> BoundedWeights::Pack(
    const KernelSite& site, size_t weights, size_t zeros, const Shape& shape,
    const std::string& order, const std::function<ReadLine(int32_t zero)>& read) {
  const TensorInfo& tensor = site.inputs[weights];
  const std::optional<int32_t> zero = OneZero(site, zeros);
  const bool possible = zero && tensor.constant && site.packed_weights != nullptr &&
                        shape.quads > 0 && shape.quads * 4 <= kMostDepth && shape.lines > 0;
  if (!possible) return std::optional<BoundedWeights>();
  const ReadLine line = read(*zero);
  BoundedWeights made;
  made.shape_ = shape;
  const std::optional<Bounding> bounding = Bounding::Of(tensor, shape, line);
  if (!bounding) return std::optional<BoundedWeights>();
  made.steps_ = bounding->steps;
  const Bytes size = made.QuadBytes() + Bytes(made.Lines() * 2 + 1 + bounding->rests) * 4;
  if (!site.packed_weights->Wants(tensor.data, tensor.size(), size, Bytes())) {
    return std::optional<BoundedWeights>();
  }
  const auto fill = [&](void* packed) {
    made.Fill(line, packed);
    return Status();
  };
  PLIMSOLL_ASSIGN(made.packed_,
                  site.packed_weights->Pack(
                      tensor.data, tensor.size(),
                      StrCat("bounded ", order, shape.columns ? " columns of " : " rows of ",
                             shape.quads, " quads", shape.tiles ? " in tiles" : "", ", ",
                             StepsName(made.steps_), ", zero ", *zero),
                      size, fill));
  return std::optional(made);
}

void BoundedWeights::Fill(const ReadLine& read, void* packed) const {
  auto* const quads = static_cast<int32_t*>(packed);
  int32_t* const sums = quads + Lines() * Quads();
  int32_t* const first = sums + Lines();
  auto* const rests = reinterpret_cast<WeightRest*>(first + Lines() + 1);
  int32_t count = 0;
  const int64_t step = shape_.columns ? kGroupColumns : 1;
  // From the end of a row's part of a tile to its part of the next.
  const int64_t tile_step = shape_.tiles && !shape_.columns ? kTileQuads * (kTileQuads - 1) : 0;
  Line line(Quads());
  for (int64_t i = 0; i < Lines(); ++i) {
    if (i < shape_.lines) {
      read(i, line.data());
    } else {
      std::fill_n(line.data(), shape_.quads * 4, int16_t{0});
    }
    sums[i] = 0;
    for (const int16_t element : line.elements()) sums[i] += element;
    first[i] = count;
    line.Bound(steps_, [&](int64_t place, int32_t value) {
      rests[count++] = {static_cast<uint16_t>(place), static_cast<int16_t>(value)};
    });
    const int16_t* from = line.data();
    int32_t* to = quads + PlaceOf(i);
    for (int64_t q = 0; q < Quads(); ++q, from += 4, to += step) {
      if (q != 0 && q % kTileQuads == 0) to += tile_step;
      const auto byte = [&](int k) { return static_cast<uint32_t>(from[k] & 0xff) << (8 * k); };
      *to = q >= shape_.quads ? 0 : static_cast<int32_t>(byte(0) | byte(1) | byte(2) | byte(3));
    }
  }
  first[Lines()] = count;
}

QuadWeights BoundedWeights::At(int64_t line) const {
  const auto* const quads = static_cast<const int32_t*>(packed_);
  const int32_t* const first = quads + Lines() * Quads() + Lines();
  return {.steps = steps_,
          .quads = quads + line * Quads(),
          .first_rest = first + line,
          .rests = reinterpret_cast<const WeightRest*>(first + Lines() + 1)};
}

const int32_t* BoundedWeights::sums() const {
  return static_cast<const int32_t*>(packed_) + Lines() * Quads();
}

}  // namespace plimsoll::kernels::cpu
