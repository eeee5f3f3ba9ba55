#pragma once

#include <array>
#include <map>
#include <string_view>

#include "onnx/wire/records.h"
#include "onnx/wire/source.h"
#include "plimsoll/base/status.h"

namespace plimsoll::onnx {

// Operators that ONNX Runtime saves at its level "all": convolutions and pools whose data lies in
// blocks of channels, [N, C/b, H, W, b], under the shape [N, C, H, W], C filled up to whole blocks.
inline constexpr std::string_view kBlockedDomain = "com.microsoft.nchwc";

// What such a node means where no data lies in blocks.
struct BlockedNode {
  int64_t block = 0;
  // Of a Conv: the constant's dimensions, and whether input channels lie in blocks inside the
  // output's: [O/b, I/b, H, W, b, b] or [O/b, I, H, W, b].
  std::array<int64_t, 4> filter = {};
  bool blocks_of_inputs = false;
  bool depthwise = false;
  // Channels that are more than filling; 0: all. Of a ReorderInput the second is what it makes.
  int64_t input_channels = 0;
  int64_t output_channels = 0;
};

// Those nodes of a model, told from its graphs and weights. Filling is left out: channels that
// every convolution ignores and that no ReorderOutput hands on. The size of a block is what channel
// counts allow or a Reshape says; of several, the one that the weights tell (LikeliestBlock);
// and where weights do not tell either, what ONNX Runtime takes on this processor, as the file
// promises that it is read where it was written (a warning says so).
//
// Fails where no size of a block fits, where a filter is no constant, and where an operator that
// mixes places reads blocks. Cost: a pass over the nodes of graphs that have such operators, and
// over some of their weights.
class ChannelBlocks {
 public:
  static Result<ChannelBlocks> Find(const Source& source, const ModelRecord& model);

  // Null where the node is none of them.
  const BlockedNode* Of(const NodeRecord& node) const;

 private:
  std::map<const NodeRecord*, BlockedNode> nodes_;
};

}  // namespace plimsoll::onnx
