#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "compile/tuning/tuning.h"
#include "plimsoll/base/status.h"

namespace plimsoll::engine {

// Results of tuning in a file, plimsoll_tuning.json in the folder work_path, for later compilations
// of any session. A result holds for the same signature on the same kind of processor with the same
// version of this program; the file may hold those of others, too. It carries a checksum: a file
// that is damaged is not used, and is replaced as a whole by what is tuned next. Several processes
// may add to one file. What cannot be written is a warning in the log, and is used all the same
// until the process ends.
//
// Thread-safe.
class TuningRepository : public compile::TuningStore {
 public:
  // Fails (tuning.work_path) where the folder does not exist or may not be read or written; it is
  // not made. Empty: the current folder.
  static Result<std::shared_ptr<TuningRepository>> Open(const std::string& folder);

  std::optional<std::string> Find(const std::string& signature) override;
  void Keep(const std::vector<compile::TunedChoice>& choices) override;

  const std::string& path() const { return path_; }

 private:
  struct Entry {
    std::string what;
    std::string choice;
    double gain = 1;
  };
  using Entries = std::map<std::string, Entry>;  // by hash of everything that a result holds for

  TuningRepository(std::string path, Entries entries)
      : path_(std::move(path)), entries_(std::move(entries)) {}
  static std::string KeyOf(const std::string& signature);
  static Entries Read(const std::string& path);
  static std::string TextOf(const Entries& entries);
  Status Write();

  const std::string path_;
  std::mutex mutex_;
  Entries entries_;
};

}  // namespace plimsoll::engine
