#pragma once

#include <istream>
#include <optional>
#include <string>
#include <string_view>

#include "kernels/host_value.h"
#include "plimsoll/base/status.h"

// Arrays of text in NumPy's file format: elements of one width, filled up with zeros. "<U5" has
// five code points of four bytes, "|S5" five bytes. In tensors a text is UTF-8.
namespace plimsoll::cli {

struct NpyText {
  int64_t width = 0;         // of an element, in letters
  int64_t letter_bytes = 1;  // 1 or 4
  bool swapped = false;      // code points in the other byte order than ours

  int64_t element_bytes() const { return width * letter_bytes; }
};

// What a header's 'descr' says; nothing where it is no text.
std::optional<NpyText> ParseNpyText(std::string_view descr);

// The elements from here on, row by row. False when the stream ends early or holds what is no text.
bool ReadNpyText(std::istream& in, const NpyText& text, kernels::HostTensor& strings);

// A whole file; nothing where an element is no UTF-8.
std::optional<std::string> NpyTextFile(const kernels::HostTensor& strings);

}  // namespace plimsoll::cli
