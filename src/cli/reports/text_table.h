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

// The columns of the terminal that standard output is; 80 where it is none, or does not tell.
size_t OutputColumns();

// A text behind a heading, broken between words so that no line is longer than `columns`; later
// lines begin below the text.
std::string Wrapped(const std::string& heading, std::string_view text, size_t columns);

// Three figures, as people read them: "0.123", "4.56", "78.9", "12345".
std::string Rounded(double value);

}  // namespace plimsoll::cli
