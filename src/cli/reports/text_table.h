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

// The same for a table whose first row is its headings and whose column `names` may be long:
// columns that are empty below their heading are left out, and on a terminal lines fit its width.
// For that columns in `expendable` go, one after the other, and then names are shortened: what is
// kept is the end, which tells more, behind three points.
std::string FittedTable(std::vector<std::vector<std::string>> rows, size_t left, size_t names,
                        const std::vector<std::string>& expendable);

// Counts as people read them: "512", "1.23 k", "45.6 M", "7.89 G".
std::string Scaled(double value);

// A text whose lines are longer than `columns`, each broken between words; what follows stands
// below the last column of the line that begins in its first half, or else a little to the right.
std::string Folded(std::string_view text, size_t columns);
// The same for the terminal that a file descriptor is; where it is none, the text stays.
std::string FoldedFor(int descriptor, std::string_view text);

// Three figures, as people read them: "0.123", "4.56", "78.9", "12345".
std::string Rounded(double value);

}  // namespace plimsoll::cli
