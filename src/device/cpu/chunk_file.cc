#include "device/cpu/chunk_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>

#include "device/cpu/host_pages.h"

namespace plimsoll::device {
namespace {

constexpr Bytes kFileSize = GiB(16 * 1024);  // sparse: more than any machine's memory
constexpr unsigned kPoolFile = 4;            // MFD_HUGETLB, newer than some headers
constexpr unsigned kPageSizeShift = 26;      // where its logarithm of the page size goes

}  // namespace

std::unique_ptr<ChunkFile> ChunkFile::Open(Bytes page) {
  unsigned flags = MFD_CLOEXEC;
  if (page > host::kSmallPage) {
    const auto bits = std::countr_zero(static_cast<uint64_t>(page.value()));
    flags |= kPoolFile | (static_cast<unsigned>(bits) << kPageSizeShift);
  }
  const int descriptor = memfd_create("plimsoll", flags);
  if (descriptor < 0) return nullptr;
  if (ftruncate(descriptor, kFileSize.value()) != 0) {
    close(descriptor);
    return nullptr;
  }
  return std::unique_ptr<ChunkFile>(new ChunkFile(descriptor, page));
}

ChunkFile::ChunkFile(int descriptor, Bytes page)
    : descriptor_(descriptor), page_(page), offsets_(0, kFileSize) {}

ChunkFile::~ChunkFile() { close(descriptor_); }

ChunkFile::Piece ChunkFile::Take(Bytes size) {
  const Bytes alignment = size >= host::kHugePage ? std::max(page_, host::kHugePage) : page_;
  const auto offset = offsets_.Take(size, alignment);
  if (!offset) return {0, ENOSPC};
  if (page_ == host::kSmallPage) return {*offset, 0};
  int result = 0;
  do {
    result = fallocate(descriptor_, 0, static_cast<off_t>(*offset), size.value());
  } while (result != 0 && errno == EINTR);
  if (result == 0) return {*offset, 0};
  const int error = errno;
  GiveBack(*offset, size);
  return {0, error};
}

void ChunkFile::GiveBack(uint64_t offset, Bytes size) {
  fallocate(descriptor_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(offset),
            size.value());
  offsets_.GiveBack(offset, size);
}

}  // namespace plimsoll::device
