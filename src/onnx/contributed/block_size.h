#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>

#include "graph/tensor.h"

namespace plimsoll::onnx {

// A constant filter whose elements lie as [O/b, I/b, H, W, b, b] or [O/b, I, H, W, b], the last
// axis the outputs of a block. Outputs, and inputs where they lie in blocks, are filled up to
// whole blocks with zeros.
struct BlockedFilter {
  const graph::ConstantTensor* tensor = nullptr;
  std::array<int64_t, 4> dims = {};  // O, I, H, W
  bool blocks_of_inputs = false;
};

// Channels of a filter that are more than filling, if a block has that many. All of them where the
// data is missing.
struct UsedChannels {
  int64_t outputs = 0;
  int64_t inputs = 0;
};
UsedChannels UsedOf(const BlockedFilter& filter, int64_t block);

// Which of the sizes the filters were written in. Told by the filling: the size that explains more
// zeros than any other. Else by the weights: trained ones of one output have a spread of their own,
// and those of one input and tap too, so that they are likeliest in the right order. Nothing where
// what the sizes differ by may be chance.
std::optional<int64_t> LikeliestBlock(std::span<const int64_t> sizes,
                                      std::span<const BlockedFilter> filters);

// The size that ONNX Runtime writes and expects on this processor.
int64_t BlockOfThisProcessor();

}  // namespace plimsoll::onnx
