#include "cli/reports/text_table.h"

#include <algorithm>

#include "plimsoll/base/text.h"

namespace plimsoll::cli {

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

}  // namespace plimsoll::cli
