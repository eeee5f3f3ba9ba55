#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

#include "engine/weights/file_descriptor.h"
#include "plimsoll/base/status.h"

namespace plimsoll::engine {

// tmp_weight_<pid>_<number>: where one session keeps its weights as files. Only its owner may
// enter.
//
// A file in it stays locked for as long as the object, so that other processes, whatever they see
// of our pid, tell a folder in use from one that a dead process left; those that a session finds in
// its work path when it makes its own are removed. What is not such a folder, or lies in one and
// was not made by us, is never touched; nor is what is behind a symbolic link.
//
// Files are named relative to the folder itself: when it is moved or replaced by another, nothing
// outside is written. The destructor removes the folder when it is empty but for the lock. A copy
// of the object in a forked process removes nothing. Not thread-safe.
class WeightFolder {
 public:
  // Called after the process and `number`, or the next number that is free. An empty path is the
  // current folder. Fails (weights.folder) where none can be made, with nothing left behind.
  static Result<std::unique_ptr<WeightFolder>> Make(const std::filesystem::path& work_path,
                                                    uint64_t number);
  ~WeightFolder();
  WeightFolder(const WeightFolder&) = delete;
  WeightFolder& operator=(const WeightFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }  // absolute, for people
  int descriptor() const { return folder_.number(); }
  bool removed() const;           // by somebody else
  bool owned() const;             // by this process, not by the one it was forked from
  void Remove(const char* name);  // no error when it is not there

 private:
  WeightFolder() = default;
  int Take(const std::string& name);  // 0, or the system's error
  void Leave();

  std::filesystem::path path_;
  std::string name_;
  FileDescriptor parent_;
  FileDescriptor folder_;
  FileDescriptor lock_;
  pid_t owner_ = 0;
};

}  // namespace plimsoll::engine
