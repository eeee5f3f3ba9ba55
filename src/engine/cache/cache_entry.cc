#include "engine/cache/cache_entry.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include <cerrno>
#include <cstring>

#include "engine/cache/program_version.h"
#include "engine/weights/file_descriptor.h"
#include "engine/weights/file_replacement.h"
#include "plimsoll/base/text.h"

namespace plimsoll::engine {
namespace {

constexpr char kMagic[8] = {'P', 'L', 'I', 'M', 'C', 'A', 'C', '1'};
constexpr uint64_t kHeaderBytes = 4096;  // so that the bytes behind it begin with a page

struct EntryHeader {
  char magic[8] = {};
  char kind[16] = {};
  WeightHash key;
  uint64_t size = 0;
  WeightHash checksum;        // of the bytes
  uint64_t own_checksum = 0;  // of everything above
};

uint64_t ChecksumOf(const EntryHeader& header) {
  return XXH3_64bits(&header, offsetof(EntryHeader, own_checksum));
}

WeightHash ChecksumOf(std::span<const std::byte> bytes) {
  const XXH128_hash_t hash = XXH3_128bits(bytes.data(), bytes.size());
  return {.high = hash.high64, .low = hash.low64};
}

EntryHeader HeaderFor(const CacheKey& key, uint64_t size, const WeightHash& checksum) {
  EntryHeader header;
  std::memcpy(header.magic, kMagic, sizeof kMagic);
  key.kind.copy(header.kind, sizeof header.kind - 1);
  header.key = key.hash;
  header.size = size;
  header.checksum = checksum;
  header.own_checksum = ChecksumOf(header);
  return header;
}

// The time of access stays as it is, where the system lets us: whoever keeps the time sets it.
FileDescriptor OpenToRead(const std::string& path) {
  constexpr int kFlags = O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY;
  const int file = open(path.c_str(), kFlags | O_NOATIME);
  return FileDescriptor(file < 0 && errno == EPERM ? open(path.c_str(), kFlags) : file);
}

// The whole file; null where it is none, or cannot be mapped.
std::shared_ptr<const std::byte> MapFile(const std::string& path, uint64_t* size) {
  const FileDescriptor file = OpenToRead(path);
  struct stat about {};
  if (!file.open() || fstat(file.number(), &about) != 0 || !S_ISREG(about.st_mode)) return nullptr;
  if (about.st_size < static_cast<off_t>(kHeaderBytes)) return nullptr;
  const auto length = static_cast<size_t>(about.st_size);
  void* const at = mmap(nullptr, length, PROT_READ, MAP_PRIVATE, file.number(), 0);
  if (at == MAP_FAILED) return nullptr;
  *size = length;
  return {static_cast<const std::byte*>(at),
          [length](const std::byte* mapped) { munmap(const_cast<std::byte*>(mapped), length); }};
}

}  // namespace

std::string CacheKey::FileName() const { return StrCat(kind, "_", hash.Text(), kCacheEntrySuffix); }

CacheKey CacheKeyFor(std::string_view kind, std::string_view request) {
  const std::string all = StrCat(ProgramVersion(), "\n", request);
  return {.kind = kind, .hash = ChecksumOf(std::as_bytes(std::span(all)))};
}

Status WriteCacheEntry(const std::string& path, const CacheKey& key,
                       std::span<const std::byte> bytes) {
  const EntryHeader header = HeaderFor(key, bytes.size(), ChecksumOf(bytes));
  PLIMSOLL_ASSIGN(FileReplacement file, FileReplacement::Begin(path));
  PLIMSOLL_TRY(file.WriteAt(0, std::as_bytes(std::span(&header, 1))));
  PLIMSOLL_TRY(file.WriteAt(kHeaderBytes, bytes));
  return file.CommitUnflushed();
}

std::shared_ptr<const std::byte> MapCacheEntry(const std::string& path, const CacheKey& key,
                                               uint64_t* size) {
  uint64_t length = 0;
  const std::shared_ptr<const std::byte> file = MapFile(path, &length);
  if (file == nullptr) return nullptr;
  EntryHeader header;
  std::memcpy(&header, file.get(), sizeof header);
  const EntryHeader wanted = HeaderFor(key, length - kHeaderBytes, header.checksum);
  if (std::memcmp(&header, &wanted, sizeof header) != 0) return nullptr;
  std::shared_ptr<const std::byte> bytes(file, file.get() + kHeaderBytes);
  *size = header.size;
  return ChecksumOf(std::span(bytes.get(), header.size)) == header.checksum ? bytes : nullptr;
}

}  // namespace plimsoll::engine
