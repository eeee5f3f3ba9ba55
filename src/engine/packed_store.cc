#include "engine/packed_store.h"

#include <xxhash.h>

#include "engine/mapped_pages.h"
#include "kernels/host_value.h"
#include "plimsoll/base/text.h"

namespace plimsoll::engine {

Result<const void*> PackedStore::Pack(const void* data, Bytes plain, std::string_view layout,
                                      Bytes packed, const Fill& fill) {
  const std::lock_guard lock(mutex_);
  const std::string key =
      lasting_.contains(data)
          ? StrCat("at ", reinterpret_cast<uintptr_t>(data), " ", layout)
          : StrCat("hash ", XXH3_64bits(data, static_cast<size_t>(plain.value())), " ",
                   plain.value(), " ", layout);
  auto& form = forms_[key];
  if (form != nullptr) return static_cast<const void*>(form.get());
  form = kernels::AllocateBytes(packed);
  if (form == nullptr) {
    return Error{.kind = ErrorKind::kDoesNotFit,
                 .code = "run.memory",
                 .what = "cannot pack a weight",
                 .where = "",
                 .why = StrCat("the host has no ", packed, " left"),
                 .remedy = "close other models, or use a smaller one"};
  }
  if (const Status filled = fill(form.get()); !filled.ok()) {
    forms_.erase(key);
    return filled.error();
  }
  held_ += packed;
  Forget(data, plain);
  return static_cast<const void*>(form.get());
}

void PackedStore::Forget(const void* data, Bytes size) {
  DropMappedPages({static_cast<const std::byte*>(data), static_cast<size_t>(size.value())});
}

void PackedStore::AddLasting(const void* data) {
  const std::lock_guard lock(mutex_);
  lasting_.insert(data);
}

Bytes PackedStore::held() const {
  const std::lock_guard lock(mutex_);
  return held_;
}

}  // namespace plimsoll::engine
