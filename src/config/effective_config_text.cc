#include <algorithm>
#include <nlohmann/json.hpp>

#include "config/effective_config.h"
#include "plimsoll/base/text.h"

namespace plimsoll::config {
namespace {

constexpr size_t kGap = 2;
constexpr size_t kWidestColumn = 40;  // a longer value pushes its own line only

std::string Padded(std::string text, size_t width) {
  text.resize(std::max(width, text.size()) + kGap, ' ');
  return text;
}

}  // namespace

std::string OriginText(const EffectiveValue& value) {
  if (value.source == EffectiveValue::Source::kEnvironment) return "environment " + value.key;
  return value.key == value.option->name ? value.origin : StrCat(value.origin, ", ", value.key);
}

std::string ValueText(const EffectiveValue& value) {
  if (value.source == EffectiveValue::Source::kDefault && value.value.empty()) return "not set";
  return StrCat(value.value, value.given.empty() ? "" : StrCat(", given as ", value.given),
                value.idle ? ", without effect" : "");
}

std::string EffectiveConfigText(const EffectiveConfig& effective) {
  size_t name_width = 0;
  size_t value_width = 0;
  for (const EffectiveValue& value : effective.values) {
    name_width = std::max(name_width, value.option->name.size());
    const size_t width = ValueText(value).size();
    if (width <= kWidestColumn) value_width = std::max(value_width, width);
  }
  std::string text;
  for (const EffectiveValue& value : effective.values) {
    text += Padded(std::string(value.option->name), name_width);
    text += StrCat(Padded(ValueText(value), value_width), OriginText(value), "\n");
  }
  return text;
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
    row["acts"] = !value.idle;
    rows[std::string(value.option->name)] = std::move(row);
  }
  return rows.dump(2, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace plimsoll::config
