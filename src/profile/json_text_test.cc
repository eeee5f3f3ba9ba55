#include "profile/json_text.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace plimsoll::profile::json_text_test {

std::string Written(std::string_view text) {
  std::string out;
  AppendJsonString(out, text);
  return out;
}

TEST(JsonTextTest, WhatIsWrittenReadsBackAsItWas) {
  for (const std::string text :
       {"", "conv1", "</script><script>alert(1)</script>", "a \"b\" \\ 'c'", "<!-- & -->",
        "tab\tline\nnull", "Größe 張量 🚢", "\u2028\u2029"}) {
    EXPECT_EQ(nlohmann::json::parse(Written(text)).get<std::string>(), text);
  }
  const std::string zero("a\0b", 3);
  EXPECT_EQ(nlohmann::json::parse(Written(zero)).get<std::string>(), zero);
}

TEST(JsonTextTest, NothingThatEndsAScriptElementIsLeft) {
  const std::string written = Written("</script><!--<script>&\u2028\u2029\x7F");
  for (const char* hostile : {"<", ">", "&", "\u2028", "\u2029", "\x7F"}) {
    EXPECT_EQ(written.find(hostile), std::string::npos) << hostile;
  }
}

TEST(JsonTextTest, BytesThatAreNoUtf8AreReplaced) {
  const std::string mark = "\xEF\xBF\xBD";
  EXPECT_EQ(Written("a\xFFz"), "\"a" + mark + "z\"");
  EXPECT_EQ(Written("\xC0\xAF"), "\"" + mark + mark + "\"");             // longer than needed
  EXPECT_EQ(Written("\xED\xA0\x80"), "\"" + mark + mark + mark + "\"");  // a surrogate
  EXPECT_EQ(Written("\xF4\x90\x80\x80"), "\"" + mark + mark + mark + mark + "\"");
  EXPECT_EQ(Written("\xE5\xBC"), "\"" + mark + mark + "\"");  // cut off
}

}  // namespace plimsoll::profile::json_text_test
