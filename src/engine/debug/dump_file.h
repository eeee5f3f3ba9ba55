#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <string_view>

#include "plimsoll/base/status.h"

namespace plimsoll::engine {

// Writes a file that is not there yet, as one piece behind the other. It appears under its name
// once it is whole; a write that fails leaves nothing behind. Never takes the place of another
// file. Not flushed to the disk: meant for files that are looked at by people. Errors have code
// dump.write and name the path, the step and the system's reason.
Status WriteNewFile(const std::filesystem::path& path,
                    std::span<const std::span<const std::byte>> parts);
Status WriteNewFile(const std::filesystem::path& path, std::string_view text);

// Adds to the end of a file, which is made where there is none.
Status AppendToFile(const std::filesystem::path& path, std::string_view text);

// Makes a folder that is not there yet, with those above it: `path`, or "path.1", "path.2", ...
Result<std::filesystem::path> MakeNewFolder(const std::filesystem::path& path);

// A name of a node or graph as part of a file's name: letters, digits, '-' and '_' stay, anything
// else becomes one '_'. A long one is cut and ends with a hash of the whole.
std::string SafeFileName(std::string_view name);

// Gives each name once: "name", and from then on "name.1", "name.2", ...
class UnusedNames {
 public:
  std::string Take(const std::string& name);

 private:
  std::map<std::string, int> taken_;
};

// "20261116132435": now, in UTC.
std::string TimeStamp();

}  // namespace plimsoll::engine
