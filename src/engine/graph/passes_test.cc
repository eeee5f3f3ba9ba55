#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <random>

#include "compile/graph_for_tests.h"
#include "compile/passes/compact.h"
#include "compile/passes/pass.h"
#include "compile/passes/slices/slice_regions.h"
#include "compile/shapes/shapes.h"
#include "engine/node_by_node/interpreter.h"
#include "onnx/model_reader.h"

// A graph gives the same results before and after the passes.
namespace plimsoll::engine {
namespace passes_test {

using compile::FloatTensor;
using compile::With;
using graph::Attributes;
using graph::DataType;
using graph::Dim;
using graph::Graph;
using graph::GraphBuilder;
using graph::ValueId;
using kernels::HostTensor;
using kernels::HostValue;

using Ints = std::vector<int64_t>;
using Symbols = std::map<std::string, int64_t>;

std::vector<float> RandomFloats(size_t count, uint32_t seed, float scale = 1) {
  std::mt19937 random(seed);
  std::vector<float> floats(count);
  for (float& element : floats) {
    element = scale * (static_cast<float>(random() % 2001) / 1000.0F - 1.0F);
  }
  return floats;
}

// Floats in [-1, 1]; integers 0 and 1, which are good indices and masks everywhere.
HostValue RandomValue(const graph::ValueType& type, uint32_t seed) {
  HostTensor tensor = *kernels::AllocateOnHeap(type.data_type, StaticDims(*type.shape));
  const auto count = static_cast<size_t>(tensor.elements());
  if (type.data_type == DataType::kFloat32) {
    const std::vector<float> floats = RandomFloats(count, seed);
    std::copy(floats.begin(), floats.end(), static_cast<float*>(tensor.data.get()));
  } else {
    std::mt19937 random(seed);
    auto* bytes = static_cast<unsigned char*>(tensor.data.get());
    const auto width = static_cast<size_t>(graph::Bits(type.data_type) / 8);
    std::fill(bytes, bytes + count * width, 0);
    for (size_t i = 0; i < count; ++i) bytes[i * width] = random() % 2;
  }
  return HostValue::Of(std::move(tensor));
}

std::vector<HostValue> RandomInputs(const Graph& graph, const Symbols& symbols) {
  std::vector<HostValue> inputs;
  for (const ValueId input : graph.root().inputs) {
    graph::ValueType type = graph[input].type;
    ForEachDim(type, [&](Dim& dim) {
      dim = dim.Substitute([&](const std::string& name) { return Dim(symbols.at(name)); });
    });
    inputs.push_back(RandomValue(type, static_cast<uint32_t>(input.index())));
  }
  return inputs;
}

std::vector<HostValue> MustRun(const Graph& graph, const std::vector<HostValue>& inputs) {
  auto outputs = Interpreter(graph).Run(inputs, {});
  EXPECT_TRUE(outputs.ok()) << (outputs.ok() ? "" : outputs.error().Text());
  return outputs.ok() ? *outputs : std::vector<HostValue>();
}

// Relative L2 error of floats; other types must be equal.
void ExpectClose(const HostTensor& got, const HostTensor& expected, const std::string& name) {
  ASSERT_EQ(got.type, expected.type) << name;
  ASSERT_EQ(got.dims, expected.dims) << name;
  const std::vector<double> left = kernels::ToConstant(got).Doubles();
  const std::vector<double> right = kernels::ToConstant(expected).Doubles();
  double error = 0;
  double norm = 1e-12;
  for (size_t i = 0; i < left.size(); ++i) {
    ASSERT_EQ(std::isnan(left[i]), std::isnan(right[i])) << name << " at " << i;
    if (std::isnan(left[i]) || left[i] == right[i]) continue;
    error += (left[i] - right[i]) * (left[i] - right[i]);
    norm += right[i] * right[i];
  }
  EXPECT_LT(std::sqrt(error / norm), 1e-4) << name;
}

using Pass = Status (*)(Graph&, compile::FusionCounts&);

Status SimplifyForHost(Graph& graph, compile::FusionCounts& counts) {
  return compile::Simplify(graph, counts);
}

Status Specialise(Graph& graph, compile::FusionCounts& counts) {
  PLIMSOLL_TRY(compile::Simplify(graph, counts));
  return ChooseLayouts(graph, compile::GroupedChannels::kWherePossible, counts).status();
}

// Gives the graph after the pass.
Graph ExpectSameResults(const Graph& before, Pass pass, const Symbols& symbols = {}) {
  Graph after = before;
  compile::FusionCounts counts;
  const Status done = pass(after, counts);
  EXPECT_TRUE(done.ok()) << (done.ok() ? "" : done.error().Text());
  const std::vector<HostValue> inputs = RandomInputs(before, symbols);
  const std::vector<HostValue> expected = MustRun(before, inputs);
  const std::vector<HostValue> got = MustRun(after, inputs);
  EXPECT_EQ(got.size(), expected.size());
  for (size_t i = 0; i < std::min(got.size(), expected.size()); ++i) {
    const ValueId output = before.root().outputs[i];
    EXPECT_EQ(after[after.root().outputs[i]].name, before[output].name);
    ExpectClose(got[i].tensor, expected[i].tensor, before[output].name);
  }
  return after;
}

ValueId Weights(GraphBuilder& builder, const std::string& name, Ints dims, float scale = 1) {
  const auto count = static_cast<size_t>(kernels::ElementCount(dims));
  return builder.Float32s(name, std::move(dims),
                          RandomFloats(count, std::hash<std::string>()(name) & 0xffff, scale));
}

Attributes ConvAttributes() {
  Attributes attributes = With("pads", Ints{1, 1, 1, 1});
  attributes.Set("kernel_shape", Ints{3, 3});
  return attributes;
}

TEST(PassesTest, AConvolutionTakesInNormalisationResidualAndActivation) {
  GraphBuilder builder;
  const ValueId x = builder.Input("x", FloatTensor({2, 3, 9, 7}));
  const ValueId shortcut = builder.Input("s", FloatTensor({2, 20, 9, 7}));
  ValueId y = builder.Node("Conv", {x, Weights(builder, "w", {20, 3, 3, 3})}, ConvAttributes());
  const ValueId variance = builder.Float32s("v", {20}, std::vector<float>(20, 0.7F));
  y = builder.Node("BatchNormalization",
                   {y, Weights(builder, "scale", {20}), Weights(builder, "shift", {20}),
                    Weights(builder, "mean", {20}), variance});
  y = builder.Node("Mul", {y, Weights(builder, "factor", {20, 1, 1})});
  y = builder.Node("Add", {Weights(builder, "bias", {1, 20, 1, 1}), y});
  y = builder.Node("Add", {shortcut, y});
  builder.Output(builder.Node("LeakyRelu", {y}, With("alpha", 0.2)));
  const Graph after = ExpectSameResults(compile::Inferred(builder), SimplifyForHost);
  EXPECT_EQ(compile::OperatorsOf(after), "plimsoll::FusedConv");
}

TEST(PassesTest, ActivationsWrittenOutGoIntoTheConvolutionBeforeThem) {
  GraphBuilder builder;
  const ValueId x = builder.Input("x", FloatTensor({1, 4, 6, 6}));
  ValueId y = builder.Node("Conv", {x, Weights(builder, "w", {8, 4, 3, 3})}, ConvAttributes());
  y = builder.Node("Mul", {y, builder.Node("Sigmoid", {y})});
  y = builder.Node("Conv", {y, Weights(builder, "v", {8, 8, 3, 3})}, ConvAttributes());
  y = builder.Node("Clip", {y, builder.Float32s("low", {}, {0}), builder.Float32s("up", {}, {6})});
  builder.Output(y);
  const Graph after = ExpectSameResults(compile::Inferred(builder), SimplifyForHost);
  EXPECT_EQ(compile::OperatorsOf(after), "plimsoll::FusedConv plimsoll::FusedConv");
}

TEST(PassesTest, WhatOthersReadIsNotFusedAway) {
  GraphBuilder builder;
  const ValueId x = builder.Input("x", FloatTensor({1, 4, 6, 6}));
  const ValueId y =
      builder.Node("Conv", {x, Weights(builder, "w", {8, 4, 3, 3})}, ConvAttributes());
  builder.Output(builder.Node("Relu", {y}));
  builder.Output(y);
  const Graph after = ExpectSameResults(compile::Inferred(builder), SimplifyForHost);
  EXPECT_EQ(compile::OperatorsOf(after), "Conv Relu");
}

TEST(PassesTest, AProductTakesInScaleBiasResidualAndActivation) {
  GraphBuilder builder;
  const ValueId x = builder.Input("x", FloatTensor({2, 5, 6}));
  const ValueId shortcut = builder.Input("s", FloatTensor({2, 5, 4}));
  const ValueId weights = builder.Input("w", FloatTensor({4, 6}));
  const ValueId turned = builder.Node("Transpose", {weights}, With("perm", Ints{1, 0}));
  ValueId y = builder.Node("MatMul", {x, turned});
  y = builder.Node("Div", {y, builder.Float32s("eight", {}, {8})});
  y = builder.Node("Add", {y, Weights(builder, "bias", {4})});
  y = builder.Node("Add", {shortcut, y});
  builder.Output(builder.Node("Tanh", {y}));
  const Graph after = ExpectSameResults(compile::Inferred(builder), SimplifyForHost);
  EXPECT_EQ(compile::OperatorsOf(after), "plimsoll::FusedMatMul");
}

TEST(PassesTest, ViewsAroundAGemmDoNotHoldUpWhatFollows) {
  GraphBuilder builder;
  const ValueId x = builder.Input("x", FloatTensor({2, 5, 6}));
  const ValueId flat = builder.Node("Reshape", {x, builder.Int64s("a", {-1, 6})});
  ValueId y =
      builder.Node("Gemm", {flat, Weights(builder, "w", {6, 4}), Weights(builder, "bias", {4})});
  y = builder.Node("Reshape", {y, builder.Int64s("b", {2, 5, 4})});
  builder.Output(builder.Node("Gelu", {y}));
  const Graph after = ExpectSameResults(compile::Inferred(builder), SimplifyForHost);
  EXPECT_EQ(compile::OperatorsOf(after), "plimsoll::FusedMatMul");
}

TEST(PassesTest, NormalisationsAndGeluWrittenOutBecomeOneNodeEach) {
  GraphBuilder builder;
  const ValueId x = builder.Input("x", FloatTensor({2, 3, 16}));
  const ValueId two = builder.Float32s("two", {}, {2});
  const ValueId last = builder.Int64s("last", {-1});
  const ValueId epsilon = builder.Float32s("epsilon", {}, {1e-5F});
  const auto mean = [&](ValueId value) { return builder.Node("ReduceMean", {value, last}); };
  const auto root = [&](ValueId value) {
    return builder.Node("Sqrt",
                        {builder.Node("Add", {mean(builder.Node("Pow", {value, two})), epsilon})});
  };
  const ValueId centered = builder.Node("Sub", {x, mean(x)});
  ValueId y = builder.Node("Div", {centered, root(centered)});
  y = builder.Node("Mul", {y, Weights(builder, "scale", {16})});
  y = builder.Node("Add", {y, Weights(builder, "bias", {16})});
  y = builder.Node("Mul", {y, builder.Node("Reciprocal", {root(y)})});
  y = builder.Node("Mul", {Weights(builder, "rms", {16}), y});
  const ValueId halved = builder.Node("Mul", {y, builder.Float32s("half", {}, {0.5F})});
  const ValueId erf =
      builder.Node("Erf", {builder.Node("Div", {y, builder.Float32s("root2", {}, {1.41421356F})})});
  const ValueId one = builder.Float32s("one", {}, {1});
  y = builder.Node("Mul", {halved, builder.Node("Add", {erf, one})});
  const ValueId cube = builder.Node("Pow", {y, builder.Float32s("three", {}, {3})});
  const ValueId bent = builder.Node("Mul", {cube, builder.Float32s("c", {}, {0.044715F})});
  const ValueId angle = builder.Node(
      "Mul", {builder.Node("Add", {y, bent}), builder.Float32s("r", {}, {0.7978845608F})});
  const ValueId lifted = builder.Node("Add", {builder.Node("Tanh", {angle}), one});
  y = builder.Node("Mul", {y, lifted});
  builder.Output(builder.Node("Mul", {y, builder.Float32s("half2", {}, {0.5F})}));
  const Graph after = ExpectSameResults(compile::Inferred(builder), SimplifyForHost);
  EXPECT_EQ(compile::OperatorsOf(after), "LayerNormalization RMSNormalization Gelu Gelu");
}

// As PyTorch's exporter writes scaled_dot_product_attention with a mask.
Graph AttentionGraph(const Dim& batch, const Dim& rows) {
  GraphBuilder builder;
  const auto heads = [&](const std::string& name) {
    const ValueId input = builder.Input(name, FloatTensor({batch, rows, 12}));
    const ValueId split =
        builder.Node("Reshape", {input, builder.Int64s(name + "s", {0, 0, 3, 4})});
    return builder.Node("Transpose", {split}, With("perm", Ints{0, 2, 1, 3}));
  };
  const ValueId q = heads("q");
  const ValueId k = heads("k");
  const ValueId v = heads("v");
  const ValueId mask = builder.Input("mask", FloatTensor({batch, 1, 1, rows}));
  const ValueId scale = builder.Float32s("scale", {}, {0.7071068F});
  const ValueId zero = builder.Float32s("zero", {}, {0});
  const ValueId turned = builder.Node("Transpose", {k}, With("perm", Ints{0, 1, 3, 2}));
  ValueId scores = builder.Node(
      "MatMul", {builder.Node("Mul", {q, scale}), builder.Node("Mul", {turned, scale})});
  scores = builder.Node("Add", {scores, mask});
  const ValueId weights = builder.Node("Softmax", {scores}, With("axis", int64_t{-1}));
  const ValueId clean = builder.Node("Where", {builder.Node("IsNaN", {weights}), zero, weights});
  ValueId y = builder.Node("MatMul", {clean, v});
  y = builder.Node("Transpose", {y}, With("perm", Ints{0, 2, 1, 3}));
  builder.Output(builder.Node("Reshape", {y, builder.Int64s("out", {0, 0, 12})}));
  return compile::Inferred(builder);
}

TEST(PassesTest, AttentionIsOneNodeBetweenViews) {
  const Graph after = ExpectSameResults(AttentionGraph(2, 5), SimplifyForHost);
  EXPECT_EQ(compile::OperatorsOf(after),
            "Reshape Reshape Reshape plimsoll::FusedAttention Reshape");
}

TEST(PassesTest, AttentionOverAnyBatchAndLength) {
  const Graph graph = AttentionGraph(Dim::Symbol("batch"), Dim::Symbol("rows"));
  for (const int64_t rows : {1, 4, 9}) {
    const Graph after = ExpectSameResults(graph, SimplifyForHost, {{"batch", 2}, {"rows", rows}});
    EXPECT_EQ(compile::OperatorsOf(after),
              "Reshape Reshape Reshape plimsoll::FusedAttention Reshape");
  }
}

// Convolutions, a squeeze-and-excite branch, a pool, a concatenation and sums. `width` channels
// need not fill blocks.
Graph ConvolutionalGraph(int64_t width) {
  GraphBuilder builder;
  const ValueId x = builder.Input("x", FloatTensor({2, 3, 12, 10}));
  const auto conv = [&](const std::string& name, ValueId value, Ints weights, int64_t groups) {
    Attributes attributes = With("group", groups);
    const int64_t pad = weights[2] / 2;
    attributes.Set("pads", Ints{pad, pad, pad, pad});
    return builder.Node("Conv", {value, Weights(builder, name, std::move(weights), 0.4F)},
                        std::move(attributes));
  };
  const ValueId stem = builder.Node("Relu", {conv("stem", x, {width, 3, 3, 3}, 1)});
  Attributes window = With("kernel_shape", Ints{3, 3});
  window.Set("strides", Ints{2, 2});
  window.Set("pads", Ints{1, 1, 1, 1});
  const ValueId pooled = builder.Node("MaxPool", {stem}, std::move(window));
  const ValueId deep = builder.Node("HardSwish", {conv("deep", pooled, {width, 1, 3, 3}, width)});
  const ValueId mean = builder.Node("ReduceMean", {deep, builder.Int64s("space", {2, 3})});
  const ValueId squeezed = builder.Node("Relu", {conv("squeeze", mean, {5, width, 1, 1}, 1)});
  const ValueId gate = builder.Node("Sigmoid", {conv("excite", squeezed, {width, 5, 1, 1}, 1)});
  const ValueId gated = builder.Node("Mul", {gate, deep});
  const ValueId left = conv("left", gated, {width, width, 1, 1}, 1);
  const ValueId right =
      builder.Node("Add", {conv("right", gated, {width, width, 3, 3}, 1), pooled});
  const ValueId both = builder.Node("Concat", {left, right}, With("axis", int64_t{1}));
  const ValueId last = conv("last", both, {width, 2 * width, 1, 1}, 1);
  builder.Output(builder.Node("GlobalAveragePool", {builder.Node("Add", {last, right})}));
  builder.Output(last);
  return compile::Inferred(builder);
}

int CountOf(const Graph& graph, std::string_view op) {
  int count = 0;
  for (const graph::NodeId node : graph.root().nodes) count += OperatorName(graph[node]) == op;
  return count;
}

TEST(PassesTest, ConvolutionsWorkOnBlockedChannelsAndReorderAtTheBordersOnly) {
  const Graph after = ExpectSameResults(ConvolutionalGraph(32), Specialise);
  EXPECT_EQ(CountOf(after, "plimsoll::FusedConv"), 7);
  EXPECT_EQ(CountOf(after, "plimsoll::FusedPool"), 3);
  EXPECT_EQ(CountOf(after, "plimsoll::BlockChannels"), 0);
  EXPECT_EQ(CountOf(after, "plimsoll::UnblockChannels"), 2);  // the two outputs
}

TEST(PassesTest, ChannelsThatDoNotFillTheirBlocksGiveTheSameResults) {
  for (const int64_t width : {7, 20}) {
    const Graph after = ExpectSameResults(ConvolutionalGraph(width), Specialise);
    EXPECT_EQ(CountOf(after, "plimsoll::FusedConv"), 7) << width;
  }
  const Graph single = ExpectSameResults(ConvolutionalGraph(1), Specialise);
  EXPECT_LT(CountOf(single, "plimsoll::FusedConv"), 7) << "few channels stay plain";
}

// Every tensor that can be made slice by slice is.
Status SliceAll(Graph& graph, compile::FusionCounts& counts) {
  PLIMSOLL_TRY(Specialise(graph, counts));
  std::vector<ValueId> seeds;
  for (size_t i = 0; i < graph.values.size(); ++i) seeds.push_back(ValueId(i));
  EXPECT_GT(compile::SliceRegions(graph, seeds, {.slices = 3}).regions, 0);
  graph = compile::Compact(graph);
  return compile::InferShapes(graph);
}

TEST(PassesTest, SlicesOfChannelsGiveTheSameResults) {
  for (const int64_t width : {20, 32, 60}) {
    GraphBuilder builder;
    const ValueId x = builder.Input("x", FloatTensor({1, 3, 12, 10}));
    ValueId y = builder.Node(
        "Relu",
        {builder.Node("Conv",
                      {x, Weights(builder, "w", {width, 3, 3, 3}), Weights(builder, "b", {width})},
                      ConvAttributes())});
    Attributes grouped = ConvAttributes();
    grouped.Set("group", width);
    grouped.Set("strides", Ints{2, 2});
    y = builder.Node("Conv", {y, Weights(builder, "d", {width, 1, 3, 3})}, grouped);
    y = builder.Node("Conv", {y, Weights(builder, "e", {2 * width, width, 1, 1})});
    Attributes pooling = With("kernel_shape", Ints{2, 2});
    pooling.Set("strides", Ints{2, 2});
    y = builder.Node("MaxPool", {y}, pooling);
    builder.Output(builder.Node(
        "Sigmoid", {builder.Node("Conv", {y, Weights(builder, "f", {4, 2 * width, 1, 1})})}));
    ExpectSameResults(compile::Inferred(builder), SliceAll);
  }
}

TEST(PassesTest, SlicesOfRowsGiveTheSameResults) {
  for (const graph::Shape& shape : {graph::Shape{1, 37, 8}, graph::Shape{5, 7, 8}}) {
    GraphBuilder builder;
    const ValueId x = builder.Node("Tanh", {builder.Input("x", FloatTensor(shape))});
    const ValueId gate =
        builder.Node("Sigmoid", {builder.Node("MatMul", {x, Weights(builder, "g", {8, 40})})});
    const ValueId up = builder.Node("MatMul", {x, Weights(builder, "u", {8, 40})});
    const ValueId down =
        builder.Node("MatMul", {builder.Node("Mul", {gate, up}), Weights(builder, "d", {40, 8})});
    builder.Output(builder.Node("ReduceSum", {builder.Node("Add", {down, x})}));
    ExpectSameResults(compile::Inferred(builder), SliceAll);
  }
}

TEST(PassesTest, TransposesMoveBehindSumsAndFactorsIntoWeights) {
  GraphBuilder builder;
  const ValueId x = builder.Input("x", FloatTensor({2, 4, 5, 6}));
  const ValueId rows = builder.Node("LayerNormalization", {x, Weights(builder, "scale", {6})});
  const ValueId shortcut = builder.Node("Transpose", {rows}, With("perm", Ints{0, 3, 1, 2}));
  ValueId y = builder.Node("MatMul", {rows, Weights(builder, "w", {6, 6})});
  y = builder.Node("Add", {y, Weights(builder, "bias", {6})});
  y = builder.Node("Transpose", {y}, With("perm", Ints{0, 3, 1, 2}));
  y = builder.Node("Mul", {Weights(builder, "factors", {6, 1, 1}), y});
  builder.Output(builder.Node("Add", {y, shortcut}));
  const Graph after = ExpectSameResults(compile::Inferred(builder), SimplifyForHost);
  EXPECT_EQ(compile::OperatorsOf(after), "LayerNormalization plimsoll::FusedMatMul Transpose");
}

// Weights that are not next to the model are drawn at random, small enough for deep models.
void FillWeights(Graph& graph) {
  for (graph::ConstantTensor& constant : graph.constants) {
    if (!constant.missing) continue;
    ASSERT_EQ(constant.type, DataType::kFloat32);
    const auto count = static_cast<size_t>(constant.ElementCount());
    const int64_t fan_in = constant.dims.size() < 2    ? 1
                           : constant.dims.size() == 2 ? constant.dims[0]
                                                       : constant.ElementCount() / constant.dims[0];
    auto storage = std::make_shared<std::vector<float>>(
        RandomFloats(count, static_cast<uint32_t>(count),
                     1.7F / std::sqrt(static_cast<float>(std::max<int64_t>(fan_in, 1)))));
    constant.bytes = std::as_bytes(std::span(*storage));
    constant.storage = storage;
    constant.missing = false;
  }
}

struct ModelCase {
  const char* file;
  Symbols symbols;
};

class PassesOverModelsTest : public testing::TestWithParam<ModelCase> {};

TEST_P(PassesOverModelsTest, GiveTheSameResults) {
  const char* folder = std::getenv("PLIMSOLL_MODELS");
  if (folder == nullptr) GTEST_SKIP() << "PLIMSOLL_MODELS does not name a folder";
  auto read = onnx::ReadModel(std::filesystem::path(folder) / GetParam().file);
  ASSERT_TRUE(read.ok()) << read.error().Text();
  Graph graph = *std::move(read);
  FillWeights(graph);
  const Status inferred = compile::InferShapes(graph);
  ASSERT_TRUE(inferred.ok()) << inferred.error().Text();
  ExpectSameResults(graph, GetParam().symbols.empty() ? Specialise : SimplifyForHost,
                    GetParam().symbols);
}

INSTANTIATE_TEST_SUITE_P(
    Models, PassesOverModelsTest,
    testing::Values(ModelCase{"mlp_train.onnx", {}}, ModelCase{"branch_if.onnx", {}},
                    ModelCase{"squeezenet1_1.onnx", {}}, ModelCase{"mobilenet_v3_large.onnx", {}},
                    ModelCase{"shufflenet_v2_x1_0.onnx", {}},
                    ModelCase{"decode_step_dynamic.onnx", {{"batch", 2}, {"past", 3}}}),
    [](const auto& info) {
      std::string name = info.param.file;
      return name.substr(0, name.find('.'));
    });

}  // namespace passes_test
}  // namespace plimsoll::engine
