#include "engine/mapped_pages.h"

#include <malloc.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <sstream>
#include <string>

namespace plimsoll::engine {
namespace {

// Whether one line of /proc/self/maps covers the place and maps a file without write permission.
bool IsReadOnlyFile(uintptr_t place) {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    std::istringstream fields(line);
    uintptr_t begin = 0;
    uintptr_t end = 0;
    char dash = 0;
    std::string permissions;
    std::string offset;
    std::string device;
    int64_t inode = 0;
    fields >> std::hex >> begin >> dash >> end >> permissions >> offset >> device >> std::dec >>
        inode;
    if (begin <= place && place < end) {
      return inode != 0 && permissions.size() > 1 && permissions[1] == '-';
    }
  }
  return false;
}

}  // namespace

void DropMappedPages(std::span<const std::byte> bytes) {
  const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  const auto begin = (reinterpret_cast<uintptr_t>(bytes.data()) + page - 1) / page * page;
  const uintptr_t end = reinterpret_cast<uintptr_t>(bytes.data() + bytes.size()) / page * page;
  if (begin >= end || !IsReadOnlyFile(begin) || !IsReadOnlyFile(end - 1)) return;
  madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED);
}

bool ReadInSlices(std::span<const std::byte> bytes,
                  const std::function<bool(std::span<const std::byte> slice)>& read) {
  constexpr size_t kSlice = size_t{8} << 20;
  for (size_t first = 0; first < bytes.size(); first += kSlice) {
    const auto slice = bytes.subspan(first, std::min(kSlice, bytes.size() - first));
    const bool go_on = read(slice);
    DropMappedPages(slice);
    if (!go_on) return false;
  }
  return true;
}

void GiveBackFreedHeap() {
#ifdef __GLIBC__
  malloc_trim(0);
#endif
}

Bytes ResidentBytes() {
  std::ifstream statm("/proc/self/statm");
  int64_t total = 0;
  int64_t resident = 0;
  statm >> total >> resident;
  return Bytes(resident) * sysconf(_SC_PAGESIZE);
}

Bytes PeakResidentBytes() {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    int64_t kibibytes = 0;
    if (word == "VmHWM:" && status >> kibibytes) return KiB(kibibytes);
  }
  return Bytes(0);
}

}  // namespace plimsoll::engine
