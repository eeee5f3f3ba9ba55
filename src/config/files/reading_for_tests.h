#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "config/mistakes.h"
#include "plimsoll/base/text.h"

// For tests of the readers of small files.
namespace plimsoll::config {

// What is wrong with a text, "place: why" a line each.
template <typename Read>
std::string WrongWith(Read read, std::string_view text) {
  Mistakes mistakes;
  read(text, "f", mistakes);
  std::vector<std::string> lines;
  for (const Error& mistake : mistakes.all()) {
    lines.push_back(StrCat(mistake.where, ": ", mistake.why));
  }
  return Join(lines, "\n");
}

template <typename Read>
auto MustRead(Read read, std::string_view text) {
  Mistakes mistakes;
  auto value = read(text, "f", mistakes);
  EXPECT_TRUE(mistakes.empty()) << mistakes.ToStatus().error().Text();
  return value;
}

}  // namespace plimsoll::config
