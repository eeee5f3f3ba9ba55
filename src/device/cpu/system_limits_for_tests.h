#pragma once

#include <dirent.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "device/cpu/system_memory.h"
#include "plimsoll/base/bytes.h"

// What the system lets this process have, and what it has, for tests of what the system refuses.
namespace plimsoll::device {

// Sanitizers take memory of their own while a limit is low.
inline constexpr bool LimitsCanBeLowered() {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  return false;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
  return false;
#else
  return true;
#endif
#else
  return true;
#endif
}

// A soft limit of the process, lower than usual until the object dies.
class SoftLimit {
 public:
  SoftLimit(int resource, int64_t limit) : resource_(resource) {
    getrlimit(Resource(), &before_);
    rlimit lower = before_;
    lower.rlim_cur = static_cast<rlim_t>(limit);
    setrlimit(Resource(), &lower);
  }
  ~SoftLimit() { setrlimit(Resource(), &before_); }
  SoftLimit(const SoftLimit&) = delete;
  SoftLimit& operator=(const SoftLimit&) = delete;

 private:
  __rlimit_resource Resource() const { return static_cast<__rlimit_resource>(resource_); }

  const int resource_;
  rlimit before_{};
};

// A line of /proc/self/status: "VmSize" (addresses in use), "VmData" (memory that can be written).
inline Bytes ProcessBytes(std::string_view line) {
  std::ifstream file("/proc/self/status");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  return KilobyteLine(text, line).value_or(Bytes(0));
}

// The open files of this process that hold chunks.
inline std::vector<int> ChunkFiles() {
  std::vector<int> files;
  DIR* folder = opendir("/proc/self/fd");
  while (const dirent* entry = readdir(folder)) {
    char target[256];
    const std::string path = std::string("/proc/self/fd/") + entry->d_name;
    const ssize_t length = readlink(path.c_str(), target, sizeof(target));
    if (length <= 0) continue;
    if (std::string_view(target, static_cast<size_t>(length)).starts_with("/memfd:plimsoll")) {
      files.push_back(std::stoi(entry->d_name));
    }
  }
  closedir(folder);
  return files;
}

// Memory that those files hold.
inline Bytes BytesInChunkFiles() {
  Bytes sum;
  for (const int file : ChunkFiles()) {
    struct stat status {};
    if (fstat(file, &status) == 0) sum += Bytes(status.st_blocks) * 512;
  }
  return sum;
}

// The number that the next file that is opened will have.
inline int NextDescriptor() {
  const int next = dup(0);
  close(next);
  return next;
}

// Whether the process may read the byte; asks the system, which does not crash.
inline bool Readable(Address at) {
  int ends[2];
  if (pipe(ends) != 0) return false;
  const bool readable = write(ends[1], reinterpret_cast<const void*>(at), 1) == 1;
  close(ends[0]);
  close(ends[1]);
  return readable;
}

}  // namespace plimsoll::device
