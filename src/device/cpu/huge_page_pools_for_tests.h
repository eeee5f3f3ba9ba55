#pragma once

#include <fcntl.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <optional>
#include <string>

#include "device/cpu/system_memory.h"
#include "plimsoll/base/text.h"
#include "plimsoll/device/cpu_device.h"
#include "plimsoll/device/huge_pages.h"

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

// A process that writes a text to a file when the one that made it ends, however it ends. Locks of
// that process are held until this is done.
class WriteAtDeath {
 public:
  WriteAtDeath(const std::string& path, const std::string& text) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) return;
    child_ = fork();
    if (child_ == 0) {
      // Calls that are safe after a fork, and no signal meant for the parent's group.
      setsid();
      close(ends[1]);
      char none = 0;
      while (read(ends[0], &none, 1) < 0) {
      }
      const int file = open(path.c_str(), O_WRONLY | O_CLOEXEC);
      const bool written =
          file >= 0 && write(file, text.data(), text.size()) == static_cast<ssize_t>(text.size());
      _exit(written ? 0 : 1);
    }
    close(ends[0]);
    alive_ = ends[1];
  }
  // The time has come.
  ~WriteAtDeath() {
    if (alive_ >= 0) close(alive_);
    if (child_ > 0) waitpid(child_, nullptr, 0);
  }
  WriteAtDeath(const WriteAtDeath&) = delete;
  WriteAtDeath& operator=(const WriteAtDeath&) = delete;

 private:
  int alive_ = -1;  // closed by the system when the process is killed
  pid_t child_ = -1;
};

// More pages in the system's pool for the time of a test, even of one that is killed. Needs root
// and memory in one piece.
class LargerPool {
 public:
  LargerPool(Bytes page, int64_t more) : page_(page), lock_(page) {
    const auto before = FindHugePagePool(page);
    if (!before || access(before->path.c_str(), W_OK) != 0) return;
    std::string pages;  // as the file says, whatever our own reading of it is worth
    std::ifstream(before->path) >> pages;
    restore_.emplace(before->path, pages);
    std::ofstream(before->path) << before->pages + more;
    const auto now = FindHugePagePool(page);
    enlarged_ = now && now->pages == before->pages + more && now->free >= more;
  }
  bool enlarged() const { return enlarged_; }
  std::string WhyNot() const {
    return StrCat("this machine did not give a pool of ", page_,
                  " pages: it takes root and that much memory in one piece");
  }

 private:
  const Bytes page_;
  const PoolLock lock_;  // longer than what follows
  std::optional<WriteAtDeath> restore_;
  bool enlarged_ = false;
};

// Whether the pool has a page to give: by taking one, since the system may not tell.
inline bool PoolHasFreePages(PagePolicy pages) {
  CpuDevice device;
  return AllocateWithPages(device, DeviceId{0}, Bytes(1), pages).ok();
}

// What an error about 1 GiB pages must name on this machine: the file that sets the size of their
// pool, or that there is none.
inline std::string NameOfGigabytePool() {
  const auto pool = FindHugePagePool(GiB(1));
  return pool ? pool->path : "no pool of 1 GiB pages";
}

}  // namespace plimsoll::device
