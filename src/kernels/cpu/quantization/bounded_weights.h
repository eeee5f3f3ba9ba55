#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>

#include "kernels/cpu/quantization/byte_quads.h"
#include "kernels/kernel.h"

namespace plimsoll::kernels::cpu {

// Lessens weights so that the sum of their products with any unsigned bytes is a 16-bit number, and
// each is a signed byte.
void BoundSum(std::span<int32_t> weights);

// Constant 8-bit weights, less their zero point, packed for products of quads (byte_quads.h). Where
// 16 bits might not hold the sum of some products the largest weight of them is lessened and what
// is missing is kept aside; such are few where weights are distributed as trained ones are.
class BoundedWeights {
 public:
  // Of lines (filters, columns of a matrix) of `quads` quads each.
  struct Shape {
    int64_t lines = 0;
    int64_t quads = 0;
    bool columns = false;  // lines are columns of groups, else rows
    bool tiles = false;    // for products by tiles (byte_tiles.h): rows as tiles, or whole steps
  };
  // Elements of a line in the order of the depth, `quads` * 4 of them, 0 where there is none, less
  // their zero point.
  using ReadLine = std::function<void(int64_t line, int16_t* elements)>;

  // Nothing where the site packs nothing, the weights or their zero points are not constant, zero
  // points differ, or too many weights would have to be lessened. `order` tells the order of the
  // depth from every other. `read` is asked for lines with the zero point that it has to take off.
  static Result<std::optional<BoundedWeights>> Pack(
      const KernelSite& site, size_t weights, size_t zeros, const Shape& shape,
      const std::string& order, const std::function<ReadLine(int32_t zero)>& read);

  // From a line on; of columns and of tiles, one that begins a group of kGroupColumns.
  QuadWeights At(int64_t line) const;
  // The sum of each line.
  const int32_t* sums() const;

 private:
  struct Bounding;
  int64_t Lines() const;                // columns and tiles: of all groups
  int64_t Quads() const;                // tiles: of all steps
  int64_t PlaceOf(int64_t line) const;  // of its first quad
  Bytes QuadBytes() const { return Bytes(Lines() * Quads()) * 4; }
  void Fill(const ReadLine& read, void* packed) const;

  Shape shape_;
  QuadSteps steps_ = QuadSteps::kOne;
  const void* packed_ = nullptr;  // quads, sums, first rests, rests
};

}  // namespace plimsoll::kernels::cpu
