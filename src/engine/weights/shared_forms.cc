#include "engine/weights/shared_forms.h"

namespace plimsoll::engine {

std::shared_ptr<SharedForms::Slot> SharedForms::SlotOf(const std::string& key) {
  const std::lock_guard lock(mutex_);
  if (slots_.size() >= sweep_at_) {
    std::erase_if(slots_, [](const auto& entry) {
      const auto& slot = entry.second;
      return slot.use_count() == 1 && slot->form.expired();
    });
    sweep_at_ = 2 * slots_.size() + 64;
  }
  auto& slot = slots_[key];
  if (slot == nullptr) slot = std::make_shared<Slot>();
  return slot;
}

Result<SharedForms::Form> SharedForms::FindOrMake(const std::string& key, const Make& make) {
  const std::shared_ptr<Slot> slot = SlotOf(key);
  const std::lock_guard lock(slot->mutex);
  if (Form form = slot->form.lock()) return form;
  PLIMSOLL_ASSIGN(Form form, make());
  slot->form = form;
  return form;
}

size_t SharedForms::size() const {
  const std::lock_guard lock(mutex_);
  return slots_.size();
}

}  // namespace plimsoll::engine
