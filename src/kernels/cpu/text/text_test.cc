#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kernels/cpu/one_node.h"
#include "kernels/cpu/text/letter_case.h"

namespace plimsoll::kernels::cpu {
namespace text_test {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(LetterCaseTest, PairsOfLettersChangeWhateverTheLocale) {
  struct Pair {
    const char* lower;
    const char* upper;
  };
  for (const Pair& pair :
       {Pair{"plimsoll 9", "PLIMSOLL 9"}, Pair{"éàüñø", "ÉÀÜÑØ"}, Pair{"łódź", "ŁÓDŹ"},
        Pair{"ωμέγα", "ΩΜΈΓΑ"}, Pair{"ёжик", "ЁЖИК"}, Pair{"ａｂ", "ＡＢ"}, Pair{"ÿ", "Ÿ"}}) {
    EXPECT_EQ(InCase(pair.lower, LetterCase::kUpper), pair.upper);
    EXPECT_EQ(InCase(pair.upper, LetterCase::kLower), pair.lower);
  }
  EXPECT_EQ(InCase("λόγος", LetterCase::kUpper), "ΛΌΓΟΣ");
}

TEST(LetterCaseTest, WhatIsNoLetterStaysByteForByte) {
  for (const std::string& text : {std::string("×÷漢字😀"), std::string("\xff\xc3"),
                                  std::string("\xe2\x82"), std::string("\0\x80", 2)}) {
    EXPECT_EQ(InCase(text, LetterCase::kUpper).size(), text.size());
  }
  EXPECT_EQ(InCase("a\xff"
                   "b\xc3",
                   LetterCase::kUpper),
            "A\xff"
            "B\xc3");
}

TEST(StringNormalizerTest, StopWordsAreDroppedInAnyCaseUnlessCaseMatters) {
  const std::vector<std::string> stop_words{"Ärger"};
  const HostTensor words = Strings({1, 3}, {"ärger", "Freude", "ÄRGER"});
  const auto any_case =
      OneNode{"StringNormalizer",
              {{"stopwords", stop_words}, {"case_change_action", std::string("UPPER")}}}
          .Run({words});
  ASSERT_TRUE(any_case.ok());
  EXPECT_THAT((*any_case)[0].dims, ElementsAre(1, 1));
  EXPECT_THAT(ElementsOf<std::string>((*any_case)[0]), ElementsAre("FREUDE"));
  const auto one_case =
      OneNode{"StringNormalizer", {{"stopwords", stop_words}, {"is_case_sensitive", int64_t{1}}}}
          .Run({words});
  EXPECT_EQ((*one_case)[0].elements(), 3);
  EXPECT_THAT(OneNode({"StringNormalizer", {{"case_change_action", std::string("TITLE")}}})
                  .Run({words})
                  .error()
                  .Text(),
              HasSubstr("case_change_action 'TITLE'"));
}

TEST(StringSplitTest, SpacesAroundThePiecesAreNeverKept) {
  const auto pieces = OneNode{"StringSplit", {{"maxsplit", int64_t{1}}}, 2}.Run(
      {Strings({3}, {"  a b  c ", "", " \t "})});
  ASSERT_TRUE(pieces.ok());
  EXPECT_THAT((*pieces)[0].dims, ElementsAre(3, 2));
  EXPECT_THAT(ElementsOf<std::string>((*pieces)[0]), ElementsAre("a", "b  c", "", "", "", ""));
  EXPECT_THAT(ElementsOf<int64_t>((*pieces)[1]), ElementsAre(2, 0, 0));
}

TEST(StringSplitTest, ADelimiterMayBeLongerThanOneByte) {
  const auto pieces = OneNode{"StringSplit", {{"delimiter", std::string("ab")}}, 2}.Run(
      {Strings({2}, {"1ab2abab", ""})});
  ASSERT_TRUE(pieces.ok());
  EXPECT_THAT(ElementsOf<std::string>((*pieces)[0]), ElementsAre("1", "2", "", "", "", "", "", ""));
  EXPECT_THAT(ElementsOf<int64_t>((*pieces)[1]), ElementsAre(4, 1));
}

TEST(RegexFullMatchTest, HostilePatternsNeitherHangNorPass) {
  const HostTensor text = Strings({1}, {std::string(20000, 'a')});
  const auto match = OneNode{"RegexFullMatch", {{"pattern", std::string("(a*)*b")}}}.Run({text});
  ASSERT_TRUE(match.ok());
  EXPECT_THAT(ElementsOf<bool>((*match)[0]), ElementsAre(false));
  EXPECT_THAT(
      OneNode({"RegexFullMatch", {{"pattern", std::string("(")}}}).Run({text}).error().Text(),
      HasSubstr("is no RE2 syntax"));
}

using Named = std::vector<std::pair<std::string, graph::Attribute>>;

OneNode Contributed(const std::string& op, const Named& attributes) {
  return {.op = op, .attributes = attributes, .domain = std::string(graph::kContributedDomain)};
}

TEST(TokenizerTest, TokensLieBetweenMarksAndPaddingBehindThem) {
  const auto tokens = Contributed("Tokenizer", {{"separators", std::vector<std::string>{" ", ","}},
                                                {"mark", int64_t{1}},
                                                {"mincharnum", int64_t{2}},
                                                {"pad_value", std::string("#")}})
                          .Run({Strings({2}, {"éa b,cd", "x"})});
  ASSERT_TRUE(tokens.ok());
  EXPECT_THAT((*tokens)[0].dims, ElementsAre(2, 4));
  EXPECT_THAT(ElementsOf<std::string>((*tokens)[0]),
              ElementsAre("\x02", "éa", "cd", "\x03", "\x02", "\x03", "#", "#"));
}

// One that is empty takes a character along, so that the search comes to an end.
TEST(TokenizerTest, EmptyMatchesMakeProgressByWholeCharacters) {
  const auto tokens =
      Contributed("Tokenizer", {{"tokenexp", std::string("[a-z]*")}}).Run({Strings({1}, {"aéb"})});
  ASSERT_TRUE(tokens.ok());
  EXPECT_THAT(ElementsOf<std::string>((*tokens)[0]), ElementsAre("a", "b"));
  const auto pieces = Contributed("Tokenizer", {{"separators", std::vector<std::string>{"b*"}}})
                          .Run({Strings({1}, {"abc"})});
  ASSERT_TRUE(pieces.ok());
  EXPECT_THAT((*pieces)[0].dims, ElementsAre(1, 0));
}

TEST(TokenizerTest, WhatCannotBeIsRefused) {
  const auto error = [](const Named& attributes) {
    return Contributed("Tokenizer", attributes).Run({Strings({1}, {"a"})}).error().Text();
  };
  EXPECT_THAT(error({}), HasSubstr("neither separators nor a tokenexp"));
  EXPECT_THAT(error({{"tokenexp", std::string("(")}}), HasSubstr("is no RE2 syntax"));
  EXPECT_THAT(error({{"tokenexp", std::string(".")}, {"mincharnum", int64_t{2}}}),
              HasSubstr("more than the one character"));
}

// The author's own test values.
TEST(MurmurHashTest, KnownTextsHaveKnownHashes) {
  const auto hashes = Contributed("MurmurHash3", {{"seed", int64_t{0x9747b28c}}})
                          .Run({Strings({3}, {"aaaa", "abc", "Hello, world!"})});
  ASSERT_TRUE(hashes.ok());
  EXPECT_THAT(ElementsOf<uint32_t>((*hashes)[0]),
              ElementsAre(0x5A97808AU, 0xC84A62DDU, 0x24884CBAU));
}

OneNode Vectorizer(const std::string& mode, const std::vector<int64_t>& starts) {
  return {"TfIdfVectorizer",
          {{"mode", mode},
           {"max_skip_count", int64_t{1}},
           {"min_gram_length", int64_t{1}},
           {"max_gram_length", int64_t{2}},
           {"ngram_counts", starts},
           {"ngram_indexes", std::vector<int64_t>{2, 0}},
           {"weights", std::vector<double>{0.5, 3}},
           {"pool_strings", std::vector<std::string>{"a", "b", "a"}}}};
}

TEST(TfIdfVectorizerTest, CountsAreWeightedByMode) {
  const HostTensor words =
      Strings({5}, {"a", "b", "a", "x", "a"});  // "a" 3 times, "b" (x) "a" once
  const auto row = [&words](const std::string& mode) {
    return ElementsOf<float>((*Vectorizer(mode, {0, 1}).Run({words}))[0]);
  };
  EXPECT_THAT(row("TF"), ElementsAre(1, 0, 3));
  EXPECT_THAT(row("IDF"), ElementsAre(3, 0, 0.5));
  EXPECT_THAT(row("TFIDF"), ElementsAre(3, 0, 1.5));
}

TEST(TfIdfVectorizerTest, APoolThatIsCutWronglyIsRefused) {
  const HostTensor words = Strings({1}, {"a"});
  for (const std::vector<int64_t>& starts :
       {std::vector<int64_t>{0, 2}, {-1, 1}, {0, 9}, {1, 0}, {0, 1, 3, 3, 7}}) {
    EXPECT_FALSE(Vectorizer("TF", starts).Run({words}).ok());
  }
  EXPECT_FALSE(Vectorizer("TFI", {0, 1}).Run({words}).ok());
  EXPECT_FALSE(Vectorizer("TF", {0, 1}).Run({Numbers<int64_t>({1}, {1})}).ok());
}

}  // namespace text_test
}  // namespace plimsoll::kernels::cpu
