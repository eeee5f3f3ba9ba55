#include "cli/inputs/text_file.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>

namespace plimsoll::cli {

Result<std::string> ReadTextFile(const std::string& path) {
  if (path == "-") return std::string(std::istreambuf_iterator<char>(std::cin), {});
  const auto bad = [&](std::string why) {
    return Error{ErrorKind::kBadFile, "file.read",     "cannot read the file", path,
                 std::move(why),      "check the path"};
  };
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) return bad("it is a folder");
  std::ifstream file(path, std::ios::binary);
  if (!file) return bad(std::strerror(errno));
  std::string text(std::istreambuf_iterator<char>(file), {});
  if (file.bad()) return bad("reading stopped early");
  return text;
}

Status WriteTextFile(const std::string& path, std::string_view text) {
  const std::string unfinished = path + ".unfinished";
  std::error_code failed;
  {
    std::ofstream file(unfinished, std::ios::binary | std::ios::trunc);
    file.write(text.data(), static_cast<std::streamsize>(text.size()));
    file.close();
    if (!file) failed = std::error_code(errno != 0 ? errno : EIO, std::generic_category());
  }
  if (!failed) std::filesystem::rename(unfinished, path, failed);
  if (!failed) return {};
  std::error_code ignored;
  std::filesystem::remove(unfinished, ignored);
  return Error{ErrorKind::kRunFailed,   "file.write",
               "cannot write the file", path,
               failed.message(),        "check the folder, its permissions and the disk's space"};
}

}  // namespace plimsoll::cli
