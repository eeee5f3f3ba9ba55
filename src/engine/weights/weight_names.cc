#include "engine/weights/weight_names.h"

#include <algorithm>

#include "plimsoll/base/text.h"

namespace plimsoll::engine {
namespace {

constexpr std::string_view kFolder = "tmp_weight_";
constexpr std::string_view kFile = "weight_";
constexpr std::string_view kPartial = ".partial";
constexpr size_t kHashDigits = 32;

bool IsDecimal(std::string_view text) {
  return !text.empty() &&
         std::all_of(text.begin(), text.end(), [](char c) { return '0' <= c && c <= '9'; });
}

bool IsHexadecimal(std::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return ('0' <= c && c <= '9') || ('a' <= c && c <= 'f'); });
}

}  // namespace

std::string WeightFolderName(pid_t process, uint64_t session) {
  return StrCat(kFolder, process, "_", session);
}

bool IsWeightFolderName(std::string_view name) {
  if (!name.starts_with(kFolder)) return false;
  const auto numbers = Split(name.substr(kFolder.size()), '_');
  return numbers.size() == 2 && IsDecimal(numbers[0]) && IsDecimal(numbers[1]);
}

std::string WeightFileName(const WeightHash& hash) { return StrCat(kFile, hash.Text()); }

std::string PartialWeightFileName(const WeightHash& hash) {
  return StrCat(kFile, hash.Text(), kPartial);
}

bool IsWeightFileName(std::string_view name) {
  if (!name.starts_with(kFile)) return false;
  name.remove_prefix(kFile.size());
  if (name.ends_with(kPartial)) name.remove_suffix(kPartial.size());
  return name.size() == kHashDigits && IsHexadecimal(name);
}

}  // namespace plimsoll::engine
