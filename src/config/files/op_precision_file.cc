#include <array>

#include "config/files/operator_files.h"
#include "config/files/plain_lines.h"
#include "plimsoll/base/text.h"

namespace plimsoll::config {
namespace {

// In the order of ImplMode.
constexpr std::array<std::string_view, 5> kModeNames = {"high_precision", "high_performance",
                                                        "support_out_of_bound_index", "keep_fp16",
                                                        "super_performance"};

std::vector<std::string> AllModeNames() { return {kModeNames.begin(), kModeNames.end()}; }

}  // namespace

std::string_view ImplModeName(ImplMode mode) { return kModeNames[static_cast<size_t>(mode)]; }

OpPrecision ReadOpPrecision(std::string_view text, const std::string& name, Mistakes& mistakes) {
  OpPrecision precision;
  for (const IniEntry& entry : ReadIniEntries(text, name, mistakes)) {
    const bool by_type = entry.section == "ByOpType";
    if (!by_type && entry.section != "ByNodeName") {
      mistakes.Add(FileMistake(
          entry.place, StrCat("section ", NotOneOf(entry.section, {"ByOpType", "ByNodeName"}))));
      continue;
    }
    const auto* mode = std::ranges::find(kModeNames, entry.value);
    if (mode == kModeNames.end()) {
      mistakes.Add(FileMistake(entry.place, NotOneOf(entry.value, AllModeNames())));
      continue;
    }
    auto& entries = by_type ? precision.by_type : precision.by_name;
    const auto value = static_cast<ImplMode>(mode - kModeNames.begin());
    if (!entries.emplace(entry.key, value).second) {
      mistakes.Add(FileMistake(entry.place, StrCat(entry.key, " comes a second time")));
    }
  }
  return precision;
}

}  // namespace plimsoll::config
