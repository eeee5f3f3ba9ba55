#include "engine/cache/cache_entry.h"

#include <fcntl.h>
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
  WeightHash checksum;  // of the bytes
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

bool ReadAll(int file, void* into, uint64_t size, uint64_t place) {
  auto* at = static_cast<std::byte*>(into);
  while (size > 0) {
    const ssize_t got = pread(file, at, size, static_cast<off_t>(place));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    at += got;
    place += static_cast<uint64_t>(got);
    size -= static_cast<uint64_t>(got);
  }
  return true;
}

}  // namespace

std::string CacheKey::FileName() const {
  return StrCat(kind, "_", hash.Text(), kCacheEntrySuffix);
}

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

bool ReadCacheEntry(const std::string& path, const CacheKey& key,
                    const std::function<std::byte*(uint64_t size)>& take) {
  const FileDescriptor file(
      open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY));
  struct stat about {};
  if (!file.open() || fstat(file.number(), &about) != 0 || !S_ISREG(about.st_mode)) return false;
  EntryHeader header;
  if (!ReadAll(file.number(), &header, sizeof header, 0)) return false;
  const EntryHeader wanted = HeaderFor(key, header.size, header.checksum);
  if (std::memcmp(&header, &wanted, sizeof header) != 0) return false;
  if (about.st_size < 0 || static_cast<uint64_t>(about.st_size) < kHeaderBytes ||
      static_cast<uint64_t>(about.st_size) - kHeaderBytes != header.size) {
    return false;
  }
  std::byte* const into = take(header.size);
  if (into == nullptr || !ReadAll(file.number(), into, header.size, kHeaderBytes)) return false;
  return ChecksumOf(std::span<const std::byte>(into, header.size)) == header.checksum;
}

}  // namespace plimsoll::engine
