#include "onnx/values/tensor_decoder.h"

#include <gtest/gtest.h>

#include "onnx/wire/wire_writer_for_tests.h"

namespace plimsoll::onnx {
namespace tensor_decoder_test {

using graph::ConstantTensor;
using graph::DataType;

Message TensorOf(DataType type, std::initializer_list<int64_t> dims) {
  Message tensor;
  for (const int64_t dim : dims) tensor.Int(schema::tensor::kDims, dim);
  return tensor.Int(schema::tensor::kDataType, static_cast<int>(type))
      .Text(schema::tensor::kName, "w");
}

Result<ConstantTensor> Decode(const Message& message) {
  const Source source{"test.onnx", "cannot read the model", message.span(), nullptr};
  ExternalFiles files(source, "");
  return DecodeTensor(source, message.span(), files);
}

std::string CodeOf(const Message& message) {
  const auto tensor = Decode(message);
  return tensor.ok() ? "" : tensor.error().code;
}

bool IsInside(ByteSpan bytes, const Message& message) {
  return bytes.data() >= message.span().data() &&
         bytes.data() + bytes.size() <= message.span().data() + message.span().size();
}

TEST(DecodeTensorTest, RawDataAndPackedFloatsAreViewsOnTheFile) {
  const Message raw = TensorOf(DataType::kInt64, {2}).PackedRaw<int64_t>(9, {5, -6});
  const Message floats = TensorOf(DataType::kFloat32, {2}).PackedRaw<float>(4, {1, 2});
  const Message doubles = TensorOf(DataType::kFloat64, {1}).PackedRaw<double>(10, {0.5});
  for (const Message* message : {&raw, &floats, &doubles}) {
    const auto tensor = Decode(*message);
    ASSERT_TRUE(tensor.ok()) << tensor.error().Text();
    EXPECT_TRUE(IsInside(tensor->bytes, *message));
  }
  EXPECT_EQ(Decode(raw)->Integers(), (std::vector<int64_t>{5, -6}));
  EXPECT_EQ(Decode(floats)->Doubles(), (std::vector<double>{1, 2}));
}

TEST(DecodeTensorTest, FloatsGivenOneByOneArePutTogether) {
  const auto tensor = Decode(TensorOf(DataType::kFloat32, {2}).Float(4, 1.5f).Float(4, -2.0f));
  ASSERT_TRUE(tensor.ok());
  EXPECT_EQ(tensor->Doubles(), (std::vector<double>{1.5, -2.0}));
}

TEST(DecodeTensorTest, IntegersAreDecodedToTheWidthOfTheirType) {
  struct Case {
    DataType type;
    uint32_t field;
    std::vector<int64_t> expected;
  };
  const std::vector<Case> cases = {
      {DataType::kInt8, 5, {-1, 2}},           {DataType::kUint8, 5, {255, 2}},
      {DataType::kInt16, 5, {-300, 2}},        {DataType::kUint16, 5, {65535, 2}},
      {DataType::kInt32, 5, {-70000, 2}},      {DataType::kBool, 5, {1, 0}},
      {DataType::kInt64, 7, {-5, 1LL << 40}},  {DataType::kUint32, 11, {4000000000, 2}},
      {DataType::kUint64, 11, {1LL << 62, 2}},
  };
  for (const Case& c : cases) {
    Message message = TensorOf(c.type, {2});
    message.Packed(c.field, {c.expected[0]}).Int(c.field, c.expected[1]);
    const auto tensor = Decode(message);
    ASSERT_TRUE(tensor.ok()) << tensor.error().Text();
    EXPECT_EQ(tensor->Integers(), c.expected) << Name(c.type);
  }
}

TEST(DecodeTensorTest, HalvesAndSubByteTypesComeAsBitsInIntegers) {
  EXPECT_EQ(Decode(TensorOf(DataType::kFloat16, {1}).Packed(5, {0x3c00}))->Doubles(),
            (std::vector<double>{1.0}));
  EXPECT_EQ(Decode(TensorOf(DataType::kBfloat16, {1}).Packed(5, {0x4000}))->Doubles(),
            (std::vector<double>{2.0}));
  EXPECT_EQ(Decode(TensorOf(DataType::kInt4, {3}).Packed(5, {0xf1, 0x02}))->Integers(),
            (std::vector<int64_t>{1, -1, 2}));
  EXPECT_EQ(Decode(TensorOf(DataType::kUint2, {5}).Packed(5, {0xe4, 0x01}))->Integers(),
            (std::vector<int64_t>{0, 1, 2, 3, 1}));
  EXPECT_EQ(Decode(TensorOf(DataType::kFloat8E4M3FN, {1}).Packed(5, {0x38}))->bytes.size(), 1u);
}

TEST(DecodeTensorTest, StringsAreViews) {
  const Message message = TensorOf(DataType::kString, {2}).Text(6, "a").Text(6, "");
  const auto tensor = Decode(message);
  ASSERT_TRUE(tensor.ok());
  EXPECT_EQ(tensor->strings, (std::vector<std::string_view>{"a", ""}));
}

TEST(DecodeTensorTest, ExternalDataThatIsNotThereLeavesTheShape) {
  const auto tensor = Decode(TensorOf(DataType::kFloat32, {2, 3})
                                 .Int(schema::tensor::kDataLocation, 1)
                                 .Put(schema::tensor::kExternalData, Entry("location", "w.bin")));
  ASSERT_TRUE(tensor.ok()) << tensor.error().Text();
  EXPECT_TRUE(tensor->missing);
  EXPECT_EQ(tensor->external_file, "w.bin");
  EXPECT_EQ(tensor->Size(), Bytes(24));
}

TEST(DecodeTensorTest, RefusesWhatDoesNotFitTogether) {
  const int64_t huge = int64_t{1} << 40;
  struct Case {
    Message message;
    std::string code;
  };
  const std::vector<Case> cases = {
      {TensorOf(DataType::kFloat32, {2}).PackedRaw<float>(9, {1}), "onnx.tensor"},
      {TensorOf(DataType::kFloat32, {1}).PackedRaw<float>(9, {1, 2}), "onnx.tensor"},
      {TensorOf(DataType::kFloat32, {2}), "onnx.tensor"},
      {TensorOf(DataType::kFloat32, {1}).Packed(5, {1}), "onnx.tensor"},
      {TensorOf(DataType::kInt32, {1}).Packed(5, {1, 2}), "onnx.tensor"},
      {TensorOf(DataType::kInt8, {1}).Packed(5, {300}), "onnx.tensor"},
      {TensorOf(DataType::kInt32, {1}).Packed(5, {1}).PackedRaw<int>(9, {1}), "onnx.tensor"},
      {TensorOf(DataType::kInt64, {2}).Packed(7, {1}).Packed(5, {1}), "onnx.tensor"},
      {TensorOf(DataType::kInt64, {2}).Packed(5, {1}).Packed(7, {1}), "onnx.tensor"},
      {TensorOf(DataType::kInt64, {1}).Text(7, "\x80"), "onnx.tensor"},
      {TensorOf(DataType::kString, {2}).Text(6, "a"), "onnx.tensor"},
      {TensorOf(DataType::kString, {1}).Text(9, "a"), "onnx.tensor"},
      {TensorOf(DataType::kFloat32, {-1}), "onnx.dims"},
      {TensorOf(DataType::kFloat32, {huge, huge}), "onnx.dims"},
      {TensorOf(DataType::kFloat64, {huge, 1 << 20}), "onnx.dims"},
      {TensorOf(DataType::kUndefined, {1}), "onnx.element_type"},
      {TensorOf(static_cast<DataType>(99), {1}), "onnx.element_type"},
      {TensorOf(DataType::kFloat32, {1}).Text(schema::tensor::kSegment, ""), "onnx.segment"},
  };
  for (size_t i = 0; i < cases.size(); ++i) {
    EXPECT_EQ(CodeOf(cases[i].message), cases[i].code) << "case " << i;
  }
}

TEST(DecodeTensorTest, ATensorWithoutElementsNeedsNoData) {
  const auto tensor = Decode(TensorOf(DataType::kFloat32, {0, 3}));
  ASSERT_TRUE(tensor.ok());
  EXPECT_TRUE(tensor->bytes.empty());
}

}  // namespace tensor_decoder_test
}  // namespace plimsoll::onnx
