#include "replay/workload_transformer.h"

#include <cmath>

namespace plimsoll::replay {

TransformerShape TransformerShape::Draw(Draws& draws, int64_t most_weights) {
  TransformerShape shape;
  do {
    shape.width = draws.Of<int64_t>({768, 1024, 1280, 1536, 2048, 2560, 3072, 4096});
    shape.layers = draws.Between(6, 32);
    shape.inner = draws.Chance(0.5) ? shape.width * 4 : (shape.width * 8 / 3 + 255) / 256 * 256;
    shape.heads = shape.width / draws.Of<int64_t>({64, 128});
    shape.kv_width = shape.width / draws.Of<int64_t>({1, 1, 4});
    shape.vocabulary = draws.Of<int64_t>({32000, 50304, 65024, 128256});
    shape.weight_element = draws.Chance(0.3) ? 4 : 2;
  } while (shape.Weights() > most_weights || shape.Weights() * 4 < most_weights / 4);
  return shape;
}

int64_t TransformerShape::Weights() const {
  const int64_t attention = width * (2 * width + 2 * kv_width);
  const int64_t forward = std::max<int64_t>(experts, 1) * 3 * width * inner;
  return layers * (attention + forward) + 2 * vocabulary * width;
}

TransformerTraining::TransformerTraining(TraceBuilder& trace, const TransformerShape& shape)
    : trace_(trace), shape_(shape) {}

void TransformerTraining::Load() {
  for (int64_t i = 0; i <= shape_.layers; ++i) {
    const int64_t d = shape_.width;
    std::vector<int64_t> weights;
    if (i == shape_.layers) {
      weights = {shape_.vocabulary * d, d, shape_.vocabulary * d};
    } else {
      weights = {d, d * d, d * shape_.kv_width, d * shape_.kv_width, d * d, d};
      for (int64_t e = 0; e < std::max<int64_t>(shape_.experts, 1); ++e) {
        weights.insert(weights.end(), {d * shape_.inner, d * shape_.inner, d * shape_.inner});
      }
      if (shape_.experts > 0) weights.push_back(d * shape_.experts);
    }
    for (int64_t elements : weights) trace_.Load(elements * shape_.weight_element);
    Layer layer;
    if (shape_.rank == 0) {
      layer.weights = weights;
    } else if (i < shape_.layers) {
      for (int64_t columns : {d, d, shape_.kv_width, d}) {
        layer.weights.push_back(shape_.rank * d);
        layer.weights.push_back(shape_.rank * columns);
      }
      for (int64_t elements : layer.weights) trace_.Load(elements * 4);
    }
    layers_.push_back(std::move(layer));
  }
}

void TransformerTraining::Cast(int64_t elements) {
  if (shape_.weight_element != shape_.element) trace_.Temporary(elements * shape_.element);
}

BlockId TransformerTraining::Attention(BlockId input, Blocks& saved) {
  const int64_t d = shape_.width;
  trace_.Temporary(tokens_ * d * 4);  // the norm computes in float
  saved.push_back(trace_.Allocate(tokens_ * 4));
  saved.push_back(Activation(d));
  Blocks projected;
  for (int64_t columns : {d, shape_.kv_width, shape_.kv_width}) {
    Cast(d * columns);
    projected.push_back(Activation(columns));
    if (shape_.rank > 0) {
      saved.push_back(Activation(shape_.rank));
      trace_.Temporary(tokens_ * columns * shape_.element);
    }
  }
  for (int64_t columns : {d, shape_.kv_width}) {  // turned by position
    trace_.Temporary(tokens_ * columns * shape_.element / 2);
    saved.push_back(Activation(columns));
  }
  trace_.Free(projected[0]);
  trace_.Free(projected[1]);
  saved.push_back(projected[2]);
  saved.push_back(Activation(d));
  saved.push_back(trace_.Allocate(tokens_ * shape_.heads * 4));
  trace_.Work(0, 8.0 * static_cast<double>(tokens_ * d * d));
  const BlockId out = Activation(d);
  const BlockId sum = Activation(d);
  trace_.Free(out);
  saved.push_back(input);
  return sum;
}

BlockId TransformerTraining::FeedForward(BlockId input, Blocks& saved) {
  if (shape_.experts > 0) return Experts(input, saved);
  trace_.Temporary(tokens_ * shape_.width * 4);
  saved.push_back(trace_.Allocate(tokens_ * 4));
  saved.push_back(Activation(shape_.width));
  for (int i = 0; i < 4; ++i) {  // gate, its activation, up, product
    if (i % 2 == 0) Cast(shape_.width * shape_.inner);
    saved.push_back(Activation(shape_.inner));
  }
  trace_.Work(0, 6.0 * static_cast<double>(tokens_ * shape_.width * shape_.inner));
  const BlockId out = Activation(shape_.width);
  const BlockId sum = Activation(shape_.width);
  trace_.Free(out);
  saved.push_back(input);
  return sum;
}

void TransformerTraining::Route() {
  std::vector<double> shares;
  double sum = 0;
  for (int64_t e = 0; e < shape_.experts; ++e) {
    shares.push_back(std::pow(trace_.draws.Fraction() + 0.02, 1.5));
    sum += shares.back();
  }
  routed_.clear();
  for (double share : shares) {
    const auto tokens =
        static_cast<int64_t>(share / sum * static_cast<double>(tokens_ * shape_.chosen));
    routed_.push_back(std::min(tokens, tokens_));
  }
}

BlockId TransformerTraining::Experts(BlockId input, Blocks& saved) {
  const int64_t d = shape_.width;
  trace_.Temporary(tokens_ * d * 4);
  saved.push_back(Activation(d));
  saved.push_back(trace_.Allocate(tokens_ * shape_.experts * 4));  // router
  saved.push_back(trace_.Allocate(tokens_ * shape_.chosen * 4));
  saved.push_back(trace_.Allocate(tokens_ * shape_.chosen * 8));
  const BlockId mask = trace_.Allocate(tokens_ * shape_.chosen * shape_.experts * 8);
  const BlockId sum = Activation(d);
  for (int64_t tokens : routed_) {
    const BlockId found = trace_.Allocate(tokens * 16);
    if (tokens == 0) {
      trace_.Free(found);
      continue;
    }
    saved.push_back(found);
    saved.push_back(trace_.Allocate(tokens * d * shape_.element));
    for (int i = 0; i < 4; ++i) {
      saved.push_back(trace_.Allocate(tokens * shape_.inner * shape_.element));
    }
    trace_.Work(0, 6.0 * static_cast<double>(tokens * d * shape_.inner));
    saved.push_back(trace_.Allocate(tokens * d * shape_.element));
    trace_.Temporary(tokens * d * shape_.element);
  }
  trace_.Free(mask);
  saved.push_back(input);
  return sum;
}

BlockId TransformerTraining::Forward(BlockId input, Blocks& saved) {
  if (shape_.experts > 0) routed_ = routes_.back();
  return FeedForward(Attention(input, saved), saved);
}

void TransformerTraining::Gradients(Layer& layer) {
  const bool first = layer.gradients.empty();
  for (int64_t elements : layer.weights) {
    const int64_t bytes = elements * shape_.weight_element;
    if (first) {
      layer.gradients.push_back(trace_.Allocate(bytes));
    } else {
      trace_.Temporary(bytes);  // added to what is there
    }
  }
}

void TransformerTraining::BackwardLayer(size_t layer, Blocks& saved, BlockId& gradient) {
  const int64_t d = shape_.width;
  if (shape_.experts > 0) {
    BackwardExperts(saved);
  } else {
    for (int64_t columns : {shape_.inner, shape_.inner, shape_.inner, d}) {
      const BlockId flows = Activation(columns);
      trace_.Temporary(tokens_ * columns * shape_.element);
      trace_.Free(flows);
      if (!saved.empty()) {
        trace_.Free(saved.back());
        saved.pop_back();
      }
    }
  }
  trace_.Work(0, 12.0 * static_cast<double>(tokens_ * d * (2 * d + 3 * shape_.inner)));
  const BlockId through = Activation(d);
  trace_.Temporary(tokens_ * d * 4);
  trace_.Free(gradient);
  Blocks flows;
  for (int64_t columns : {d, shape_.kv_width, shape_.kv_width})
    flows.push_back(Activation(columns));
  gradient = Activation(d);
  trace_.Free(flows);
  trace_.Free(through);
  while (!saved.empty()) {
    trace_.Free(saved.back());
    saved.pop_back();
  }
  Gradients(layers_[layer]);
}

void TransformerTraining::BackwardExperts(Blocks& saved) {
  for (auto tokens = routed_.rbegin(); tokens != routed_.rend(); ++tokens) {
    if (*tokens == 0) continue;
    Blocks flows;
    for (int i = 0; i < 3; ++i) {
      flows.push_back(trace_.Allocate(*tokens * shape_.inner * shape_.element));
      if (saved.size() > 6) {
        trace_.Free(saved.back());
        saved.pop_back();
      }
    }
    trace_.Temporary(*tokens * shape_.width * shape_.element);
    trace_.Free(flows);
  }
}

void TransformerTraining::Batch(int64_t sequences, int64_t length) {
  tokens_ = sequences * length;
  routes_.clear();
  const BlockId ids = trace_.Allocate(tokens_ * 8);
  BlockId stream = Activation(shape_.width);
  std::vector<Blocks> saved(static_cast<size_t>(shape_.layers));
  for (Blocks& of_layer : saved) {
    if (shape_.experts > 0) {
      Route();
      routes_.push_back(routed_);
    }
    if (!shape_.checkpoints) {
      stream = Forward(stream, of_layer);
      continue;
    }
    Blocks inside;
    const BlockId input = stream;
    stream = Forward(stream, inside);
    std::erase(inside, input);
    trace_.Free(inside);
    of_layer.push_back(input);
  }
  const int64_t logits = tokens_ * shape_.vocabulary;
  const BlockId normed = Activation(shape_.width);
  Blocks head{normed, Activation(shape_.vocabulary), trace_.Allocate(logits * 4)};
  trace_.Work(0, 6.0 * static_cast<double>(logits * shape_.width));
  head.push_back(trace_.Allocate(logits * 4));
  const BlockId loss = trace_.Allocate(4);
  trace_.Synchronize();
  BlockId gradient = trace_.Allocate(logits * 4);
  trace_.Free(head.back());
  head.pop_back();
  const BlockId cast = Activation(shape_.vocabulary);
  trace_.Free(gradient);
  gradient = Activation(shape_.width);
  Gradients(layers_.back());
  trace_.Free(cast);
  trace_.Free(head);
  trace_.Free(stream);
  for (size_t layer = saved.size(); layer-- > 0;) {
    if (shape_.experts > 0) routed_ = routes_[layer];
    if (shape_.checkpoints) {
      const BlockId input = saved[layer].back();
      saved[layer].clear();
      if (shape_.experts > 0) routes_.resize(layer + 1);
      trace_.Free(Forward(input, saved[layer]));
    }
    BackwardLayer(layer, saved[layer], gradient);
  }
  for (BlockId block : {gradient, loss, ids}) trace_.Free(block);
}

void TransformerTraining::Update() {
  const auto for_weights = [&](auto visit) {
    for (Layer& layer : layers_) {
      for (int64_t elements : layer.weights) visit(elements * shape_.weight_element);
    }
  };
  if (!has_state_) {
    for_weights([&](int64_t bytes) {
      trace_.Allocate(4);
      trace_.Allocate(bytes);
      trace_.Allocate(bytes);
    });
  }
  has_state_ = true;
  Blocks roots;
  for_weights([&](int64_t bytes) { roots.push_back(trace_.Allocate(bytes)); });
  trace_.Free(roots);
  for (Layer& layer : layers_) trace_.Free(layer.gradients);
  trace_.Synchronize();
}

}  // namespace plimsoll::replay
