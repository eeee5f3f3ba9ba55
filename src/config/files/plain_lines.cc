#include "config/files/plain_lines.h"

#include "plimsoll/base/text.h"

namespace plimsoll::config {
namespace {

constexpr size_t kLongestShown = 80;

std::string Quoted(std::string_view text) {
  return StrCat("'", text.substr(0, kLongestShown), text.size() > kLongestShown ? "..." : "", "'");
}

}  // namespace

std::vector<PlainLine> PlainLines(std::string_view text) {
  std::vector<PlainLine> lines;
  size_t number = 0;
  for (const std::string_view line : Split(text, '\n')) {
    ++number;
    const std::string_view held = Trim(line);
    if (held.empty() || held.front() == '#') continue;
    lines.push_back({held, number, static_cast<size_t>(held.data() - line.data()) + 1});
  }
  return lines;
}

std::vector<IniEntry> ReadIniEntries(std::string_view text, const std::string& name,
                                     Mistakes& mistakes) {
  std::vector<IniEntry> entries;
  std::string section;
  for (const PlainLine& line : PlainLines(text)) {
    const std::string place = StrCat(name, ":", line.number, ":", line.column);
    if (line.text.front() == '[') {
      if (line.text.back() == ']') {
        section = Trim(line.text.substr(1, line.text.size() - 2));
      } else {
        mistakes.Add(FileMistake(place, "the section has no ]", "config.syntax"));
      }
      continue;
    }
    const size_t equals = line.text.find('=');
    const std::string_view key = Trim(line.text.substr(0, equals));
    if (equals == std::string_view::npos || key.empty()) {
      mistakes.Add(FileMistake(place, StrCat(Quoted(line.text), " is no line key = value"),
                               "config.syntax"));
      continue;
    }
    entries.push_back(
        {section, std::string(key), std::string(Trim(line.text.substr(equals + 1))), place});
  }
  return entries;
}

Error FileMistake(std::string place, std::string why, std::string code) {
  return {ErrorKind::kBadFile, std::move(code), "option refused",
          std::move(place),    std::move(why),  {}};
}

std::string NotOneOf(std::string_view word, const std::vector<std::string>& known) {
  const auto nearest = NearestName(word, known);
  return StrCat(Quoted(word), " is none of ", Join(known, ", "),
                nearest ? StrCat(", did you mean ", *nearest, "?") : "");
}

std::vector<std::string> CommaWords(std::string_view text, const std::string& place,
                                    Mistakes& mistakes) {
  std::vector<std::string> words;
  for (const std::string_view part : Split(text, ',')) {
    const std::string_view word = Trim(part);
    if (word.empty()) {
      mistakes.Add(FileMistake(place, StrCat("an item of ", Quoted(text), " is empty")));
    } else {
      words.emplace_back(word);
    }
  }
  return words;
}

}  // namespace plimsoll::config
