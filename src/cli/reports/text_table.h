#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace plimsoll::cli {

// Rows of cells as lines, each column as wide as its widest cell. The first `left` columns begin at
// the left, the others end at the right.
std::string TextTable(const std::vector<std::vector<std::string>>& rows, size_t left);

}  // namespace plimsoll::cli
