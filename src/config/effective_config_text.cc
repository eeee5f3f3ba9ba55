#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "config/effective_config.h"
#include "plimsoll/base/text.h"

namespace plimsoll::config {
namespace {

constexpr size_t kWidestColumn = 36;  // a longer cell pushes its own line only

using Line = std::vector<std::string>;  // as many cells as any other

std::string Aligned(const std::vector<Line>& lines) {
  std::vector<size_t> widths(lines.front().size());
  for (const Line& line : lines) {
    for (size_t i = 0; i < line.size(); ++i) {
      if (line[i].size() <= kWidestColumn) widths[i] = std::max(widths[i], line[i].size());
    }
  }
  std::string text;
  for (const Line& line : lines) {
    for (size_t i = 0; i + 1 < line.size(); ++i) {
      text += line[i];
      text.append(std::max(widths[i], line[i].size()) - line[i].size() + 2, ' ');
    }
    text += line.back() + "\n";
  }
  return text;
}

}  // namespace

std::string OriginText(const EffectiveValue& value) {
  if (value.source == EffectiveValue::Source::kEnvironment) return "environment " + value.key;
  return StrCat(value.origin, value.key == value.option->name ? "" : StrCat(", ", value.key),
                value.level ? StrCat(", ", LevelName(*value.level)) : "");
}

std::string ValueText(const EffectiveValue& value) {
  if (value.source == EffectiveValue::Source::kDefault && value.value.empty()) return "not set";
  return StrCat(value.value, value.given.empty() ? "" : StrCat(", given as ", value.given),
                value.idle ? ", without effect" : "");
}

std::string EffectiveConfigText(const EffectiveConfig& effective, bool with_legal_values) {
  std::vector<Line> lines = {{"option", "in force", "from", "legal"}};
  for (const EffectiveValue& value : effective.values) {
    lines.push_back({std::string(value.option->name), ValueText(value), OriginText(value),
                     LegalText(*value.option)});
  }
  if (!with_legal_values) {
    for (Line& line : lines) line.pop_back();
  }
  return Aligned(lines);
}

std::string EffectiveConfigJson(const EffectiveConfig& effective) {
  using nlohmann::ordered_json;
  ordered_json rows = ordered_json::object();
  for (const EffectiveValue& value : effective.values) {
    const bool set = value.source != EffectiveValue::Source::kDefault || !value.value.empty();
    ordered_json row = {{"value", set ? ordered_json(value.value) : ordered_json()}};
    if (!value.given.empty()) row["given"] = value.given;
    row["key"] = value.key;
    row["origin"] = value.origin;
    if (value.level) row["level"] = LevelName(*value.level);
    row["acts"] = !value.idle;
    rows[std::string(value.option->name)] = std::move(row);
  }
  return rows.dump(2, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace plimsoll::config
