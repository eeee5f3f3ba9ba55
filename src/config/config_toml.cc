// Compiled into this file alone: no library to link, and no exception to catch.
#define TOML_HEADER_ONLY 1
#define TOML_EXCEPTIONS 0
#define TOML_MAX_NESTED_VALUES 16
#include <toml++/toml.h>

#include <algorithm>

#include "config/config_entries.h"
#include "plimsoll/base/text.h"

namespace plimsoll::config {
namespace {

// A dotted key makes one map for each dot, and the library takes maps in each other apart by
// recursion.
constexpr std::ptrdiff_t kMostDots = 1024;

class TomlWalk {
 public:
  explicit TomlWalk(const std::string& name) : name_(name) {}

  Status Walk(const toml::table& table) {
    if (path_.size() >= kDeepestEntry) {
      return BadConfigFile("config.shape", Place(table.source()),
                           "maps lie too deep in each other");
    }
    std::vector<std::pair<const toml::key*, const toml::node*>> keys;
    for (const auto& [key, node] : table) keys.emplace_back(&key, &node);
    std::ranges::stable_sort(keys, {}, [](const auto& entry) {
      const toml::source_position& begin = entry.first->source().begin;
      return std::pair(begin.line, begin.column);
    });
    for (const auto& [key, node] : keys) {
      path_.emplace_back(key->str());
      entries_.push_back({path_, std::nullopt, Place(key->source())});
      if (const toml::table* below = node->as_table()) {
        PLIMSOLL_TRY(Walk(*below));
      } else {
        PLIMSOLL_ASSIGN(entries_.back().value, Value(*node));
      }
      path_.pop_back();
    }
    return {};
  }

  std::string Place(const toml::source_region& source) const {
    return StrCat(name_, ":", source.begin.line, ":", source.begin.column);
  }

  std::vector<FileEntry>& entries() { return entries_; }

 private:
  Result<SettingValue> Value(const toml::node& node) const {
    if (const auto* truth = node.as_boolean()) return SettingValue(truth->get());
    if (const auto* number = node.as_integer()) return SettingValue(number->get());
    if (const auto* number = node.as_floating_point()) return SettingValue(number->get());
    if (const auto* text = node.as_string()) return SettingValue(text->get());
    const toml::array* array = node.as_array();
    if (array == nullptr) {
      return BadConfigFile("config.shape", Place(node.source()), "no option is a date or a time");
    }
    std::vector<std::string> list;
    for (const toml::node& element : *array) {
      if (const auto* text = element.as_string()) {
        list.push_back(text->get());
      } else if (const auto* number = element.as_integer()) {
        list.push_back(StrCat(number->get()));
      } else {
        return BadConfigFile("config.shape", Place(element.source()),
                             "a list may hold numbers and texts only");
      }
    }
    return SettingValue(std::move(list));
  }

  const std::string& name_;
  std::vector<std::string> path_;
  std::vector<FileEntry> entries_;
};

}  // namespace

Result<std::vector<FileEntry>> ReadTomlEntries(std::string_view text, const std::string& name) {
  if (std::ranges::count(text, '.') > kMostDots) {
    return BadConfigFile("config.shape", name, StrCat("it holds more than ", kMostDots, " dots"));
  }
  TomlWalk walk(name);
  const toml::parse_result parsed = toml::parse(text);
  if (!parsed) {
    const toml::parse_error& broken = parsed.error();
    return BadConfigFile("config.syntax", walk.Place(broken.source()),
                         std::string(broken.description()));
  }
  PLIMSOLL_TRY(walk.Walk(parsed.table()));
  return std::move(walk.entries());
}

}  // namespace plimsoll::config
