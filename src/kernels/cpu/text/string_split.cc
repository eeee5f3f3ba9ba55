#include <algorithm>
#include <limits>
#include <string_view>

#include "kernels/cpu/families.h"
#include "plimsoll/base/text.h"

namespace plimsoll::kernels::cpu {
namespace {

constexpr std::string_view kSpaces = " \t\n\v\f\r";

// Calls visit(piece) for each piece of the text, and gives how many there are.
template <typename Visit>
int64_t SplitAtSpaces(std::string_view text, int64_t most_splits, const Visit& visit) {
  int64_t pieces = 0;
  while (true) {
    const size_t begin = text.find_first_not_of(kSpaces);
    if (begin == std::string_view::npos) return pieces;
    text.remove_prefix(begin);
    if (pieces == most_splits) {
      visit(text.substr(0, text.find_last_not_of(kSpaces) + 1));
      return pieces + 1;
    }
    const size_t end = std::min(text.find_first_of(kSpaces), text.size());
    visit(text.substr(0, end));
    text.remove_prefix(end);
    ++pieces;
  }
}

template <typename Visit>
int64_t SplitAtDelimiter(std::string_view text, std::string_view delimiter, int64_t most_splits,
                         const Visit& visit) {
  for (int64_t pieces = 1;; ++pieces) {
    const size_t end = pieces > most_splits ? std::string_view::npos : text.find(delimiter);
    visit(text.substr(0, end));
    if (end == std::string_view::npos) return pieces;
    text.remove_prefix(end + delimiter.size());
  }
}

struct Splitter {
  std::string delimiter;  // empty: at runs of spaces
  int64_t most_splits = std::numeric_limits<int64_t>::max();

  template <typename Visit>
  int64_t Split(std::string_view text, const Visit& visit) const {
    return delimiter.empty() ? SplitAtSpaces(text, most_splits, visit)
                             : SplitAtDelimiter(text, delimiter, most_splits, visit);
  }
};

// Pieces on a new last axis, padded with empty strings to the longest; and how many there are.
Result<KernelPointer> MakeStringSplit(KernelSite& site) {
  Splitter splitter;
  splitter.delimiter = site.attributes().String("delimiter", "");
  splitter.most_splits = site.attributes().Int("maxsplit", splitter.most_splits);
  if (splitter.most_splits < 0) {
    return site.BadInput(StrCat("maxsplit is ", splitter.most_splits));
  }
  const TensorInfo& texts = site.inputs[0];
  TensorInfo& pieces = site.outputs[0];
  const int64_t count = texts.elements();
  if (!pieces.sized) {
    const auto* first = static_cast<const std::string*>(texts.data);
    int64_t longest = 0;
    for (int64_t i = 0; i < count; ++i) {
      longest = std::max(longest, splitter.Split(first[i], [](std::string_view) {}));
    }
    pieces.dims = texts.dims;
    pieces.dims.push_back(longest);
    pieces.sized = true;
  }
  if (site.has_output(1) && !site.outputs[1].sized) {
    site.outputs[1].dims = texts.dims;
    site.outputs[1].sized = true;
  }
  return MakeKernel(
      [splitter = std::move(splitter), count, room = pieces.dims.back()](const KernelCall& call) {
        const auto* from = static_cast<const std::string*>(call.inputs[0]);
        auto* to = static_cast<std::string*>(call.outputs[0]);
        auto* lengths = static_cast<int64_t*>(call.outputs[1]);
        for (int64_t i = 0; i < count; ++i) {
          std::string* out = to + i * room;
          std::string* const end = out + room;
          const int64_t length = splitter.Split(from[i], [&out, end](std::string_view piece) {
            if (out != end) *out++ = piece;
          });
          std::fill(out, end, std::string());
          if (lengths != nullptr) lengths[i] = length;
        }
      });
}

constexpr KernelRow kStringSplitRows[] = {
    {"", "StringSplit", 20, graph::kNewest, MakeStringSplit},
};

}  // namespace

std::span<const KernelRow> StringSplitKernels() { return kStringSplitRows; }

}  // namespace plimsoll::kernels::cpu
