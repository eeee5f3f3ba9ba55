#include "plimsoll/base/text.h"

#include <gtest/gtest.h>

#include "plimsoll/base/status.h"

namespace plimsoll {
namespace {

TEST(TextTest, StrCatWritesEveryKindOfPart) {
  EXPECT_EQ(StrCat("n", 3, ' ', uint64_t{18446744073709551615u}, " ", true, " ", 0.5),
            "n3 18446744073709551615 true 0.5");
}

TEST(TextTest, FormatBytesKeepsFourFigures) {
  struct Case {
    int64_t bytes;
    const char* text;
  };
  for (const Case& c :
       {Case{0, "0 B"}, Case{1023, "1023 B"}, Case{1024, "1 KiB"}, Case{1536, "1.5 KiB"},
        Case{102400000, "97.66 MiB"}, Case{1048576000, "1000 MiB"}, Case{-2048, "-2 KiB"}}) {
    EXPECT_EQ(FormatBytes(Bytes(c.bytes)), c.text);
  }
}

TEST(TextTest, ParseBytesReadsUnitsAndRefusesNonsense) {
  EXPECT_EQ(ParseBytes("4096"), Bytes(4096));
  EXPECT_EQ(ParseBytes("512MiB"), MiB(512));
  EXPECT_EQ(ParseBytes(" 1.5 GiB "), MiB(1536));
  EXPECT_EQ(ParseBytes("2g"), GiB(2));
  EXPECT_EQ(ParseBytes("10b"), Bytes(10));
  for (const char* bad : {"", "-1", "1.5", "12 parsecs", "MiB", "1.2.3k", "99999999999EiB", "nan",
                          "9223372036854775808", "1e3"}) {
    EXPECT_FALSE(ParseBytes(bad).has_value()) << bad;
  }
}

TEST(TextTest, ParseIntegerWantsTheWholeText) {
  EXPECT_EQ(ParseInteger("-12"), -12);
  EXPECT_FALSE(ParseInteger("12 ").has_value());
  EXPECT_FALSE(ParseInteger("9223372036854775808").has_value());
}

TEST(TextTest, NearestNameFindsSlipsAndNothingElse) {
  const std::vector<std::string> names = {"input_ids", "attention_mask", "pixels"};
  EXPECT_EQ(NearestName("inputids", names), "input_ids");
  EXPECT_EQ(NearestName("Pixel", names), "pixels");
  EXPECT_EQ(NearestName("pixesl", names), "pixels");
  EXPECT_FALSE(NearestName("zzz", names).has_value());
  EXPECT_FALSE(NearestName(std::string(100000, 'a'), names).has_value());
}

TEST(StatusTest, TextIsOneLineWithEveryPart) {
  const Error error{ErrorKind::kBadFile, "onnx.truncated", "cannot read the model",
                    "a\nb.onnx",         "it ends early",  "export it again"};
  EXPECT_EQ(error.Text(),
            "cannot read the model: a b.onnx: it ends early; export it again [onnx.truncated]");
}

Result<int> Half(int n) {
  if (n % 2 != 0) return Error{ErrorKind::kUsage, "test.odd", "odd number", {}, {}, {}};
  return n / 2;
}

Result<int> Quarter(int n) {
  PLIMSOLL_ASSIGN(const int half, Half(n));
  return Half(half);
}

TEST(StatusTest, AssignPassesValuesOnAndLeavesWithErrors) {
  EXPECT_EQ(*Quarter(12), 3);
  EXPECT_EQ(Quarter(6).error().code, "test.odd");
}

}  // namespace
}  // namespace plimsoll
