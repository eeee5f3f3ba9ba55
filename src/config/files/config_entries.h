#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/options/option_value.h"
#include "plimsoll/base/status.h"

namespace plimsoll::config {

// One key of a configuration file with its way down from the top, in the order of the file.
struct FileEntry {
  std::vector<std::string> path;
  std::optional<SettingValue> value;  // none: a map, whose own keys follow
  std::string place;                  // "run.toml:3:1"
};

inline constexpr size_t kDeepestEntry = 8;

// The entries of a file called `name`. Both refuse bad syntax (config.syntax), and keys that come
// twice, maps deeper than kDeepestEntry and values that are no setting (config.shape), each with
// line and column. Linear in the text but for sorting keys.
enum class JsonComments { kRefused, kAllowed };  // "// ..." and "/* ... */"
Result<std::vector<FileEntry>> ReadJsonEntries(std::string_view text, const std::string& name,
                                               JsonComments comments = JsonComments::kRefused);
Result<std::vector<FileEntry>> ReadTomlEntries(std::string_view text, const std::string& name);

// The text of a file; refuses folders and more than 1 MiB (config.file).
Result<std::string> ReadSmallFile(const std::string& path);

// The error of either, at a place in the file.
Error BadConfigFile(std::string code, std::string place, std::string why);

}  // namespace plimsoll::config
