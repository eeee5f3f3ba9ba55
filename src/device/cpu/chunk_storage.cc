#include "device/cpu/chunk_storage.h"

#include <cerrno>
#include <cstring>
#include <utility>

#include "device/cpu/host_pages.h"
#include "device/cpu/system_memory.h"
#include "plimsoll/base/text.h"
#include "plimsoll/device/device_call.h"

namespace plimsoll::device {
namespace {

using host::kGiantPage;
using host::kHugePage;
using host::kSmallPage;

bool IsWhole(Bytes size, Bytes page) {
  return host::IsWhole(static_cast<uint64_t>(size.value()), page);
}

Error NoMemory(DeviceId device, ErrorKind kind, std::string why, std::string remedy) {
  return CallError(DeviceCall::kCreateChunk, device, kind, std::move(why), std::move(remedy));
}

// Why the system's pool cannot give `size` in whole pages, and who could change that.
Error PoolError(DeviceId device, Bytes size, Bytes page) {
  const auto pool = FindHugePagePool(page);
  if (!pool) {
    return NoMemory(device, ErrorKind::kUnsupported,
                    StrCat("this machine has no pool of ", page, " pages"),
                    "ask for pages of another size");
  }
  const int64_t wanted = size.RoundUp(page.value()).value() / page.value();
  return NoMemory(device, ErrorKind::kDoesNotFit,
                  StrCat(wanted, " pages of ", page, " are needed and ", pool->free, " of ",
                         pool->pages, " are free in the pool ", pool->path),
                  StrCat("as root: echo ", pool->pages - pool->free + wanted, " > ", pool->path));
}

// Makes accessible memory huge and tells whether the kernel's own account says that it is. The
// memory must be a mapping of its own.
bool MakeHuge(Address at, Bytes size) {
  host::AdviseHuge(at, size);
  host::CollapseIntoHuge(at, size);
  const auto pages = PagesAt(at);
  return pages && pages->huge == size;
}

}  // namespace

ChunkFile* ChunkStorage::File(Bytes page) {
  std::unique_ptr<ChunkFile>& file = files_[page];
  if (file == nullptr) file = ChunkFile::Open(page);
  return file.get();
}

Result<StoredChunk> ChunkStorage::Create(DeviceId device, Bytes size, const ChunkOptions& options) {
  switch (options.pages) {
    case PagePolicy::kHuge1G:
      return FromPool(device, size, options.pages, kGiantPage);
    case PagePolicy::kHuge2M:
      return FromPool(device, size, options.pages, kHugePage);
    case PagePolicy::kTransparent2M:
      return Transparent(device, size, options.mapped_twice);
    case PagePolicy::kDefault:
      if (options.mapped_twice && huge_by_default_ && IsWhole(size, kHugePage)) {
        const auto pool = FindHugePagePool(kHugePage);
        if (pool && pool->free >= size.value() / kHugePage.value()) {
          auto chunk = FromPool(device, size, options.pages, kHugePage);
          if (chunk.ok()) return chunk;
        }
      }
      break;
    case PagePolicy::kSmall4K:
      break;
  }
  if (options.mapped_twice) return FromFile(device, size, options.pages);
  return StoredChunk{size, options.pages};
}

Result<StoredChunk> ChunkStorage::FromPool(DeviceId device, Bytes size, PagePolicy pages,
                                           Bytes page) {
  if (!IsWhole(size, page)) {
    return NoMemory(device, ErrorKind::kRunFailed,
                    StrCat(size.value(), " bytes are not made of whole pages of ", page),
                    "round the size up");
  }
  ChunkFile* file = File(page);
  if (file == nullptr) return PoolError(device, size, page);
  const ChunkFile::Piece piece = file->Take(size);
  if (piece.error != 0) return PoolError(device, size, page);
  return StoredChunk{size, pages, file, piece.offset};
}

Result<StoredChunk> ChunkStorage::FromFile(DeviceId device, Bytes size, PagePolicy pages) {
  ChunkFile* file = File(kSmallPage);
  const ChunkFile::Piece piece = file != nullptr ? file->Take(size) : ChunkFile::Piece{0, errno};
  if (piece.error == 0) return StoredChunk{size, pages, file, piece.offset};
  return NoMemory(device, ErrorKind::kDoesNotFit, std::strerror(piece.error),
                  "free memory or file descriptors");
}

Result<StoredChunk> ChunkStorage::Transparent(DeviceId device, Bytes size, bool mapped_twice) {
  if (!IsWhole(size, kHugePage)) {
    return NoMemory(device, ErrorKind::kRunFailed,
                    StrCat(size.value(), " bytes are not made of whole pages of ", kHugePage),
                    "round the size up");
  }
  StoredChunk chunk{size, PagePolicy::kTransparent2M};
  if (mapped_twice) {
    PLIMSOLL_ASSIGN(chunk, FromFile(device, size, PagePolicy::kTransparent2M));
  }
  // The empty addresses around it keep its account in smaps separate from its neighbours'.
  const Bytes guarded = size + kHugePage * 2;
  const Address outer = host::Reserve(guarded, kHugePage);
  const Address at = outer + static_cast<uint64_t>(kHugePage.value());
  const auto placed = [&] {
    return mapped_twice ? host::PlaceFile(at, size, chunk.file->descriptor(), chunk.offset)
                        : host::PlaceAnonymous(at, size);
  };
  const bool huge =
      outer != 0 && placed() == 0 && host::AllowAccess(at, size) == 0 && MakeHuge(at, size);
  if (huge && !mapped_twice) {
    host::Release(outer, kHugePage);
    host::Release(at + static_cast<uint64_t>(size.value()), kHugePage);
    chunk.home = at;
    chunk.was_accessible = true;
    return chunk;
  }
  if (outer != 0) host::Release(outer, guarded);
  if (huge) return chunk;
  Destroy(chunk);
  return NoMemory(device, ErrorKind::kDoesNotFit,
                  StrCat("the kernel did not make ", size, " of transparent huge pages"),
                  "free memory, or set /sys/kernel/mm/transparent_hugepage/enabled to madvise");
}

void ChunkStorage::Destroy(const StoredChunk& chunk) {
  if (chunk.file != nullptr) chunk.file->GiveBack(chunk.offset, chunk.size);
  if (chunk.home != 0) host::Release(chunk.home, chunk.size);
}

int ChunkStorage::Map(StoredChunk& chunk, Address at) {
  int error = 0;
  if (chunk.file != nullptr) {
    error = host::PlaceFile(at, chunk.size, chunk.file->descriptor(), chunk.offset);
  } else if (chunk.home != 0) {
    return MoveBack(chunk, at);
  } else {
    error = host::PlaceAnonymous(at, chunk.size);
  }
  if (error != 0) return error;
  if (chunk.pages == PagePolicy::kSmall4K) host::AdviseSmall(at, chunk.size);
  if (chunk.pages == PagePolicy::kDefault && huge_by_default_) host::AdviseHuge(at, chunk.size);
  return 0;
}

int ChunkStorage::MoveHome(StoredChunk& chunk, Address at) {
  if (chunk.file != nullptr || !chunk.was_accessible) return 0;
  const Bytes alignment = chunk.size >= kHugePage ? kHugePage : kSmallPage;
  const Address home = host::Reserve(chunk.size, alignment);
  if (home == 0) return ENOMEM;
  if (const int error = host::Move(at, home, chunk.size)) {
    host::Release(home, chunk.size);
    return error;
  }
  chunk.home = home;
  return 0;
}

int ChunkStorage::MoveBack(StoredChunk& chunk, Address at) {
  if (chunk.home == 0) return 0;
  if (const int error = host::Move(chunk.home, at, chunk.size)) return error;
  host::Release(std::exchange(chunk.home, 0), chunk.size);
  return host::ForbidAccess(at, chunk.size);
}

void ChunkStorage::BecameAccessible(StoredChunk& chunk, Address at) {
  const bool first = !std::exchange(chunk.was_accessible, true);
  const bool ordinary = chunk.file != nullptr && chunk.file->page() == kSmallPage;
  if (first && ordinary && huge_by_default_ && chunk.pages == PagePolicy::kDefault &&
      IsWhole(chunk.size, kHugePage) && host::IsWhole(at, kHugePage)) {
    host::CollapseIntoHuge(at, chunk.size);
  }
}

}  // namespace plimsoll::device
