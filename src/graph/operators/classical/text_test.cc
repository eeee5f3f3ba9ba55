#include <gtest/gtest.h>

#include "graph/operators/operator_case.h"

namespace plimsoll::graph::operators {
namespace text_test {

TEST(TextTest, StringsKeepOrLoseTheirPlaces) {
  CheckAll({
      {"StringNormalizer", 10, {"string[1,n]"}, {}, {"string[1,n]"}},
      {"StringNormalizer", 10, {"string[4]"}, {{"stopwords", Strings{"the"}}}, {"string[?]"}},
      {"StringNormalizer", 10, {"float32[4]"}, {}, {"fails: must hold strings"}},
      {"StringConcat", 20, {"string[n,1]", "string[3]"}, {}, {"string[n,3]"}},
      {"StringConcat", 20, {"string[2]", "string[3]"}, {}, {"fails: do not broadcast"}},
      {"StringSplit", 20, {"string[n]"}, {}, {"string[n,?]", "int64[n]"}},
      {"RegexFullMatch", 20, {"string[n,2]"}, {{"pattern", ".*"}}, {"bool[n,2]"}},
      {"TfIdfVectorizer", 9, {"int32[b,12]"}, {{"ngram_indexes", Ints{0, 6, 2}}}, {"float32[b,7]"}},
      {"TfIdfVectorizer",
       9,
       {"string[12]"},
       {{"ngram_indexes", Ints{INT64_MAX}}},
       {"float32[9223372036854775807]"}},
      {"TfIdfVectorizer", 9, {"string[12]"}, {}, {"fails: ngram_indexes is missing"}},
      {"com.microsoft:Tokenizer", 1, {"string[b,n]"}, {}, {"string[b,n,?]"}},
      {"com.microsoft:Tokenizer", 1, {"string[0]"}, {}, {"string[0]"}},
      {"com.microsoft:Tokenizer", 1, {"string[1,2,3]"}, {}, {"fails: [n] or [batch,n]"}},
      {"com.microsoft:MurmurHash3", 1, {"string[n]"}, {}, {"uint32[n]"}},
      {"com.microsoft:MurmurHash3", 1, {"int64[n]"}, {{"positive", int64_t{0}}}, {"int32[n]"}},
  });
}

}  // namespace text_test
}  // namespace plimsoll::graph::operators
