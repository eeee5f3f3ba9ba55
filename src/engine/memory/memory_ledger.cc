#include "engine/memory/memory_ledger.h"

#include <algorithm>

namespace plimsoll::engine {

void MemoryLedger::Raise() {
  peak_ = std::max(peak_, Reserved());
  if (told_ == nullptr || Reserved() == told_reserved_) return;
  MemoryEvent event;
  const bool more = Reserved() > told_reserved_;
  event.kind = more ? MemoryEvent::Kind::kReserve : MemoryEvent::Kind::kRelease;
  event.device = device_;
  event.bytes = more ? Reserved() - told_reserved_ : told_reserved_ - Reserved();
  event.reserved = told_reserved_ = Reserved();
  told_->OnMemoryEvent(event);
}

void MemoryLedger::OnMemoryEvent(const MemoryEvent& event) {
  using Kind = MemoryEvent::Kind;
  if (event.kind == Kind::kReserve || event.kind == Kind::kRelease) SetMapsReserved(event.reserved);
}

void MemoryLedger::SetMapsReserved(Bytes reserved) {
  const std::lock_guard lock(mutex_);
  maps_ = reserved;
  Raise();
}

void MemoryLedger::CountKept(Bytes change) {
  const std::lock_guard lock(mutex_);
  kept_ += change;
}

void MemoryLedger::CountLent(bool of_static, Bytes size) {
  const std::lock_guard lock(mutex_);
  Bytes& lent = of_static ? lent_static_ : lent_dynamic_;
  lent = std::max(lent, size);
}

void MemoryLedger::CountArea(bool of_host, Bytes asked, Bytes reserved) {
  const std::lock_guard lock(mutex_);
  if (of_host) {
    host_ += reserved;
    return;
  }
  areas_asked_ += asked;
  areas_ += reserved;
  Raise();
}

void MemoryLedger::CountTensor(bool of_heap, Bytes change) {
  if (of_heap) {
    const int64_t now = heap_.fetch_add(change.value()) + change.value();
    int64_t most = heap_most_.load();
    while (now > most && !heap_most_.compare_exchange_weak(most, now)) {
    }
    return;
  }
  const std::lock_guard lock(mutex_);
  tensors_ += change;
  lent_dynamic_ = std::max(lent_dynamic_, tensors_);
}

void MemoryLedger::Trimmed() {
  const std::lock_guard lock(mutex_);
  lent_static_ = Bytes(0);
  lent_dynamic_ = tensors_;
}

Bytes MemoryLedger::reserved() const {
  const std::lock_guard lock(mutex_);
  return Reserved();
}

Bytes MemoryLedger::peak_reserved() const {
  const std::lock_guard lock(mutex_);
  return peak_;
}

Bytes MemoryLedger::asked() const {
  const std::lock_guard lock(mutex_);
  return kept_ + areas_asked_ + lent_static_ + lent_dynamic_;
}

Bytes MemoryLedger::host() const {
  const std::lock_guard lock(mutex_);
  return host_;
}

Bytes MemoryLedger::heap() const {
  const std::lock_guard lock(mutex_);
  return Bytes(heap_most_.load());
}

}  // namespace plimsoll::engine
