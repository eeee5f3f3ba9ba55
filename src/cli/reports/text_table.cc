#include "cli/reports/text_table.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "plimsoll/base/text.h"

namespace plimsoll::cli {
namespace {

constexpr int kMostFigures = 6;  // behind the point

size_t ColumnsOf(int descriptor) {
  constexpr size_t kUsual = 80;
  winsize size{};
  const bool known = ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  return known ? size.ws_col : kUsual;
}

// What a terminal shows of a text: letters, without colours.
size_t ShownWidth(std::string_view text) {
  size_t width = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\033') {
      i = std::min(text.find('m', i), text.size());
      continue;
    }
    // Letters beyond ASCII are one column wide, however many bytes they have.
    if ((static_cast<unsigned char>(text[i]) & 0xC0) != 0x80) ++width;
  }
  return width;
}

// Words of `line`, as many in a line as fit; the first line has used so many columns already.
std::string FoldedWords(std::string_view line, size_t used, size_t indent, size_t columns) {
  std::string folded;
  while (!line.empty()) {
    const size_t letter = std::min(line.find_first_not_of(' '), line.size());
    const size_t end = std::min(line.find(' ', letter), line.size());
    std::string_view word = line.substr(0, end);
    line.remove_prefix(end);
    if (used > indent && used + ShownWidth(word) > columns) {
      folded += "\n" + std::string(indent, ' ');
      used = indent;
      word.remove_prefix(letter);
    }
    folded += word;
    used += ShownWidth(word);
  }
  return folded;
}

std::string FoldedLine(std::string_view line, size_t columns) {
  if (ShownWidth(line) <= columns) return std::string(line);
  constexpr size_t kColumn = 8;  // what begins further to the right stands in a column
  const size_t begin = std::min(line.find_first_not_of(' '), line.size());
  size_t indent = begin > kColumn ? begin : begin + 2;
  size_t gap = std::string_view::npos;  // before the last column, where that begins far right
  for (size_t at = line.find("  ", begin); at != std::string_view::npos && at < columns;) {
    const size_t text = std::min(line.find_first_not_of(' ', at), line.size());
    const size_t width = ShownWidth(line.substr(0, text));
    if (width * 2 <= columns) {
      indent = width;
    } else if (ShownWidth(line.substr(begin, at - begin)) * 2 > columns || indent <= begin + 2) {
      gap = at;
    }
    at = line.find("  ", text);
  }
  if (gap == std::string_view::npos || indent > begin + 2) {
    return FoldedWords(line, 0, indent, columns);
  }
  const std::string_view behind = line.substr(line.find_first_not_of(' ', gap));
  const size_t below = begin + 4;
  return StrCat(FoldedWords(line.substr(0, gap), 0, indent, columns), "\n", std::string(below, ' '),
                FoldedWords(behind, below, below, columns));
}

std::string Shortened(const std::string& name, size_t columns) {
  constexpr std::string_view kPoints = "...";
  if (name.size() <= columns) return name;
  return StrCat(kPoints, name.substr(name.size() - (columns - kPoints.size())));
}

}  // namespace

std::string Counted(size_t number, std::string_view thing) {
  return StrCat(number, " ", thing, number == 1 ? "" : "s");
}

std::string TextTable(const std::vector<std::vector<std::string>>& rows, size_t left) {
  std::vector<size_t> widths;
  for (const auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string text;
  for (const auto& row : rows) {
    std::string line;
    for (size_t i = 0; i < row.size(); ++i) {
      const std::string room(widths[i] - row[i].size(), ' ');
      line += i < left ? StrCat(row[i], room, "  ") : StrCat(room, row[i], "  ");
    }
    line.resize(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

size_t OutputColumns() { return ColumnsOf(STDOUT_FILENO); }

std::string Wrapped(const std::string& heading, std::string_view text, size_t columns) {
  std::string lines = heading;
  size_t used = heading.size();
  bool first = true;
  for (const std::string_view word : Split(text, ' ')) {
    if (!first && used + 1 + word.size() > columns) {
      lines += "\n" + std::string(heading.size(), ' ');
      used = heading.size();
      first = true;
    }
    lines += StrCat(first ? "" : " ", word);
    used += word.size() + (first ? 0 : 1);
    first = false;
  }
  return lines + "\n";
}

std::string FittedTable(std::vector<std::vector<std::string>> rows, size_t left, size_t names,
                        const std::vector<std::string>& expendable) {
  const size_t columns = rows.front().size();
  for (auto& row : rows) row.resize(columns);
  std::vector<size_t> widths(columns);
  std::vector<bool> kept(columns);
  for (size_t i = 0; i < columns; ++i) {
    for (size_t row = 0; row < rows.size(); ++row) {
      widths[i] = std::max(widths[i], rows[row][i].size());
      kept[i] = kept[i] || (row > 0 && !rows[row][i].empty());
    }
  }
  constexpr size_t kShortest = 16;
  if (isatty(STDOUT_FILENO) != 0) {
    const size_t room = OutputColumns();
    const auto others = [&] {
      size_t sum = 0;
      for (size_t i = 0; i < columns; ++i) sum += kept[i] && i != names ? widths[i] + 2 : 0;
      return sum;
    };
    for (const std::string& heading : expendable) {
      if (others() + std::min(widths[names], kShortest) <= room) break;
      const auto found = std::find(rows[0].begin(), rows[0].end(), heading);
      if (found != rows[0].end()) kept[static_cast<size_t>(found - rows[0].begin())] = false;
    }
    const size_t most = std::max(kShortest, room - std::min(room, others()));
    for (auto& row : rows) row[names] = Shortened(row[names], most);
  }
  size_t kept_left = 0;
  for (size_t i = 0; i < left; ++i) kept_left += kept[i] ? 1 : 0;
  for (auto& row : rows) {
    std::vector<std::string> cells;
    for (size_t i = 0; i < columns; ++i) {
      if (kept[i]) cells.push_back(std::move(row[i]));
    }
    row = std::move(cells);
  }
  return TextTable(rows, kept_left);
}

std::string Folded(std::string_view text, size_t columns) {
  std::string folded;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    folded += FoldedLine(text.substr(0, end), columns);
    if (end < text.size()) folded += '\n';
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return folded;
}

std::string FoldedFor(int descriptor, std::string_view text) {
  if (isatty(descriptor) == 0) return std::string(text);
  return Folded(text, ColumnsOf(descriptor));
}

std::string Scaled(double value) {
  constexpr std::array<const char*, 6> kScales = {"", " k", " M", " G", " T", " P"};
  size_t scale = 0;
  while (std::abs(value) >= 999.5 && scale + 1 < kScales.size()) {
    value /= 1000;
    ++scale;
  }
  return StrCat(scale == 0 ? StrCat(value) : Rounded(value), kScales[scale]);
}

std::string Rounded(double value) {
  if (!std::isfinite(value) || value == 0) return StrCat(value);
  const int whole = static_cast<int>(std::floor(std::log10(std::abs(value))));
  const int figures = std::max(0, 2 - whole);
  return figures > kMostFigures ? fmt::format("{:.2e}", value)
                                : fmt::format("{:.{}f}", value, figures);
}

}  // namespace plimsoll::cli
