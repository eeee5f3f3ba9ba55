#include "base/code_pages.h"

#include <fcntl.h>
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>
#include <vector>

namespace plimsoll {
namespace {

using Bounds = std::pair<uintptr_t, uintptr_t>;  // of pages

struct Wanted {
  std::string_view library;
  std::vector<Bounds> segments;
};

bool IsWanted(const dl_phdr_info& object, std::string_view library) {
  const std::string_view path = object.dlpi_name == nullptr ? "" : object.dlpi_name;
  if (!library.empty() && path.substr(path.rfind('/') + 1).starts_with(library)) return true;
  const auto own = reinterpret_cast<uintptr_t>(&IsWanted);
  for (int i = 0; i < object.dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = object.dlpi_phdr[i];
    const uintptr_t first = object.dlpi_addr + segment.p_vaddr;
    if (segment.p_type == PT_LOAD && own >= first && own < first + segment.p_memsz) return true;
  }
  return false;
}

int AddSegments(dl_phdr_info* object, size_t, void* given) {
  auto& wanted = *static_cast<Wanted*>(given);
  if (!IsWanted(*object, wanted.library)) return 0;
  const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = object->dlpi_phdr[i];
    if (segment.p_type != PT_LOAD || (segment.p_flags & PF_W) != 0) continue;
    const uintptr_t first = object->dlpi_addr + segment.p_vaddr;
    wanted.segments.emplace_back(first / page * page, (first + segment.p_filesz) / page * page);
  }
  return 0;
}

// Runs of pages that are the file's own, as the system's table of this process's pages tells.
void DropUnchanged(int table, const Bounds& segment) {
  constexpr uint64_t kPresent = uint64_t{1} << 63;
  constexpr uint64_t kSwapped = uint64_t{1} << 62;  // so somebody's own
  constexpr uint64_t kOfFile = uint64_t{1} << 61;
  const auto changed = [](uint64_t entry) {
    return (entry & kSwapped) != 0 || ((entry & kPresent) != 0 && (entry & kOfFile) == 0);
  };
  const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  std::array<uint64_t, 512> entries;
  for (uintptr_t at = segment.first; at < segment.second;) {
    const size_t wanted = std::min((segment.second - at) / page, entries.size());
    const ssize_t read = pread(table, entries.data(), wanted * sizeof(uint64_t),
                               static_cast<off_t>(at / page * sizeof(uint64_t)));
    if (read <= 0) return;
    const auto count = static_cast<size_t>(read) / sizeof(uint64_t);
    for (size_t first = 0; first < count;) {
      size_t last = first;
      while (last < count && !changed(entries[last])) ++last;
      if (last > first) {
        madvise(reinterpret_cast<void*>(at + first * page), (last - first) * page, MADV_DONTNEED);
      }
      first = last + 1;
    }
    at += count * page;
  }
}

}  // namespace

void GiveBackCode(std::string_view library) {
  const int table = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
  if (table < 0) return;
  Wanted wanted{library, {}};
  dl_iterate_phdr(AddSegments, &wanted);
  for (const Bounds& segment : wanted.segments) DropUnchanged(table, segment);
  close(table);
}

}  // namespace plimsoll
