#include "engine/fusion/fusion_results.h"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <span>
#include <system_error>

#include "engine/weights/file_replacement.h"
#include "plimsoll/base/log.h"
#include "plimsoll/base/text.h"

namespace plimsoll::engine {

using config::CompileStat;

namespace {

using compile::FusionCounts;
using compile::FusionGroup;
using Json = nlohmann::ordered_json;

constexpr const char* kFileName = "fusion_result.json";

// The patterns of one group that were found at least once.
Json GroupJson(const FusionCounts& counts, FusionGroup group) {
  Json json = Json::object();
  for (const compile::FusionPatternRow& row : compile::FusionPatternTable()) {
    const compile::PatternCount& count = counts[row.pattern];
    const bool used = count.matches() > 0 || count.repository_hits > 0;
    if (row.group != group || !counts.looked_for(row.pattern) || !used) continue;
    Json& pattern = json[std::string(row.name)];
    pattern["match_times"] = count.matches();
    pattern["effect_times"] = count.effects;
    if (group == FusionGroup::kUbFusion) pattern["repository_hit_times"] = count.repository_hits;
  }
  return json;
}

Status ReplaceFile(const std::string& path, const std::string& text) {
  std::error_code error;  // what it hides, opening the file tells
  std::filesystem::create_directories(std::filesystem::path(path).parent_path(), error);
  PLIMSOLL_ASSIGN(FileReplacement file, FileReplacement::BeginWhenFree(path));
  PLIMSOLL_TRY(file.WriteAt(0, std::as_bytes(std::span(text))));
  return file.Commit();
}

}  // namespace

std::string FusionResultPath(const std::string& work_path) {
  namespace fs = std::filesystem;
  std::error_code error;
  const fs::path path = work_path.empty()
                            ? fs::path(kFileName)
                            : fs::path(work_path) / "FE" / StrCat(getpid(), kFileName);
  const fs::path absolute = fs::absolute(path, error);
  return error ? path.string() : absolute.string();
}

FusionResults& FusionResults::OfProcess() {
  // Outlives everything that runs at the end of the process.
  static FusionResults& results = *new FusionResults;
  return results;
}

void FusionResults::Add(const std::string& path, CompileStat when, FusionResultKey key,
                        const FusionCounts& counts) {
  if (when == CompileStat::kNever) return;
  const std::lock_guard lock(mutex_);
  if (owner_ != getpid()) {
    files_.clear();
    owner_ = getpid();
    static const int registered = std::atexit([] { OfProcess().WriteAtExit(); });
    static_cast<void>(registered);
  }
  File& file = files_[path];
  file[key] = {when, counts};
  if (when == CompileStat::kAfterCompilation) Write(path, file, when);
}

void FusionResults::WriteAtExit() {
  const std::lock_guard lock(mutex_);
  if (owner_ != getpid()) return;
  for (const auto& [path, file] : files_) Write(path, file, CompileStat::kAtExit);
}

void FusionResults::Write(const std::string& path, const File& file, CompileStat least) const {
  Json json = Json::object();
  for (const auto& [key, result] : file) {
    if (result.when < least) continue;
    Json& graph = json[StrCat("session_and_graph_id_", key.session, "_", key.graph)];
    graph["graph_fusion"] = GroupJson(result.counts, FusionGroup::kGraphFusion);
    graph["ub_fusion"] = GroupJson(result.counts, FusionGroup::kUbFusion);
  }
  const Status written = ReplaceFile(path, json.dump(2) + "\n");
  if (!written.ok()) Log(LogLevel::kWarning, written.error().Text());
}

FusionReport MakeFusionReport(CompileStat when, const std::string& work_path, FusionResultKey key) {
  if (when == CompileStat::kNever) return {};
  return [when, key, path = FusionResultPath(work_path)](const FusionCounts& counts) {
    FusionResults::OfProcess().Add(path, when, key, counts);
  };
}

}  // namespace plimsoll::engine
