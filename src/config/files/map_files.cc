#include "config/files/map_files.h"

#include "config/files/config_entries.h"
#include "config/files/plain_lines.h"
#include "plimsoll/base/text.h"

namespace plimsoll::config {
namespace {

using Words = std::vector<std::string>;

std::vector<FileEntry> EntriesOf(std::string_view text, const std::string& name,
                                 JsonComments comments, Mistakes& mistakes) {
  auto entries = ReadJsonEntries(text, name, comments);
  if (entries.ok()) return std::move(*entries);
  mistakes.Add(FileMistake(entries.error().where, entries.error().why, entries.error().code));
  return {};
}

// Whether an entry is a map as it must be; a mistake where it is not.
bool IsMap(const FileEntry& entry, Mistakes& mistakes) {
  if (!entry.value) return true;
  mistakes.Add(FileMistake(
      entry.place, StrCat(entry.path.back(), " is ", ShownValue(*entry.value), ", not a map")));
  return false;
}

// The key of an entry, where it is one of those that belong there.
bool IsOneOf(const FileEntry& entry, const Words& known, Mistakes& mistakes) {
  if (std::ranges::find(known, entry.path.back()) != known.end()) return true;
  mistakes.Add(FileMistake(entry.place, NotOneOf(entry.path.back(), known)));
  return false;
}

// The list of an entry; a mistake and nothing where it is none or holds an empty name.
Words ListOf(const FileEntry& entry, Mistakes& mistakes) {
  const auto* list = entry.value ? std::get_if<Words>(&*entry.value) : nullptr;
  if (list == nullptr || std::ranges::find(*list, "") != list->end()) {
    mistakes.Add(FileMistake(entry.place, StrCat(entry.path.back(), " is no list of names")));
    return {};
  }
  return *list;
}

void ReadSwitch(const FileEntry& entry, FusionGroup& group, Mistakes& mistakes) {
  const auto* word = entry.value ? std::get_if<std::string>(&*entry.value) : nullptr;
  if (word == nullptr || (*word != "on" && *word != "off")) {
    mistakes.Add(FileMistake(entry.place, StrCat(entry.path.back(), " is ",
                                                 entry.value ? ShownValue(*entry.value) : "a map",
                                                 ", neither on nor off")));
  } else if (entry.path.back() == "ALL") {
    group.all_off = *word == "off";
  } else {
    group.patterns.emplace(entry.path.back(), *word == "on");
  }
}

}  // namespace

FusionSwitches ReadFusionSwitches(std::string_view text, const std::string& name,
                                  Mistakes& mistakes) {
  FusionSwitches switches;
  const size_t before = mistakes.size();
  bool has_switch = false;
  for (const FileEntry& entry : EntriesOf(text, name, JsonComments::kRefused, mistakes)) {
    const auto& path = entry.path;
    if (path.size() == 1) {
      if (IsOneOf(entry, {"Switch"}, mistakes)) has_switch = IsMap(entry, mistakes);
    } else if (path[0] != "Switch") {
      continue;  // its map was refused as a whole
    } else if (path.size() == 2) {
      if (IsOneOf(entry, {"GraphFusion", "UBFusion"}, mistakes)) IsMap(entry, mistakes);
    } else if (path.size() == 3 && (path[1] == "GraphFusion" || path[1] == "UBFusion")) {
      ReadSwitch(entry, path[1] == "UBFusion" ? switches.ub_fusion : switches.graph_fusion,
                 mistakes);
    }
  }
  if (!has_switch && mistakes.size() == before) {
    mistakes.Add(FileMistake(name, "it has no map Switch"));
  }
  return switches;
}

MixList ReadMixList(std::string_view text, const std::string& name, Mistakes& mistakes) {
  MixList list;
  for (const FileEntry& entry : EntriesOf(text, name, JsonComments::kAllowed, mistakes)) {
    const auto& path = entry.path;
    if (path.size() == 1) {
      if (IsOneOf(entry, {"black-list", "white-list"}, mistakes)) IsMap(entry, mistakes);
      continue;
    }
    if (path.size() != 2 || (path[0] != "black-list" && path[0] != "white-list")) continue;
    if (!IsOneOf(entry, {"to-remove", "to-add"}, mistakes)) continue;
    const bool black = path[0] == "black-list";
    const bool add = path[1] == "to-add";
    (black ? (add ? list.black_to_add : list.black_to_remove)
           : (add ? list.white_to_add : list.white_to_remove)) = ListOf(entry, mistakes);
  }
  for (const std::string& type : list.black_to_add) {
    if (std::ranges::find(list.white_to_add, type) == list.white_to_add.end()) continue;
    mistakes.Add(FileMistake(name, StrCat(type, " is to be added to both lists")));
  }
  return list;
}

AoeSettings ReadAoeTuning(std::string_view text, const std::string& name, Mistakes& mistakes) {
  AoeSettings aoe;
  for (const FileEntry& entry : EntriesOf(text, name, JsonComments::kRefused, mistakes)) {
    if (entry.path.size() > 1) continue;
    const std::string& key = entry.path.front();
    if (!IsOneOf(entry, {"tune_ops_name", "tune_ops_type", "tune_optimization_level", "feature"},
                 mistakes)) {
      continue;
    }
    if (key == "tune_optimization_level") {
      const auto* level = entry.value ? std::get_if<std::string>(&*entry.value) : nullptr;
      aoe.high_performance = level != nullptr && *level == "O1";
      if (level == nullptr || (*level != "O1" && *level != "O2")) {
        mistakes.Add(FileMistake(entry.place, "tune_optimization_level is neither O1 nor O2"));
      }
      continue;
    }
    Words list = ListOf(entry, mistakes);
    if (key == "feature") {
      for (const std::string& word : list) {
        const Words known = {"deeper_opat", "nonhomo_split"};
        if (std::ranges::find(known, word) == known.end()) {
          mistakes.Add(FileMistake(entry.place, NotOneOf(word, known)));
        }
        aoe.deeper_opat = aoe.deeper_opat || word == "deeper_opat";
        aoe.nonhomo_split = aoe.nonhomo_split || word == "nonhomo_split";
      }
    } else {
      (key == "tune_ops_name" ? aoe.operators.names : aoe.operators.types) = std::move(list);
    }
  }
  return aoe;
}

}  // namespace plimsoll::config
