#pragma once

#include <sys/resource.h>

namespace plimsoll::engine {

// As much as a disk that is full: for as long as the object lives, writes of this process beyond so
// many bytes of a file fail.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t most) {
    getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit limited{most, before_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &limited);
  }
  ~FileSizeLimit() { setrlimit(RLIMIT_FSIZE, &before_); }
  FileSizeLimit(const FileSizeLimit&) = delete;
  FileSizeLimit& operator=(const FileSizeLimit&) = delete;

 private:
  rlimit before_{};
};

}  // namespace plimsoll::engine
