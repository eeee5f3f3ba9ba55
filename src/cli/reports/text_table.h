#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace plimsoll::cli {

// "1 model", "2 models".
std::string Counted(size_t number, std::string_view thing);

// Rows of cells as lines, each column as wide as its widest cell. The first `left` columns begin at
// the left, the others end at the right.
std::string TextTable(const std::vector<std::vector<std::string>>& rows, size_t left);

}  // namespace plimsoll::cli
