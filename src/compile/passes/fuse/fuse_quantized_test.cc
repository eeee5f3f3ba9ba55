#include "compile/passes/fuse/fuse_quantized.h"

#include "compile/passes/pass_results_for_tests.h"

namespace plimsoll::compile {
namespace fuse_quantized_test {

using graph::Attributes;
using graph::ConstantTensor;
using graph::DataType;
using graph::Graph;
using graph::GraphBuilder;
using graph::ValueId;

// Builds graphs of bytes with their scales.
struct Bytes8 {
  GraphBuilder& b;
  int names = 0;

  std::string Name(const std::string& base) { return base + std::to_string(names++); }
  ValueId Cast(ValueId value, DataType type) {
    return b.Node("Cast", {value}, With("to", static_cast<int64_t>(type)));
  }
  ValueId Scale(float number = 0.5F) { return Scalar(b, Name("scale"), number); }
  ValueId Zero(DataType type = DataType::kUint8, float number = 0) {
    return Constant(type, {}, {number});
  }
  ValueId Constant(DataType type, Ints dims, const std::vector<float>& elements) {
    const ValueId value = b.Float32s(Name("bytes"), std::move(dims), elements);
    graph::Value& made = b.graph()[value];
    ConstantTensor& tensor = b.graph().constants[made.constant.index()];
    const auto width = static_cast<size_t>(graph::Bits(type) / 8);
    auto storage = std::make_shared<std::vector<std::byte>>(elements.size() * width);
    for (size_t i = 0; i < elements.size(); ++i) {
      const auto number = static_cast<int32_t>(elements[i]);
      std::memcpy(storage->data() + i * width, &number, width);
    }
    tensor.type = type;
    tensor.bytes = *storage;
    tensor.storage = storage;
    made.type.data_type = type;
    made.content.reset();
    return value;
  }
  ValueId Floats(ValueId bytes, float scale = 0.5F, DataType type = DataType::kUint8) {
    return b.Node("DequantizeLinear", {bytes, Scale(scale), Zero(type)});
  }
  ValueId Quantized(ValueId floats, float scale = 0.5F, float zero = 0) {
    return b.Node("QuantizeLinear", {floats, Scale(scale), Zero(DataType::kUint8, zero)});
  }
};

// What the pass leaves of a graph that begins with bytes x.
template <typename Build>
std::string Fused(Ints dims, const Build& build) {
  return LeftOf(FuseQuantized, [&](GraphBuilder& b) {
    Bytes8 bytes{b};
    const ValueId x =
        b.Input("x", graph::ValueType::Tensor(DataType::kUint8, graph::ShapeOf(dims)));
    return build(bytes, x);
  });
}

TEST(FuseQuantizedTest, AConvolutionBetweenBytesWorksOnThem) {
  const auto fused = [](bool relu, float zero) {
    return Fused({1, 2, 4, 4}, [&](Bytes8& q, ValueId x) {
      const ValueId w = q.Constant(DataType::kInt8, {3, 2, 1, 1}, {1, 2, 3, 4, 5, 6});
      const ValueId weights = q.Floats(w, 0.1F, DataType::kInt8);
      const ValueId bias = q.Constant(DataType::kInt32, {3}, {7, 8, 9});
      const ValueId added =
          q.b.Node("DequantizeLinear", {bias, q.Scale(0.05F), q.Zero(DataType::kInt32)});
      ValueId y = q.b.Node("Conv", {q.Floats(x), weights, added});
      if (relu) y = q.b.Node("Relu", {y});
      return q.Quantized(y, 0.25F, zero);
    });
  };
  EXPECT_EQ(fused(false, 0), "QLinearConv");
  EXPECT_EQ(fused(true, 0), "QLinearConv");
  // Bytes below the zero point stand for negative numbers, which the Relu takes away.
  EXPECT_EQ(fused(true, 10),
            "DequantizeLinear DequantizeLinear DequantizeLinear Conv Relu QuantizeLinear");
}

TEST(FuseQuantizedTest, ABiasJoinsSumsOnlyWhereItsScaleIsThatOfTheSums) {
  const auto fused = [](const std::vector<float>& scales, float zero) {
    return Fused({1, 2}, [&](Bytes8& q, ValueId x) {
      const ValueId w = q.Constant(DataType::kInt8, {2, 3}, {1, 2, 3, 4, 5, 6});
      const ValueId weights = q.Floats(w, 0.1F, DataType::kInt8);
      const ValueId bias = q.Constant(DataType::kInt32, {3}, {7, 8, 9});
      const bool one = scales.size() == 1;
      const ValueId scale = one ? q.Scale(scales[0]) : q.b.Float32s("scales", {int64_t{3}}, scales);
      const ValueId zeros = one ? q.Zero(DataType::kInt32, zero)
                                : q.Constant(DataType::kInt32, {3}, {zero, zero, zero});
      const ValueId added = q.b.Node("DequantizeLinear", {bias, scale, zeros}, With("axis", 0));
      return q.Quantized(q.b.Node("Gemm", {q.Floats(x), weights, added}), 0.25F);
    });
  };
  const std::string apart =
      "DequantizeLinear DequantizeLinear DequantizeLinear Gemm QuantizeLinear";
  EXPECT_EQ(fused({0.05F}, 0), "com.microsoft::QGemm");
  EXPECT_EQ(fused({0.05F, 0.05F, 0.05F}, 0), "com.microsoft::QGemm");
  EXPECT_EQ(fused({0.5F}, 0), apart);
  EXPECT_EQ(fused({0.05F, 0.05F, 0.06F}, 0), apart);
  EXPECT_EQ(fused({0.05F}, 1), apart);
}

TEST(FuseQuantizedTest, SumsAndProductsBetweenBytesWorkOnThem) {
  for (const char* op : {"Add", "Mul"}) {
    EXPECT_EQ(Fused({2, 3},
                    [&](Bytes8& q, ValueId x) {
                      return q.Quantized(q.b.Node(op, {q.Floats(x), q.Floats(x, 0.2F)}));
                    }),
              std::string("com.microsoft::QLinear") + op);
  }
  EXPECT_EQ(Fused({2, 3},
                  [](Bytes8& q, ValueId x) {
                    const ValueId w = q.Constant(DataType::kInt8, {3, 1}, {1, 2, 3});
                    return q.Quantized(
                        q.b.Node("MatMul", {q.Floats(x), q.Floats(w, 0.1F, DataType::kInt8)}));
                  }),
            "QLinearMatMul");
}

// The attribute of what the first QuantizeLinear becomes where `x` has one reader or two.
int64_t AttributeOf(const std::string& op, DataType type, bool shared, const char* attribute) {
  GraphBuilder b;
  Bytes8 q{b};
  const ValueId x = b.Input("x", graph::ValueType::Tensor(type, graph::ShapeOf({3, 3})));
  const ValueId floats = q.Floats(x, 0.5F, type);
  const ValueId other =
      op == "Add" ? q.Floats(q.Cast(x, type), 0.2F, type)
                  : q.Floats(q.Constant(type, {3, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9}), 0.1F, type);
  b.Output(b.Node("QuantizeLinear", {b.Node(op, {floats, other}), q.Scale(0.25F), q.Zero(type)}));
  if (shared) b.Output(b.Node("Relu", {floats}));
  Graph graph = Inferred(b);
  FuseQuantized(graph, {});
  for (const graph::NodeId id : graph.root().nodes) {
    if (graph[id].op.starts_with("QLinear")) return graph[id].attributes.Int(attribute, 0);
  }
  return -1;
}

TEST(FuseQuantizedTest, SignedBytesThatAreSharedRoundAsFloatsDo) {
  for (const auto& [op, attribute] :
       {std::pair("MatMul", "nearest_bytes"), std::pair("Add", "float_steps")}) {
    EXPECT_EQ(AttributeOf(op, DataType::kInt8, true, attribute), 1) << op;
    EXPECT_EQ(AttributeOf(op, DataType::kUint8, true, attribute), 0) << op;
  }
  EXPECT_EQ(AttributeOf("MatMul", DataType::kInt8, false, "nearest_bytes"), 0);
  // One operand is constant.
  EXPECT_EQ(AttributeOf("Mul", DataType::kInt8, false, "float_steps"), 1);
}

TEST(FuseQuantizedTest, WhatMovesBytesNeedsOneScale) {
  const auto fused = [](float scale) {
    return Fused({2, 3}, [&](Bytes8& q, ValueId x) {
      return q.Quantized(q.b.Node("Transpose", {q.Floats(x)}), scale);
    });
  };
  EXPECT_EQ(fused(0.5F), "Transpose");
  EXPECT_EQ(fused(0.25F), "DequantizeLinear Transpose QuantizeLinear");
}

TEST(FuseQuantizedTest, AResultThatIsReadAsFloatsStays) {
  EXPECT_EQ(Fused({2, 3},
                  [](Bytes8& q, ValueId x) {
                    const ValueId sum = q.b.Node("Add", {q.Floats(x), q.Floats(x, 0.2F)});
                    q.b.Output(sum);
                    return q.Quantized(sum);
                  }),
            "DequantizeLinear DequantizeLinear Add QuantizeLinear");
}

TEST(FuseQuantizedTest, AProductOfBytesScalesItsOwnSums) {
  EXPECT_EQ(
      Fused(
          {2, 3},
          [](Bytes8& q, ValueId x) {
            const ValueId w = q.Constant(DataType::kInt8, {3, 2}, {1, 2, 3, 4, 5, 6});
            const ValueId y = q.b.Node("MatMul", {q.Floats(x), q.Floats(w, 0.1F, DataType::kInt8)});
            return q.b.Node("Add", {y, q.b.Float32s("bias", {2}, {1, 2})});
          }),
      "com.microsoft::MatMulIntegerToFloat");
  EXPECT_EQ(Fused({2, 3},
                  [](Bytes8& q, ValueId x) {
                    const ValueId w = q.Constant(DataType::kInt8, {3, 2}, {1, 2, 3, 4, 5, 6});
                    const ValueId sums =
                        q.b.Node("MatMulInteger", {x, w, q.Zero(), q.Zero(DataType::kInt8)});
                    const ValueId scales = q.b.Node("Mul", {q.Scale(), q.Scale(0.1F)});
                    return q.b.Node("Mul", {q.Cast(sums, DataType::kFloat32), scales});
                  }),
            "com.microsoft::MatMulIntegerToFloat");
}

}  // namespace fuse_quantized_test
}  // namespace plimsoll::compile
