#include "base/mapped_pages.h"

#include <malloc.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <optional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace plimsoll {
namespace {

using Bounds = std::pair<uintptr_t, uintptr_t>;  // of addresses: the first, and behind the last

// The whole pages inside the bytes; none where the first is not before the second.
Bounds PagesIn(std::span<const std::byte> bytes) {
  const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  const auto begin = reinterpret_cast<uintptr_t>(bytes.data());
  return {(begin + page - 1) / page * page, (begin + bytes.size()) / page * page};
}

void Drop(const Bounds& pages) {
  madvise(reinterpret_cast<void*>(pages.first), pages.second - pages.first, MADV_DONTNEED);
}

// Where files are mapped without write permission, in the order of addresses.
std::vector<Bounds> ReadOnlyFiles() {
  std::vector<Bounds> files;
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    std::istringstream fields(line);
    Bounds bounds;
    char dash = 0;
    std::string permissions;
    std::string offset;
    std::string device;
    int64_t inode = 0;
    fields >> std::hex >> bounds.first >> dash >> bounds.second >> permissions >> offset >>
        device >> std::dec >> inode;
    if (inode != 0 && permissions.size() > 1 && permissions[1] == '-') files.push_back(bounds);
  }
  return files;
}

// The mapping in which an address lies, or null.
const Bounds* FindAt(const std::vector<Bounds>& files, uintptr_t place) {
  const auto behind = std::upper_bound(
      files.begin(), files.end(), place,
      [](uintptr_t address, const Bounds& bounds) { return address < bounds.first; });
  if (behind == files.begin() || place >= std::prev(behind)->second) return nullptr;
  return &*std::prev(behind);
}

bool Contains(const std::vector<Bounds>& files, uintptr_t place) {
  return FindAt(files, place) != nullptr;
}

}  // namespace

std::vector<bool> WhichLieInFile(std::span<const std::span<const std::byte>> many) {
  std::vector<bool> found;
  const std::vector<Bounds> files = many.empty() ? std::vector<Bounds>() : ReadOnlyFiles();
  for (const auto bytes : many) {
    const auto first = reinterpret_cast<uintptr_t>(bytes.data());
    found.push_back(!bytes.empty() && Contains(files, first) &&
                    Contains(files, first + bytes.size() - 1));
  }
  return found;
}

bool LieInFile(std::span<const std::byte> bytes) { return WhichLieInFile(std::span(&bytes, 1))[0]; }

void DropMappedPages(std::span<const std::span<const std::byte>> many) {
  std::optional<std::vector<Bounds>> files;
  for (const auto bytes : many) {
    const Bounds pages = PagesIn(bytes);
    if (pages.first >= pages.second) continue;
    if (!files) files = ReadOnlyFiles();
    if (Contains(*files, pages.first) && Contains(*files, pages.second - 1)) Drop(pages);
  }
}

void DropMappedPages(std::span<const std::byte> bytes) { DropMappedPages(std::span(&bytes, 1)); }

void DropMappedSurroundings(std::span<const std::span<const std::byte>> many) {
  constexpr uintptr_t kPiece = uintptr_t{2} << 20;
  const std::vector<Bounds> files = many.empty() ? std::vector<Bounds>() : ReadOnlyFiles();
  for (const auto bytes : many) {
    if (bytes.empty()) continue;
    const auto begin = reinterpret_cast<uintptr_t>(bytes.data());
    const uintptr_t end = begin + bytes.size();
    const Bounds* const file = FindAt(files, begin);
    if (file == nullptr || end > file->second) continue;
    Drop({std::max(begin / kPiece * kPiece, file->first + kPiece) - kPiece,
          std::min((end + kPiece - 1) / kPiece * kPiece, file->second - kPiece) + kPiece});
  }
}

void DropPagesOfFile(std::span<const std::byte> bytes) {
  if (const Bounds pages = PagesIn(bytes); pages.first < pages.second) Drop(pages);
}

bool ReadInSlices(std::span<const std::byte> bytes,
                  const std::function<bool(std::span<const std::byte> slice)>& read) {
  constexpr size_t kSlice = size_t{8} << 20;
  constexpr size_t kWorthDropping = size_t{1} << 20;
  for (size_t first = 0; first < bytes.size(); first += kSlice) {
    const auto slice = bytes.subspan(first, std::min(kSlice, bytes.size() - first));
    const bool go_on = read(slice);
    if (slice.size() >= kWorthDropping) DropMappedPages(slice);
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

}  // namespace plimsoll
