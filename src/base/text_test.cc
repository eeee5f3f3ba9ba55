#include "plimsoll/base/text.h"

#include <gtest/gtest.h>

#include "plimsoll/base/status.h"

namespace plimsoll {
namespace text_test {

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
        Case{102400000, "97.66 MiB"}, Case{1048576000, "1000 MiB"}, Case{-2048, "-2 KiB"},
        Case{-1023, "-1023 B"}, Case{156789, "153.1 KiB"}, Case{1023 * 1024, "1023 KiB"},
        Case{int64_t{5} << 30, "5 GiB"}, Case{int64_t{3} << 40, "3 TiB"},
        Case{int64_t{3} << 50, "3 PiB"}, Case{int64_t{7} << 60, "7 EiB"}}) {
    EXPECT_EQ(FormatBytes(Bytes(c.bytes)), c.text);
  }
}

TEST(TextTest, ParseBytesReadsUnitsAndRefusesNonsense) {
  EXPECT_EQ(ParseBytes("4096"), Bytes(4096));
  EXPECT_EQ(ParseBytes("512MiB"), MiB(512));
  EXPECT_EQ(ParseBytes(" 1.5 GiB "), MiB(1536));
  EXPECT_EQ(ParseBytes("2g"), GiB(2));
  EXPECT_EQ(ParseBytes("10b"), Bytes(10));
  EXPECT_EQ(ParseBytes("3 KB"), Bytes(3000));
  EXPECT_EQ(ParseBytes("64MB"), Bytes(64'000'000));
  EXPECT_EQ(ParseBytes("1.5 gb"), Bytes(1'500'000'000));
  EXPECT_EQ(ParseBytes("64M"), MiB(64));
  EXPECT_EQ(ParseBytes("2T"), GiB(2048));
  EXPECT_EQ(ParseBytes("1p"), GiB(1 << 20));
  EXPECT_EQ(ParseBytes("7EiB"), GiB(int64_t{7} << 30));
  EXPECT_EQ(ParseBytes("0.5k"), Bytes(512));
  EXPECT_EQ(ParseBytes("0"), Bytes(0));
  for (const char* bad : {"", "-1", "1.5", "12 parsecs", "MiB", "1.2.3k", "99999999999EiB", "nan",
                          "9223372036854775808", "1e3", "8EiB", "9.5e", "1kk", "1 mibb", "."}) {
    EXPECT_FALSE(ParseBytes(bad).has_value()) << bad;
  }
}

TEST(TextTest, ParseIntegerWantsTheWholeText) {
  EXPECT_EQ(ParseInteger("-12"), -12);
  EXPECT_FALSE(ParseInteger("12 ").has_value());
  EXPECT_FALSE(ParseInteger("9223372036854775808").has_value());
}

TEST(TextTest, ParseDoubleWantsTheWholeText) {
  EXPECT_EQ(ParseDouble("-1.25e2"), -125.0);
  EXPECT_FALSE(ParseDouble("1.5x").has_value());
  EXPECT_FALSE(ParseDouble("").has_value());
  EXPECT_FALSE(ParseDouble("1e999").has_value());
}

TEST(TextTest, SplitKeepsEmptyPartsAndTrimTakesBlanksFromBothEnds) {
  using Parts = std::vector<std::string_view>;
  EXPECT_EQ(Split("a,,b,", ','), (Parts{"a", "", "b", ""}));
  EXPECT_EQ(Split("", ','), Parts{""});
  EXPECT_EQ(Trim(" \t a b\r\n"), "a b");
  EXPECT_EQ(Trim(" \n "), "");
  EXPECT_EQ(Trim("a"), "a");
}

TEST(TextTest, JoinPutsTheSeparatorBetween) {
  EXPECT_EQ(Join(std::vector<int>{1, 2, 3}, ", "), "1, 2, 3");
  EXPECT_EQ(Join(std::vector<std::string>{"", "a"}, "-"), "-a");
  EXPECT_EQ(Join(std::vector<int>{}, ", "), "");
  EXPECT_EQ(StrCat(KiB(3), " ", int64_t{-5}, " ", false, "", 'x'), "3 KiB -5 falsex");
}

TEST(TextTest, TheNearestOfSeveralNamesIsGivenAndTheFirstOfEquals) {
  const std::vector<std::string> names = {"stream", "streams", "scream", std::string(200, 's')};
  EXPECT_EQ(NearestName("streams", names), "streams");
  EXPECT_EQ(NearestName("strean", names), "stream");
  EXPECT_EQ(NearestName("s", std::vector<std::string>{"t"}), "t") << "one slip in one letter";
  EXPECT_FALSE(NearestName("ab", std::vector<std::string>{"cd"}).has_value());
  EXPECT_FALSE(NearestName("abcdef", std::vector<std::string>{"abcxyz"}).has_value());
  EXPECT_EQ(NearestName("abcdef", std::vector<std::string>{"abcdyz"}), "abcdyz");
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

TEST(StatusTest, PartsThatAreEmptyLeaveNoTrace) {
  EXPECT_EQ((Error{ErrorKind::kUsage, "", "what", "", "why", ""}.Text()), "what: why");
  EXPECT_EQ((Error{ErrorKind::kUsage, "c", "what", "", "", "remedy"}.Text()), "what; remedy [c]");
}

TEST(StatusTest, ACopyIsAnErrorOfItsOwn) {
  Status failed = Error{ErrorKind::kDoesNotFit, "test.full", "full", {}, {}, {}};
  const Status copy = failed;
  Status assigned;
  EXPECT_TRUE(assigned.ok());
  assigned = failed;
  failed = Status();
  EXPECT_TRUE(failed.ok());
  ASSERT_FALSE(copy.ok());
  ASSERT_FALSE(assigned.ok());
  EXPECT_EQ(copy.error().code, "test.full");
  EXPECT_EQ(assigned.error().kind, ErrorKind::kDoesNotFit);
  EXPECT_FALSE(Result<int>(copy).ok());
  EXPECT_EQ(Result<int>(copy).status().error().code, "test.full");
  EXPECT_TRUE(Result<int>(5).status().ok());
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

}  // namespace text_test
}  // namespace plimsoll
