#include "engine/arena.h"

#include "plimsoll/base/text.h"

namespace plimsoll::engine {

Arena::~Arena() { Release(); }

void Arena::Release() {
  // A device that refuses to take memory back leaves nothing to be done about it here.
  if (size_ > Bytes(0)) (void)device_.memory().FreePlain(id_, base_).ok();
  base_ = 0;
  size_ = Bytes(0);
}

Status Arena::Ensure(Bytes size) {
  if (size <= size_) return {};
  Release();
  auto base = device_.memory().AllocatePlain(id_, size, device::MemoryType::kDevice);
  if (!base.ok()) {
    const Error& reason = base.error();
    return Error{.kind = ErrorKind::kDoesNotFit,
                 .code = "memory.out_of_memory",
                 .what = StrCat("no memory for a feature map of ", size),
                 .where = reason.where,
                 .why = reason.Text(),
                 .remedy = "run with a smaller batch, or see 'plimsoll plan MODEL --limit'"};
  }
  base_ = *base;
  size_ = size;
  return {};
}

}  // namespace plimsoll::engine
