#include "config/options/option_table.h"

#include <algorithm>
#include <iterator>

#include "config/options/option_rows.h"
#include "plimsoll/base/text.h"

namespace plimsoll::config {
namespace {

constexpr size_t kMostShown = 80;

std::vector<Option> AllRows() {
  std::vector<Option> rows;
  for (std::vector<Option> (*part)() : {BasicOptions, MemoryOptions, ReuseOptions, PlanningOptions,
                                        ShapeOptions, PerformanceOptions}) {
    std::ranges::move(part(), std::back_inserter(rows));
  }
  return rows;
}

}  // namespace

std::span<const Option> OptionTable() {
  static const std::vector<Option> rows = AllRows();
  return rows;
}

const Option* FindOption(std::string_view key) {
  const auto known_as = [key](const Option& option) {
    return option.name == key ||
           std::ranges::find(option.other_keys, key) != option.other_keys.end();
  };
  const auto row = std::ranges::find_if(OptionTable(), known_as);
  return row == OptionTable().end() ? nullptr : &*row;
}

Result<const Option*> LookUpOption(std::string_view key, std::string_view origin) {
  if (const Option* option = FindOption(key)) return option;
  std::vector<std::string> keys;
  for (const Option& option : OptionTable()) {
    keys.emplace_back(option.name);
    keys.insert(keys.end(), option.other_keys.begin(), option.other_keys.end());
  }
  const auto nearest = NearestName(key, keys);
  return Error{
      ErrorKind::kUsage,
      "config.unknown",
      "unknown option",
      StrCat("'", key.substr(0, kMostShown), "' (", origin, ")"),
      {},
      nearest ? StrCat("did you mean ", *nearest, "?") : "plimsoll options lists them all"};
}

}  // namespace plimsoll::config
