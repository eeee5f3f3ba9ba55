#include "config/files/batch_strategies.h"

#include <array>
#include <vector>

#include "plimsoll/base/text.h"

namespace plimsoll::config {
namespace {

struct Knob {
  const char* name;
  std::optional<bool> BlockReuse::*field;
};

constexpr std::array kKnobs = {Knob{"useRange", &BlockReuse::use_range},
                               Knob{"ascendingSort", &BlockReuse::ascending_sort},
                               Knob{"reuseFirstRelease", &BlockReuse::reuse_first_release},
                               Knob{"memoryPriorityMode", &BlockReuse::memory_priority_mode}};

Error Refusal(size_t batch, std::string_view reason) {
  return {ErrorKind::kUsage,
          "config.batch_strategy",
          "batch strategies not understood",
          {},
          StrCat("batch ", batch, ": ", reason),
          {}};
}

Status ReadKnob(size_t batch, std::string_view text, BlockReuse& knobs) {
  const size_t equals = text.find('=');
  const std::string_view name = text.substr(0, equals);
  const std::string_view value = equals == std::string_view::npos ? "" : text.substr(equals + 1);
  std::vector<std::string> names;
  for (const Knob& knob : kKnobs) {
    names.emplace_back(knob.name);
    if (name != knob.name) continue;
    if (value != "0" && value != "1") return Refusal(batch, StrCat(name, " is not 0 or 1"));
    if (knobs.*knob.field) return Refusal(batch, StrCat(name, " comes a second time"));
    knobs.*knob.field = value == "1";
    return {};
  }
  const auto nearest = NearestName(name, names);
  return Refusal(batch, StrCat("'", name, "' is neither search nor block nor a knob",
                               nearest ? StrCat(", did you mean ", *nearest, "?") : ""));
}

Result<std::optional<BlockReuse>> ReadStrategy(size_t batch, std::string_view text) {
  if (text == "search") return std::optional<BlockReuse>();
  BlockReuse knobs;
  if (text != "block") {
    for (const std::string_view part : Split(text, ',')) PLIMSOLL_TRY(ReadKnob(batch, part, knobs));
  }
  return std::optional(knobs);
}

}  // namespace

Result<BatchStrategies> ParseBatchStrategies(std::string_view text) {
  BatchStrategies strategies;
  size_t batch = 0;
  for (const std::string_view entry : Split(text, ';')) {
    ++batch;
    const size_t colon = entry.rfind(':');
    if (colon == std::string_view::npos) return Refusal(batch, "it has no colon behind its label");
    const std::string label(entry.substr(0, colon));
    if (label.empty()) return Refusal(batch, "its label is empty");
    PLIMSOLL_ASSIGN(const std::optional<BlockReuse> strategy,
                    ReadStrategy(batch, entry.substr(colon + 1)));
    if (!strategies.emplace(label, strategy).second) {
      return Refusal(batch, StrCat("the label '", label, "' comes a second time"));
    }
  }
  return strategies;
}

std::string Text(const BatchStrategies& strategies) {
  std::vector<std::string> entries;
  for (const auto& [label, strategy] : strategies) {
    std::vector<std::string> parts;
    for (const Knob& knob : kKnobs) {
      if (!strategy || !(*strategy.*knob.field)) continue;
      parts.push_back(StrCat(knob.name, "=", *(*strategy.*knob.field) ? 1 : 0));
    }
    if (parts.empty()) parts.emplace_back(strategy ? "block" : "search");
    entries.push_back(StrCat(label, ":", Join(parts, ",")));
  }
  return Join(entries, ";");
}

}  // namespace plimsoll::config
