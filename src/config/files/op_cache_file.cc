#include <optional>

#include "config/files/operator_files.h"
#include "config/files/plain_lines.h"
#include "plimsoll/base/text.h"

namespace plimsoll::config {
namespace {

constexpr std::string_view kCacheSection = "op_compiler_cache";
constexpr std::string_view kCacheSize = "max_op_cache_size";
constexpr std::string_view kRemainRatio = "remain_cache_size_ratio";

}  // namespace

bool IsCacheSize(int64_t megabytes) { return megabytes >= -1; }
bool IsRemainRatio(int64_t percent) { return percent >= 1 && percent <= 100; }

CacheLimits ReadOpCacheIni(std::string_view text, const std::string& name, Mistakes& mistakes) {
  std::optional<int64_t> size;
  std::optional<int64_t> ratio;
  const size_t before = mistakes.size();
  for (const IniEntry& entry : ReadIniEntries(text, name, mistakes)) {
    const bool is_size = entry.key == kCacheSize;
    if (entry.section != kCacheSection || (!is_size && entry.key != kRemainRatio)) {
      mistakes.Add(FileMistake(
          entry.place, StrCat(entry.key, " does not belong into [", entry.section, "]; only ",
                              kCacheSize, " and ", kRemainRatio, " in [", kCacheSection, "] do")));
      continue;
    }
    std::optional<int64_t>& target = is_size ? size : ratio;
    const std::optional<int64_t> number = ParseInteger(entry.value);
    const bool fits = number && (is_size ? IsCacheSize(*number) : IsRemainRatio(*number));
    if (target || !fits) {
      mistakes.Add(FileMistake(entry.place,
                               target ? StrCat(entry.key, " comes a second time")
                                      : StrCat(entry.key, "=", entry.value, " is not ",
                                               is_size ? "a number from -1" : "from 1 to 100")));
      continue;
    }
    target = number;
  }
  if ((!size || !ratio) && mistakes.size() == before) {
    mistakes.Add(FileMistake(name, StrCat(size ? kRemainRatio : kCacheSize, " is missing")));
  }
  return {size.value_or(CacheLimits().max_mb), ratio.value_or(CacheLimits().remain_ratio), false};
}

std::string OpCacheIniText(const CacheLimits& limits) {
  return StrCat("[", kCacheSection, "]\n# MB of disk; -1: files do not age\n", kCacheSize, "=",
                limits.max_mb, "\n# percent that stay when space runs short, 1 to 100\n",
                kRemainRatio, "=", limits.remain_ratio, "\n");
}

}  // namespace plimsoll::config
