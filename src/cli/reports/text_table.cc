#include "cli/reports/text_table.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>

#include "plimsoll/base/text.h"

namespace plimsoll::cli {
namespace {

constexpr int kMostFigures = 6;  // behind the point

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

size_t OutputColumns() {
  constexpr size_t kUsual = 80;
  winsize size{};
  const bool known = ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  return known ? size.ws_col : kUsual;
}

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

std::string Rounded(double value) {
  if (!std::isfinite(value) || value == 0) return StrCat(value);
  const int whole = static_cast<int>(std::floor(std::log10(std::abs(value))));
  const int figures = std::max(0, 2 - whole);
  return figures > kMostFigures ? fmt::format("{:.2e}", value)
                                : fmt::format("{:.{}f}", value, figures);
}

}  // namespace plimsoll::cli
