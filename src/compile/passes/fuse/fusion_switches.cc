#include "compile/passes/fuse/fusion_switches.h"

#include <algorithm>
#include <optional>

#include "plimsoll/base/text.h"

namespace plimsoll::compile {
namespace {

const FusionPatternRow* FindPattern(std::string_view name) {
  const auto rows = FusionPatternTable();
  const auto found = std::ranges::find(rows, name, &FusionPatternRow::name);
  return found == rows.end() ? nullptr : &*found;
}

// What tells patterns apart: most names end alike.
std::string WithoutEnding(std::string_view name) {
  for (const std::string_view ending : {"FusionPass", "Pass"}) {
    if (name.ends_with(ending)) return std::string(name.substr(0, name.size() - ending.size()));
  }
  return std::string(name);
}

// The pattern that may have been meant; nothing where none is near.
std::optional<std::string> NearestPattern(std::string_view name, FusionGroup group) {
  std::vector<std::string> known;
  for (const FusionPatternRow& row : FusionPatternTable()) {
    if (row.group == group) known.push_back(WithoutEnding(row.name));
  }
  const std::optional<std::string> nearest = NearestName(WithoutEnding(name), known);
  for (const FusionPatternRow& row : FusionPatternTable()) {
    if (nearest && WithoutEnding(row.name) == *nearest) return std::string(row.name);
  }
  return std::nullopt;
}

}  // namespace

FusionSwitches::FusionSwitches(const GroupSwitches& graph_fusion, const GroupSwitches& ub_fusion,
                               std::vector<std::string>& notes) {
  Read(FusionGroup::kGraphFusion, graph_fusion, notes);
  Read(FusionGroup::kUbFusion, ub_fusion, notes);
}

void FusionSwitches::Read(FusionGroup group, const GroupSwitches& asked,
                          std::vector<std::string>& notes) {
  std::vector<std::string> unknown;
  for (const auto& [name, on] : asked.patterns) {
    const FusionPatternRow* const row = FindPattern(name);
    if (row != nullptr && row->group == group) continue;
    const std::optional<std::string> nearest = NearestPattern(name, group);
    if (row != nullptr) {
      notes.push_back(StrCat("fusion switches: '", name, "' is a pattern of ", Name(row->group),
                             ", not of ", Name(group), ": nothing was switched"));
    } else if (nearest) {
      notes.push_back(StrCat("fusion switches: ", Name(group), " has no pattern '", name,
                             "'; did you mean '", *nearest, "'?"));
    } else {
      unknown.push_back(name);
    }
  }
  if (!unknown.empty()) {
    notes.push_back(StrCat("fusion switches: on this device ", Name(group), " has no ",
                           Join(unknown, ", "), ": nothing was switched by that"));
  }
  std::vector<std::string> stay;
  for (const FusionPatternRow& row : FusionPatternTable()) {
    if (row.group != group) continue;
    const auto named = asked.patterns.find(row.name);
    const bool on = named == asked.patterns.end() ? !asked.all_off : named->second;
    if (on) continue;
    if (row.always_on_because.empty()) {
      SwitchOff(row.pattern);
    } else {
      stay.push_back(StrCat(row.name, " (", row.always_on_because, ")"));
    }
  }
  if (stay.empty()) return;
  notes.push_back(
      StrCat("fusion switches: these cannot be switched off and stay on: ", Join(stay, ", ")));
}

}  // namespace plimsoll::compile
