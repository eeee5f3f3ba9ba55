#pragma once

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <fstream>
#include <optional>
#include <string>

#include "device/system_memory.h"
#include "plimsoll/base/text.h"

// The machine's own huge pages, for tests that may be given some.
namespace plimsoll::device {

// The system's pool of one size of page, kept from other test programs for the time of a test.
class PoolLock {
 public:
  explicit PoolLock(Bytes page) {
    const auto pool = FindHugePagePool(page);
    if (!pool) return;
    file_ = open(pool->path.c_str(), O_RDONLY | O_CLOEXEC);
    if (file_ >= 0) flock(file_, LOCK_EX);
  }
  ~PoolLock() {
    if (file_ >= 0) close(file_);
  }
  PoolLock(const PoolLock&) = delete;
  PoolLock& operator=(const PoolLock&) = delete;

 private:
  int file_ = -1;
};

// More pages in the system's pool for the time of a test. Needs root and memory in one piece.
class LargerPool {
 public:
  LargerPool(Bytes page, int64_t more) : page_(page), lock_(page), before_(FindHugePagePool(page)) {
    if (!before_) return;
    Set(before_->pages + more);
    const auto now = FindHugePagePool(page);
    enlarged_ = now && now->pages == before_->pages + more && now->free >= more;
  }
  ~LargerPool() {
    if (before_) Set(before_->pages);
  }
  bool enlarged() const { return enlarged_; }
  std::string WhyNot() const {
    return StrCat("this machine did not give a pool of ", page_,
                  " pages: it takes root and that much memory in one piece");
  }

 private:
  void Set(int64_t pages) { std::ofstream(before_->path) << pages; }

  const Bytes page_;
  const PoolLock lock_;
  const std::optional<HugePagePool> before_;
  bool enlarged_ = false;
};

}  // namespace plimsoll::device
