#include "engine/packed_store.h"

#include <cstring>

#include "base/mapped_pages.h"
#include "plimsoll/base/text.h"

namespace plimsoll::engine {

PackedStore::Key PackedStore::KeyOf(std::span<const std::byte> constant,
                                    std::string_view layout) const {
  const std::string kind = session_->memory().Kind();
  if (const auto hash = lease_.HashAt(constant)) {
    return {StrCat("weight ", hash->Text(), " in ", kind, " as ", layout), true};
  }
  if (lasting_.contains(constant.data())) {
    return {StrCat("at ", reinterpret_cast<uintptr_t>(constant.data()), " of ", constant.size(),
                   " as ", layout),
            false};
  }
  return {StrCat("session ", session_->session(), " constant ", HashOf(constant).Text(), " of ",
                 constant.size(), " in ", kind, " as ", layout),
          true};
}

Result<SharedForms::Form> PackedStore::FormOf(std::span<const std::byte> constant,
                                              std::string_view layout, Bytes size,
                                              const Fill& fill) {
  const std::lock_guard lock(mutex_);
  const Key key = KeyOf(constant, layout);
  if (const auto known = forms_.find(key.text); known != forms_.end()) return known->second.held;
  const auto make = [&]() -> Result<SharedForms::Form> {
    PLIMSOLL_ASSIGN(const std::shared_ptr<void> memory, session_->memory().Allocate(size));
    PLIMSOLL_TRY(fill(memory.get()));
    Drop(constant);
    return std::make_shared<const SharedForms::Held>(SharedForms::Held{memory});
  };
  PLIMSOLL_ASSIGN(SharedForms::Form form,
                  key.shared ? SharedForms::OfProcess().FindOrMake(key.text, make) : make());
  forms_.emplace(key.text, Form{form, size});
  memories_->push_back(form->memory);
  return form;
}

Result<const void*> PackedStore::Pack(const void* data, Bytes plain, std::string_view layout,
                                      Bytes packed, const Fill& fill) {
  const std::span<const std::byte> constant(static_cast<const std::byte*>(data),
                                            static_cast<size_t>(plain.value()));
  PLIMSOLL_ASSIGN(const SharedForms::Form form, FormOf(constant, layout, packed, fill));
  return form->memory.get();
}

void PackedStore::Forget(const void* data, Bytes size) {
  Drop({static_cast<const std::byte*>(data), static_cast<size_t>(size.value())});
}

void PackedStore::Drop(std::span<const std::byte> bytes) const {
  if (lease_.Contains(bytes)) {
    DropPagesOfFile(bytes);
  } else {
    DropMappedPages(bytes);
  }
}

Status PackedStore::Externalise(graph::Graph& graph) {
  if (session_->external() == nullptr) return {};
  const std::lock_guard lock(mutex_);
  return session_->external()->Hold(graph, lease_);
}

void PackedStore::AddLasting(const void* data) {
  const std::lock_guard lock(mutex_);
  lasting_.insert(data);
}

Result<kernels::HostTensor> PackedStore::Hold(const graph::ConstantTensor& constant) {
  const bool stays = !session_->memory().large_pages() || constant.bytes.empty();
  if (stays) return kernels::ToHostTensor(constant);
  const Bytes size(static_cast<int64_t>(constant.bytes.size()));
  PLIMSOLL_ASSIGN(const SharedForms::Form form,
                  FormOf(constant.bytes, "plain", size, [&](void* memory) {
                    std::memcpy(memory, constant.bytes.data(), constant.bytes.size());
                    return Status();
                  }));
  kernels::HostTensor tensor{.type = constant.type, .dims = constant.dims, .data = nullptr};
  tensor.data = form->memory;
  return tensor;
}

void PackedStore::AddTo(HeldWeights& weights) const {
  const std::lock_guard lock(mutex_);
  for (const auto& [key, form] : forms_) weights.emplace(form.held->memory.get(), form.size);
}

}  // namespace plimsoll::engine
