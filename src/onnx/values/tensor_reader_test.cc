#include "onnx/values/tensor_reader.h"

#include <gtest/gtest.h>

#include "onnx/wire/temporary_folder_for_tests.h"
#include "onnx/wire/wire_writer_for_tests.h"

namespace plimsoll::onnx {
namespace tensor_reader_test {

using graph::DataType;
using graph::ValueType;

class ReadStoredValueTest : public testing::Test {
 protected:
  Result<StoredValue> Read(const Message& message, const ValueType& declared) {
    return ReadStoredValue(folder_.Write("input_0.pb", message.bytes()), declared);
  }

  TemporaryFolder folder_;
  ValueType tensor_ = ValueType::Tensor(DataType::kFloat32);
};

TEST_F(ReadStoredValueTest, ATensorIsAViewOnTheFile) {
  const auto value = Read(FloatTensor("x", {1, 2}), tensor_);
  ASSERT_TRUE(value.ok()) << value.error().Text();
  EXPECT_EQ(value->name, "x");
  EXPECT_EQ(value->tensor.Doubles(), (std::vector<double>{1, 2}));
  EXPECT_NE(value->tensor.storage, nullptr);
}

TEST_F(ReadStoredValueTest, ASequenceHoldsItsElementsInOrder) {
  const Message sequence = Message()
                               .Text(schema::stored::kName, "s")
                               .Put(schema::stored::kTensor, FloatTensor("", {1}))
                               .Put(schema::stored::kTensor, FloatTensor("", {2, 3}));
  const auto value = Read(sequence, ValueType::Sequence(tensor_));
  ASSERT_TRUE(value.ok()) << value.error().Text();
  EXPECT_EQ(value->kind, StoredValue::Kind::kSequence);
  ASSERT_EQ(value->elements.size(), 2u);
  EXPECT_EQ(value->elements[1].tensor.dims, (std::vector<int64_t>{2}));
}

TEST_F(ReadStoredValueTest, AnOptionalHoldsOneValueOrNone) {
  const ValueType type = ValueType::Optional(ValueType::Sequence(tensor_));
  EXPECT_TRUE(Read(Message(), type)->elements.empty());
  const Message sequence = Message().Put(schema::stored::kTensor, FloatTensor("", {1}));
  const auto value = Read(Message().Put(schema::stored::kSequence, sequence), type);
  ASSERT_TRUE(value.ok()) << value.error().Text();
  ASSERT_EQ(value->elements.size(), 1u);
  EXPECT_EQ(value->elements[0].kind, StoredValue::Kind::kSequence);
  EXPECT_EQ(value->elements[0].elements.size(), 1u);
}

TEST_F(ReadStoredValueTest, RefusesBrokenFilesAndWhatItCannotHold) {
  const ValueType sequence = ValueType::Sequence(tensor_);
  EXPECT_EQ(Read(Message().Raw("\x4a\x7f"), tensor_).error().code, "onnx.truncated");
  EXPECT_EQ(Read(Message().Put(schema::stored::kMap, Message()), sequence).error().code,
            "onnx.stored_value");
  EXPECT_EQ(Read(Message(), ValueType::Map(DataType::kInt64, tensor_)).error().code,
            "onnx.stored_value");
  Message deep;
  for (int i = 0; i < 40; ++i) deep = Message().Put(schema::stored::kSequence, deep);
  EXPECT_EQ(Read(deep, sequence).error().code, "onnx.limit");
}

}  // namespace tensor_reader_test
}  // namespace plimsoll::onnx
