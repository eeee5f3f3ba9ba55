#include "plimsoll/memory/limiting_allocator.h"

#include <utility>

#include "plimsoll/base/text.h"

namespace plimsoll::memory {

LimitingAllocator::LimitingAllocator(std::unique_ptr<Allocator> under, Bytes limit)
    : under_(std::move(under)), limit_(limit) {}

Result<Block> LimitingAllocator::Allocate(const Request& request) {
  const int64_t size = request.size.value();
  int64_t allocated = allocated_.load();
  do {
    if (size >= 0 && Bytes(allocated) + request.size > limit_) {
      return Error{ErrorKind::kDoesNotFit,
                   "memory.limit",
                   StrCat("cannot allocate ", request.size),
                   "",
                   StrCat(Bytes(allocated), " of the limit of ", limit_, " are handed out"),
                   "free something or raise the limit"};
    }
  } while (size >= 0 && !allocated_.compare_exchange_weak(allocated, allocated + size));
  Result<Block> block = under_->Allocate(request);
  if (!block.ok() && size >= 0) allocated_ -= size;
  return block;
}

Status LimitingAllocator::Free(const Block& block) {
  PLIMSOLL_TRY(under_->Free(block));
  allocated_ -= block.size.value();
  return Status();
}

Status LimitingAllocator::RecordStream(const Block& block, StreamId stream) {
  return under_->RecordStream(block, stream);
}

Result<Bytes> LimitingAllocator::Trim() { return under_->Trim(); }

MemoryStatistics LimitingAllocator::statistics() const { return under_->statistics(); }

}  // namespace plimsoll::memory
