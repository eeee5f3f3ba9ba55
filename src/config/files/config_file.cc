#include "config/files/config_file.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "config/files/config_entries.h"
#include "config/options/option_table.h"
#include "plimsoll/base/text.h"

namespace plimsoll::config {
namespace {

constexpr size_t kLargestFile = 1024 * 1024;

constexpr std::string_view kNpuRunConfig = "NPURunConfig";

bool HoldsJson(std::string_view text, const std::string& name) {
  std::string extension = std::filesystem::path(name).extension().string();
  std::ranges::transform(extension, extension.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  if (extension == ".json") return true;
  if (extension == ".toml") return false;
  return Trim(text).starts_with('{');
}

bool IsPrefixOfKey(const std::string& key) {
  const std::string prefix = key + ".";
  return std::ranges::any_of(OptionTable(), [&](const Option& option) {
    return option.name.starts_with(prefix) ||
           std::ranges::any_of(option.other_keys,
                               [&](std::string_view other) { return other.starts_with(prefix); });
  });
}

// Sorts the entries of a file into settings and mistakes.
class EntrySorter {
 public:
  explicit EntrySorter(Settings& settings) : settings_(settings) {}

  void Add(FileEntry entry) {
    const bool below_unknown =
        !unknown_map_.empty() && entry.path.size() > unknown_map_.size() &&
        std::equal(unknown_map_.begin(), unknown_map_.end(), entry.path.begin());
    if (below_unknown) return;
    if (const Status status = Sort(std::move(entry)); !status.ok()) {
      settings_.AddMistake(status.error());
    }
  }

 private:
  Status Sort(FileEntry entry) {
    const std::vector<std::string> whole_path = entry.path;
    Origin origin{.layer = Origin::Layer::kFile, .text = entry.place};
    PLIMSOLL_ASSIGN(const bool in_run_config, Enter(kNpuRunConfig, entry));
    if (in_run_config) settings_.UseNpuRunConfigDefaults();
    for (const OptionLevel level :
         {OptionLevel::kGlobal, OptionLevel::kSession, OptionLevel::kGraph}) {
      PLIMSOLL_ASSIGN(const bool in_level, Enter(LevelName(level), entry));
      if (in_level) origin.level = level;
    }
    const Option* object = entry.path.empty() ? nullptr : FindOption(entry.path.front());
    if (object != nullptr && object->type == OptionType::kObject) {
      PLIMSOLL_TRY(Enter(object->name, entry).status());
    } else {
      object = nullptr;
    }
    if (entry.path.empty()) return {};
    std::string key = Join(entry.path, ".");
    if (object != nullptr && !object->fields) key = StrCat(object->name, ".", key);
    if (!entry.value && IsPrefixOfKey(key)) return {};
    const Option* option = FindOption(key);
    if (!entry.value) {
      unknown_map_ = whole_path;
      if (option == nullptr) return LookUpOption(key, entry.place).status();
      return BadConfigFile("config.shape", entry.place, StrCat(key, " is a map, not a value"));
    }
    if (option != nullptr && object != nullptr && object->fields &&
        option->group != *object->fields) {
      return BadConfigFile("config.shape", entry.place,
                           StrCat(key, " is no option of ", object->name));
    }
    settings_.Add({std::move(key), std::move(*entry.value), std::move(origin)});
    return {};
  }

  // Takes `name` from the front of the path; what stands there must be a map.
  static Result<bool> Enter(std::string_view name, FileEntry& entry) {
    if (entry.path.empty() || entry.path.front() != name) return false;
    entry.path.erase(entry.path.begin());
    if (!entry.path.empty() || !entry.value) return true;
    return BadConfigFile("config.shape", entry.place,
                         StrCat(name, " is ", ShownValue(*entry.value), ", not a map of options"));
  }

  Settings& settings_;
  std::vector<std::string> unknown_map_;  // told already; what lies below it is not looked at
};

}  // namespace

Error BadConfigFile(std::string code, std::string place, std::string why) {
  const bool unread = code == "config.file";
  return {ErrorKind::kBadFile,
          std::move(code),
          "cannot read the configuration",
          std::move(place),
          std::move(why),
          unread ? "check the path" : "write a map of options, as docs/configuration.md shows"};
}

Result<std::string> ReadSmallFile(const std::string& path) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) {
    return BadConfigFile("config.file", path, "it is a folder");
  }
  std::ifstream file(path, std::ios::binary);
  if (!file) return BadConfigFile("config.file", path, std::strerror(errno));
  std::string text(kLargestFile + 1, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (file.bad()) return BadConfigFile("config.file", path, "reading stopped early");
  text.resize(static_cast<size_t>(file.gcount()));
  if (text.size() > kLargestFile) {
    return BadConfigFile("config.file", path, "it is larger than 1 MiB");
  }
  return text;
}

Result<Settings> ParseConfigText(std::string_view text, const std::string& name) {
  if (text.find('\0') != std::string_view::npos) {
    return BadConfigFile("config.syntax", name, "it holds a NUL character");
  }
  PLIMSOLL_ASSIGN(std::vector<FileEntry> entries, HoldsJson(text, name)
                                                      ? ReadJsonEntries(text, name)
                                                      : ReadTomlEntries(text, name));
  Settings settings;
  EntrySorter sorter(settings);
  for (FileEntry& entry : entries) sorter.Add(std::move(entry));
  return settings;
}

Result<Settings> ReadConfigFile(const std::string& path) {
  PLIMSOLL_ASSIGN(const std::string text, ReadSmallFile(path));
  return ParseConfigText(text, path);
}

}  // namespace plimsoll::config
