#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "config/mistakes.h"

namespace plimsoll::config {

// A line that holds something, without the blanks around it.
struct PlainLine {
  std::string_view text;
  size_t number = 0;  // from 1
  size_t column = 0;  // of its first character, from 1
};

// Lines of a text that are neither empty nor comments (# first).
std::vector<PlainLine> PlainLines(std::string_view text);

// A line `key = value` below a line `[section]`.
struct IniEntry {
  std::string section;  // empty before the first
  std::string key;
  std::string value;
  std::string place;  // "op_cache.ini:3:1"
};

// The entries of a file called `name`; lines that are neither section nor entry are mistakes.
// Blanks around sections, keys and values do not count. Linear in the text.
std::vector<IniEntry> ReadIniEntries(std::string_view text, const std::string& name,
                                     Mistakes& mistakes);

// Something wrong at a place of a file that an option names. Who asked for the file adds the option
// and what is legal.
Error FileMistake(std::string place, std::string why, std::string code = "config.value");

// "'Swich' does not belong here; did you mean Switch?"
std::string NotOneOf(std::string_view word, const std::vector<std::string>& known);

// The words between commas, without blanks around them; a mistake where one is empty.
std::vector<std::string> CommaWords(std::string_view text, const std::string& place,
                                    Mistakes& mistakes);

}  // namespace plimsoll::config
