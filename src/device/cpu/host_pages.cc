#include "device/cpu/host_pages.h"

#include <sys/mman.h>

#include <algorithm>
#include <cassert>
#include <cerrno>

namespace plimsoll::device::host {
namespace {

// Newer than the headers of some systems that run on a kernel that has them.
constexpr int kPopulateWrite = 23;
constexpr int kCollapse = 25;
constexpr int kKeepOldPlace = 4;

constexpr int kNoMemory = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;

void* Pointer(Address at) { return reinterpret_cast<void*>(at); }
size_t Count(Bytes size) { return static_cast<size_t>(size.value()); }
int ErrorOf(void* mapped) { return mapped == MAP_FAILED ? errno : 0; }
int ErrorOf(int result) { return result != 0 ? errno : 0; }

}  // namespace

bool IsWhole(uint64_t value, Bytes page) { return value % Count(page) == 0; }

Address Reserve(Bytes size, Bytes alignment) {
  assert(size > Bytes(0));
  const Bytes slack = std::max(alignment, kSmallPage) - kSmallPage;
  const Bytes whole = size.RoundUp(kSmallPage.value());
  const Bytes outer = whole + slack;
  if (outer.saturated()) return 0;
  void* mapped = mmap(nullptr, Count(outer), PROT_NONE, kNoMemory, -1, 0);
  if (mapped == MAP_FAILED) return 0;
  const Address begin = reinterpret_cast<Address>(mapped);
  const Address mask = Count(slack + kSmallPage) - 1;
  const Address at = (begin + mask) & ~mask;
  Release(begin, Bytes(static_cast<int64_t>(at - begin)));
  Release(at + Count(whole), slack - Bytes(static_cast<int64_t>(at - begin)));
  return at;
}

void Release(Address at, Bytes size) {
  if (size > Bytes(0)) munmap(Pointer(at), Count(size));
}

int Clear(Address at, Bytes size) {
  return ErrorOf(mmap(Pointer(at), Count(size), PROT_NONE, kNoMemory | MAP_FIXED, -1, 0));
}

int PlaceAnonymous(Address at, Bytes size) {
  return ErrorOf(
      mmap(Pointer(at), Count(size), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0));
}

int PlaceFile(Address at, Bytes size, int file, uint64_t offset) {
  return ErrorOf(mmap(Pointer(at), Count(size), PROT_NONE, MAP_SHARED | MAP_FIXED, file,
                      static_cast<off_t>(offset)));
}

int Move(Address from, Address to, Bytes size) {
  return ErrorOf(mremap(Pointer(from), Count(size), Count(size),
                        MREMAP_MAYMOVE | MREMAP_FIXED | kKeepOldPlace, Pointer(to)));
}

int AllowAccess(Address at, Bytes size) {
  return ErrorOf(mprotect(Pointer(at), Count(size), PROT_READ | PROT_WRITE));
}

int ForbidAccess(Address at, Bytes size) {
  return ErrorOf(mprotect(Pointer(at), Count(size), PROT_NONE));
}

void AdviseHuge(Address at, Bytes size) { madvise(Pointer(at), Count(size), MADV_HUGEPAGE); }
void AdviseSmall(Address at, Bytes size) { madvise(Pointer(at), Count(size), MADV_NOHUGEPAGE); }

int CollapseIntoHuge(Address at, Bytes size) {
  for (Bytes done(0); done < size; done += kHugePage) {
    const Address piece = at + Count(done);
    if (madvise(Pointer(piece), Count(kSmallPage), kPopulateWrite) != 0) return errno;
  }
  return ErrorOf(madvise(Pointer(at), Count(size), kCollapse));
}

}  // namespace plimsoll::device::host
