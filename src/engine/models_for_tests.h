#pragma once

#include <string>

#include "engine/session_for_tests.h"

// Small networks of the kinds that real models are made of.
namespace plimsoll::engine {

constexpr int64_t kModelWidth = 32;

inline graph::ValueId RandomWeights(graph::GraphBuilder& builder, const std::string& name,
                                    Ints dims, uint32_t seed) {
  std::vector<float> elements = ElementsOf(Random(dims, seed));
  for (float& element : elements) element *= 0.3F;
  return builder.Float32s(name, std::move(dims), elements);
}

// Convolutions with and without normalisation, groups and residual, pools of every kind, a gate, a
// concatenation and a classifier: x[1,3,20,20] gives [1,10].
inline graph::Graph ConvolutionalNetwork() {
  graph::GraphBuilder builder;
  using graph::ValueId;
  const ValueId x = builder.Input("x", compile::FloatTensor({1, 3, 20, 20}));
  uint32_t seed = 1;
  const auto conv = [&](ValueId value, Ints weights, int64_t groups = 1) {
    graph::Attributes attributes = compile::With("group", groups);
    const int64_t pad = weights[2] / 2;
    attributes.Set("pads", Ints{pad, pad, pad, pad});
    const std::string name = "w" + std::to_string(seed);
    return builder.Node("Conv", {value, RandomWeights(builder, name, std::move(weights), seed++)},
                        std::move(attributes));
  };
  const auto window = [&](const char* op, ValueId value) {
    graph::Attributes attributes = compile::With("kernel_shape", Ints{3, 3});
    attributes.Set("strides", Ints{2, 2});
    attributes.Set("pads", Ints{1, 1, 1, 1});
    return builder.Node(op, {value}, std::move(attributes));
  };
  const ValueId ones = builder.Float32s("ones", {16}, std::vector<float>(16, 1));
  const ValueId shift = RandomWeights(builder, "shift", {16}, 99);
  ValueId y = conv(x, {16, 3, 3, 3});
  y = builder.Node("Relu", {builder.Node("BatchNormalization", {y, ones, shift, shift, ones})});
  const ValueId pooled = window("MaxPool", y);
  const ValueId deep = builder.Node("HardSwish", {conv(pooled, {16, 1, 3, 3}, 16)});
  const ValueId mean = builder.Node("GlobalAveragePool", {deep});
  const ValueId gate = builder.Node("Sigmoid", {conv(mean, {16, 16, 1, 1})});
  const ValueId gated = builder.Node("Mul", {deep, gate});
  const ValueId sum = builder.Node("Add", {conv(gated, {16, 16, 3, 3}), pooled});
  const ValueId left = window("AveragePool", builder.Node("Relu", {sum}));
  const ValueId right = window("MaxPool", conv(sum, {8, 16, 1, 1}));
  const ValueId both = builder.Node("Concat", {left, right}, compile::With("axis", int64_t{1}));
  const ValueId flat = builder.Node("Flatten", {both});
  builder.Output(builder.Node("Gemm", {flat, RandomWeights(builder, "head", {600, 10}, 77),
                                       RandomWeights(builder, "bias", {10}, 78)}));
  return builder.Build();
}

// Attention with four heads, a feed-forward part and normalisations, as exporters write them, then
// a softmax: x[batch,rows,32] gives the same shape.
inline graph::Graph TransformerLayer(const graph::Dim& batch, const graph::Dim& rows) {
  graph::GraphBuilder builder;
  using graph::ValueId;
  const ValueId x = builder.Input("x", compile::FloatTensor({batch, rows, kModelWidth}));
  const auto product = [&](const std::string& name, ValueId value, int64_t from, int64_t to) {
    const ValueId weights =
        RandomWeights(builder, name, {from, to}, static_cast<uint32_t>(name.size() + from + to));
    const ValueId bias = RandomWeights(builder, name + "_bias", {to}, 5);
    return builder.Node("Add", {builder.Node("MatMul", {value, weights}), bias});
  };
  const auto norm = [&](const std::string& name, ValueId value) {
    return builder.Node("LayerNormalization",
                        {value, RandomWeights(builder, name, {kModelWidth}, 6),
                         RandomWeights(builder, name + "_bias", {kModelWidth}, 7)});
  };
  const auto heads = [&](const std::string& name, ValueId value) {
    const ValueId split =
        builder.Node("Reshape", {product(name, value, kModelWidth, kModelWidth),
                                 builder.Int64s(name + "_shape", {0, 0, 4, kModelWidth / 4})});
    return builder.Node("Transpose", {split}, compile::With("perm", Ints{0, 2, 1, 3}));
  };
  const ValueId normed = norm("norm", x);
  const ValueId q = heads("q", normed);
  const ValueId k =
      builder.Node("Transpose", {heads("keys", normed)}, compile::With("perm", Ints{0, 1, 3, 2}));
  const ValueId v = heads("values", normed);
  ValueId scores = builder.Node("MatMul", {q, k});
  scores = builder.Node("Mul", {scores, builder.Float32s("scale", {}, {0.35F})});
  scores = builder.Node("Softmax", {scores}, compile::With("axis", int64_t{-1}));
  ValueId y = builder.Node("Transpose", {builder.Node("MatMul", {scores, v})},
                           compile::With("perm", Ints{0, 2, 1, 3}));
  y = builder.Node("Reshape", {y, builder.Int64s("joined", {0, 0, kModelWidth})});
  y = builder.Node("Add", {x, product("out", y, kModelWidth, kModelWidth)});
  ValueId wide = product("up", norm("second_norm", y), kModelWidth, 4 * kModelWidth);
  wide = builder.Node("Gelu", {wide});
  y = builder.Node("Add", {y, product("down", wide, 4 * kModelWidth, kModelWidth)});
  y = builder.Node("Mul", {y, builder.Node("Tanh", {builder.Node("Exp", {y})})});
  builder.Output(builder.Node("Softmax", {y}, compile::With("axis", int64_t{-1})));
  return builder.Build();
}

}  // namespace plimsoll::engine
