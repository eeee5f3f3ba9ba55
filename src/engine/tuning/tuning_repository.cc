#include "engine/tuning/tuning_repository.h"

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <span>
#include <system_error>

#include "engine/cache/program_version.h"
#include "engine/weights/file_replacement.h"
#include "engine/weights/weight_hash.h"
#include "plimsoll/base/log.h"
#include "plimsoll/base/text.h"

namespace plimsoll::engine {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kFileName = "plimsoll_tuning.json";
constexpr int kFormat = 1;

std::string HashText(const std::string& text) {
  return HashOf(std::as_bytes(std::span(text))).Text();
}

void WarnDamaged(const std::string& path) {
  Log(LogLevel::kWarning,
      StrCat("results of tuning are not used: '", path,
             "' is damaged or was not written by this program; tune again to replace it"));
}

}  // namespace

Result<std::shared_ptr<TuningRepository>> TuningRepository::Open(const std::string& folder) {
  namespace fs = std::filesystem;
  std::error_code error;
  const fs::path absolute = fs::absolute(folder.empty() ? fs::path(".") : fs::path(folder), error);
  const bool is_folder = !error && fs::is_directory(absolute, error);
  if (!is_folder || access(absolute.c_str(), R_OK | W_OK | X_OK) != 0) {
    return Error{
        .kind = ErrorKind::kUsage,
        .code = "tuning.work_path",
        .what = "cannot keep results of tuning",
        .where = StrCat("work_path ", absolute.string()),
        .why = is_folder ? "the folder may not be read and written" : "there is no such folder",
        .remedy = "name a folder that exists and that you may write to"};
  }
  const std::string path = (absolute / kFileName).lexically_normal().string();
  return std::shared_ptr<TuningRepository>(new TuningRepository(path, Read(path)));
}

std::string TuningRepository::KeyOf(const std::string& signature) {
  return HashText(StrCat(ProgramVersion(), signature));
}

std::string TuningRepository::TextOf(const Entries& entries) {
  Json list = Json::array();
  for (const auto& [key, entry] : entries) {
    list.push_back(
        {{"key", key}, {"what", entry.what}, {"choice", entry.choice}, {"gain", entry.gain}});
  }
  return list.dump();
}

TuningRepository::Entries TuningRepository::Read(const std::string& path) {
  Entries entries;
  std::ifstream file(path);
  if (!file) return entries;
  const Json json = Json::parse(file, nullptr, false);
  const auto whole = [&] {
    if (!json.is_object() || json.value("format", Json()) != kFormat) return false;
    const Json list = json.value("choices", Json());
    if (!list.is_array() || json.value("checksum", Json()) != HashText(list.dump())) return false;
    for (const Json& row : list) {
      if (!row.is_object() || !row.value("key", Json()).is_string() ||
          !row.value("what", Json()).is_string() || !row.value("choice", Json()).is_string() ||
          !row.value("gain", Json()).is_number()) {
        return false;
      }
      entries[row["key"]] = {row["what"], row["choice"], row["gain"]};
    }
    return true;
  };
  if (whole()) return entries;
  WarnDamaged(path);
  return {};
}

std::optional<std::string> TuningRepository::Find(const std::string& signature) {
  const std::string key = KeyOf(signature);
  const std::lock_guard lock(mutex_);
  const auto found = entries_.find(key);
  return found == entries_.end() ? std::nullopt : std::optional(found->second.choice);
}

void TuningRepository::Keep(const std::vector<compile::TunedChoice>& choices) {
  const std::lock_guard lock(mutex_);
  for (const compile::TunedChoice& choice : choices) {
    entries_[KeyOf(choice.signature)] = {choice.what, choice.choice, choice.gain};
  }
  if (const Status written = Write(); !written.ok()) {
    Log(LogLevel::kWarning, written.error().Text());
  }
}

// With what others have written since: nobody else writes between reading and replacing.
Status TuningRepository::Write() {
  PLIMSOLL_ASSIGN(FileReplacement file, FileReplacement::BeginWhenFree(path_));
  entries_.merge(Read(path_));
  const std::string list = TextOf(entries_);
  Json json = {{"format", kFormat}, {"checksum", HashText(list)}};
  json["choices"] = Json::parse(list);
  const std::string text = json.dump(1) + "\n";
  PLIMSOLL_TRY(file.WriteAt(0, std::as_bytes(std::span(text))));
  return file.Commit();
}

}  // namespace plimsoll::engine
