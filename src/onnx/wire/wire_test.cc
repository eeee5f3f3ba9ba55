#include "onnx/wire/wire.h"

#include <gtest/gtest.h>

#include "onnx/wire/wire_writer_for_tests.h"

namespace plimsoll::onnx {
namespace wire_test {

Source SourceOf(const Message& message) {
  return {"test.onnx", "cannot read the model", message.span(), nullptr};
}

// Walks over all fields, reading the first as `read` does, and gives the error's code.
template <typename Read>
std::string CodeOf(const Message& message, Read read) {
  const Source source = SourceOf(message);
  WireCursor cursor(source, message.span());
  while (cursor.Next()) read(cursor);
  return cursor.status().ok() ? "" : cursor.status().error().code;
}

TEST(WireCursorTest, GivesFieldsInOrderAsViews) {
  const Message message =
      Message().Int(1, -5).Text(2, "name").Float(3, 1.5f).Packed(4, {1, -1, 300}).Int(4, 7);
  const Source source = SourceOf(message);
  WireCursor cursor(source, message.span());

  ASSERT_TRUE(cursor.Next());
  EXPECT_EQ(cursor.number(), 1u);
  EXPECT_EQ(cursor.Int(), -5);
  ASSERT_TRUE(cursor.Next());
  const std::string_view text = cursor.Text();
  EXPECT_EQ(text, "name");
  EXPECT_GE(text.data(), message.bytes().data());
  EXPECT_LT(text.data(), message.bytes().data() + message.bytes().size());
  ASSERT_TRUE(cursor.Next());
  EXPECT_EQ(cursor.Float(), 1.5f);
  std::vector<int64_t> list;
  ASSERT_TRUE(cursor.Next());
  cursor.AppendInts(list);
  ASSERT_TRUE(cursor.Next());
  cursor.AppendInts(list);
  EXPECT_EQ(list, (std::vector<int64_t>{1, -1, 300, 7}));
  EXPECT_FALSE(cursor.Next());
  EXPECT_TRUE(cursor.status().ok());
}

TEST(WireCursorTest, BrokenFieldsEndTheWalkWithTheirReason) {
  const auto skip = [](WireCursor&) {};
  using namespace std::string_view_literals;
  EXPECT_EQ(CodeOf(Message().Raw("\x0a\x05"
                                 "abc"),
                   skip),
            "onnx.truncated");
  EXPECT_EQ(CodeOf(Message().Raw("\x0a\xff\xff\xff\xff\xff\xff\xff\xff\x7f"), skip),
            "onnx.truncated");
  EXPECT_EQ(CodeOf(Message().Raw("\x08\x80"), skip), "onnx.truncated");
  EXPECT_EQ(CodeOf(Message().Raw("\x0d\x01\x02"), skip), "onnx.truncated");
  EXPECT_EQ(CodeOf(Message().Raw("\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"), skip),
            "onnx.wire");
  EXPECT_EQ(CodeOf(Message().Raw("\x00\x01"sv), skip), "onnx.wire");
  EXPECT_EQ(CodeOf(Message().Raw("\x0b\x0c"), skip), "onnx.wire");
}

TEST(WireCursorTest, ReadingAFieldAsWhatItIsNotIsAnError) {
  EXPECT_EQ(CodeOf(Message().Text(1, "text"), [](WireCursor& c) { c.Int(); }), "onnx.wire");
  EXPECT_EQ(CodeOf(Message().Int(1, 3), [](WireCursor& c) { c.Text(); }), "onnx.wire");
  EXPECT_EQ(CodeOf(Message().Text(1, "\xff\xfe"), [](WireCursor& c) { c.Text(); }), "onnx.text");
  EXPECT_EQ(CodeOf(Message().Text(1, "\xff\xfe"), [](WireCursor& c) { c.Blob(); }), "");
  std::vector<double> floats;
  EXPECT_EQ(CodeOf(Message().Text(1, "12345"), [&](WireCursor& c) { c.AppendFloats(floats); }),
            "onnx.wire");
}

TEST(WireCursorTest, TheErrorTellsTheByte) {
  const Message message = Message().Int(1, 3).Raw("\x12\x7f");
  const Source source = SourceOf(message);
  WireCursor cursor(source, message.span());
  while (cursor.Next()) {
  }
  EXPECT_EQ(cursor.status().error().where, "test.onnx: byte 2");
}

TEST(Utf8Test, AcceptsOnlyShortestFormsOfRealCharacters) {
  EXPECT_TRUE(IsUtf8("plain"));
  EXPECT_TRUE(IsUtf8("caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x9a\xa2"));
  EXPECT_FALSE(IsUtf8("\xc0\xaf"));
  EXPECT_FALSE(IsUtf8("\xe0\x80\xaf"));
  EXPECT_FALSE(IsUtf8("\xed\xa0\x80"));
  EXPECT_FALSE(IsUtf8("\xf4\x90\x80\x80"));
  EXPECT_FALSE(IsUtf8("\xe2\x82"));
}

}  // namespace wire_test
}  // namespace plimsoll::onnx
