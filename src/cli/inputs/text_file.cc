#include "cli/inputs/text_file.h"

#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>

#include "cli/inputs/output_file.h"

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
  return WriteFile(path, std::array{text});
}

}  // namespace plimsoll::cli
