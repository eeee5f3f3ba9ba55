#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>

#include "compile/passes/fuse/fusion_patterns.h"
#include "config/run_settings.h"

namespace plimsoll::engine {

// Which graph a result belongs to: session_and_graph_id_<session>_<graph>.
struct FusionResultKey {
  uint64_t session = 0;  // its number in this process
  uint64_t graph = 0;    // its id in the session
  auto operator<=>(const FusionResultKey&) const = default;
};

// The file's absolute path: $ASCEND_WORK_PATH/FE/<process id>fusion_result.json where `work_path`
// is that variable, fusion_result.json in the current folder where it is empty.
std::string FusionResultPath(const std::string& work_path);

// What passes found in the graphs of this process, on its way to fusion_result.json. A file holds
// the latest build of every graph that was reported for it: those that are written after each
// compilation at once, all others as well when the process ends by itself, never when it is killed.
// Each time it is replaced as a whole. What cannot be written is a warning in the log.
//
// Thread-safe. A child of fork() writes nothing of its parent's.
class FusionResults {
 public:
  static FusionResults& OfProcess();

  void Add(const std::string& path, config::CompileStat when, FusionResultKey key,
           const compile::FusionCounts& counts);
  // What the end of the process does.
  void WriteAtExit();

 private:
  struct Result {
    config::CompileStat when = config::CompileStat::kNever;
    compile::FusionCounts counts;
  };
  using File = std::map<FusionResultKey, Result>;
  void Write(const std::string& path, const File& file, config::CompileStat least) const;

  std::mutex mutex_;
  std::map<std::string, File> files_;  // by path
  int owner_ = 0;                      // process that the results are of
};

// Takes each build of one graph of a session.
using FusionReport = std::function<void(const compile::FusionCounts& counts)>;
FusionReport MakeFusionReport(config::CompileStat when, const std::string& work_path,
                              FusionResultKey key);

}  // namespace plimsoll::engine
