#include "compile/passes/forms/fuse_byte_tables.h"

#include "compile/passes/pass_results_for_tests.h"

namespace plimsoll::compile {
namespace fuse_byte_tables_test {

using graph::DataType;
using graph::GraphBuilder;
using graph::ValueId;

// Bytes of one type with a scale and a zero point.
class ByteGraph {
 public:
  ByteGraph(GraphBuilder& builder, DataType type) : builder_(builder), type_(type) {}

  // Bytes of many values: the inputs that tests draw are 0 and 1.
  ValueId Input(const std::string& name) {
    const ValueId floats = builder_.Input(name, FloatTensor({2, 3, 40}));
    return Quantized(
        builder_.Node("Mul", {floats, Weights(builder_, name + "/spread", {1, 3, 1})}));
  }
  ValueId Quantized(ValueId floats, float scale = 0.02F) {
    return builder_.Node("QuantizeLinear", {floats, Scale(scale), Zero()});
  }
  ValueId Floats(ValueId bytes, float scale = 0.02F) {
    return builder_.Node("DequantizeLinear", {bytes, Scale(scale), Zero()});
  }
  ValueId Sigmoid(ValueId x) {
    return Contributed("QLinearSigmoid", {x, Scale(0.02F), Zero(), Scale(0.004F), Zero()});
  }
  ValueId Times(ValueId x, ValueId y) {
    return Contributed("QLinearMul",
                       {x, Scale(0.02F), Zero(), y, Scale(0.004F), Zero(), Scale(0.02F), Zero()});
  }

 private:
  ValueId Contributed(const std::string& op, std::vector<ValueId> inputs) {
    const ValueId made =
        builder_.Nodes(op, std::move(inputs), 1, {}, std::string(graph::kContributedDomain))[0];
    builder_.graph()[builder_.graph()[made].producer].version = 1;
    return made;
  }
  ValueId Scale(float scale) { return Scalar(builder_, NextName(), scale); }
  ValueId Zero() {
    const ValueId zero = Scalar(builder_, NextName(), 0);
    graph::ConstantTensor& tensor =
        builder_.graph().constants[builder_.graph()[zero].constant.index()];
    tensor.type = type_;
    tensor.bytes = tensor.bytes.first(1);
    builder_.graph()[zero].type.data_type = type_;
    builder_.graph()[zero].content.reset();
    return zero;
  }
  std::string NextName() { return "constant" + std::to_string(names_++); }

  GraphBuilder& builder_;
  DataType type_;
  int names_ = 0;
};

// What is left of a graph of bytes, behind those of its inputs.
template <typename Build>
std::string LeftOfBytes(DataType type, const Build& build) {
  return LeftOf(FuseByteTables, [&](GraphBuilder& builder) {
    ByteGraph bytes(builder, type);
    return build(builder, bytes);
  });
}

TEST(FuseByteTablesTest, AFunctionOfOneByteIsATable) {
  for (const DataType type : {DataType::kUint8, DataType::kInt8}) {
    EXPECT_EQ(LeftOfBytes(type,
                          [](GraphBuilder&, ByteGraph& bytes) {
                            const ValueId x = bytes.Input("x");
                            return bytes.Times(x, bytes.Sigmoid(x));
                          }),
              "Mul QuantizeLinear plimsoll::ByteTable");
    EXPECT_EQ(LeftOfBytes(type,
                          [](GraphBuilder& b, ByteGraph& bytes) {
                            const ValueId x = bytes.Floats(bytes.Input("x"));
                            const ValueId made = b.Node("Mul", {x, b.Node("Tanh", {x})});
                            return bytes.Quantized(b.Node("Add", {made, Scalar(b, "c", 0.3F)}));
                          }),
              "Mul QuantizeLinear plimsoll::ByteTable");
  }
}

TEST(FuseByteTablesTest, WhatOthersReadOrTwoTensorsMakeStays) {
  const auto left = [](const auto& build) { return LeftOfBytes(DataType::kUint8, build); };
  EXPECT_EQ(left([](GraphBuilder& b, ByteGraph& bytes) {
              const ValueId x = bytes.Input("x");
              const ValueId between = bytes.Sigmoid(x);
              b.Output(between);
              return bytes.Times(x, between);
            }),
            "Mul QuantizeLinear com.microsoft::QLinearSigmoid com.microsoft::QLinearMul");
  EXPECT_EQ(left([](GraphBuilder&, ByteGraph& bytes) {
              return bytes.Times(bytes.Input("x"), bytes.Sigmoid(bytes.Input("y")));
            }),
            "Mul QuantizeLinear com.microsoft::QLinearSigmoid Mul QuantizeLinear "
            "com.microsoft::QLinearMul");
  EXPECT_EQ(left([](GraphBuilder& b, ByteGraph& bytes) {
              const ValueId x = bytes.Floats(bytes.Input("x"));
              return bytes.Quantized(b.Node("Add", {x, Weights(b, "w", {40})}));
            }),
            "Mul QuantizeLinear DequantizeLinear Add QuantizeLinear")
      << "an operand that is not one number";
  EXPECT_EQ(left([](GraphBuilder& b, ByteGraph& bytes) {
              const ValueId x = bytes.Floats(bytes.Input("x"));
              return bytes.Quantized(b.Node("Softmax", {x}));
            }),
            "Mul QuantizeLinear DequantizeLinear Softmax QuantizeLinear");
}

}  // namespace fuse_byte_tables_test
}  // namespace plimsoll::compile
