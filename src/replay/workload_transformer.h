#pragma once

#include <cstdint>
#include <vector>

#include "replay/trace_builder.h"

namespace plimsoll::replay {

// What a transformer that is trained asks for. Sizes in elements; `element` bytes each.
struct TransformerShape {
  int64_t layers = 0;
  int64_t width = 0;
  int64_t inner = 0;     // of the feed-forward part
  int64_t kv_width = 0;  // of the keys and of the values
  int64_t heads = 0;
  int64_t vocabulary = 0;
  int64_t experts = 0;  // 0: one feed-forward part
  int64_t chosen = 0;   // experts for each token
  int64_t element = 2;
  int64_t weight_element = 2;  // 4: mixed precision, weights are cast for each use
  int64_t rank = 0;            // of adapters; 0: every weight is trained
  bool checkpoints = false;

  static TransformerShape Draw(Draws& draws, int64_t most_weights);
  int64_t Weights() const;
};

class TransformerTraining {
 public:
  TransformerTraining(TraceBuilder& trace, const TransformerShape& shape);

  void Load();
  // One batch: forwards, backwards. Gradients stay.
  void Batch(int64_t sequences, int64_t length);
  // The optimizer; the first time it makes its state. Then the gradients go.
  void Update();

 private:
  struct Layer {
    std::vector<int64_t> weights;    // elements of those that are trained
    std::vector<BlockId> gradients;  // one for each, once there are any
  };
  using Blocks = std::vector<BlockId>;

  void AddLayerWeights(Layer& layer, bool feed_forward);
  // Each returns the new residual; what the backward pass needs goes to `saved`.
  BlockId Forward(BlockId input, Blocks& saved);
  BlockId Attention(BlockId input, Blocks& saved);
  BlockId FeedForward(BlockId input, Blocks& saved);
  BlockId Experts(BlockId input, Blocks& saved);
  void Route();
  void BackwardLayer(size_t layer, Blocks& saved, BlockId& gradient);
  void BackwardExperts(Blocks& saved);
  void Gradients(Layer& layer);
  BlockId Activation(int64_t columns) {
    return trace_.Allocate(tokens_ * columns * shape_.element);
  }
  void Cast(int64_t elements);

  TraceBuilder& trace_;
  const TransformerShape shape_;
  std::vector<Layer> layers_;  // the last one: embedding and head
  bool has_state_ = false;
  int64_t tokens_ = 0;                        // of the batch at hand
  std::vector<int64_t> routed_;               // tokens for each expert of the layer at hand
  std::vector<std::vector<int64_t>> routes_;  // by layer, for computing it again and backwards
};

}  // namespace plimsoll::replay
