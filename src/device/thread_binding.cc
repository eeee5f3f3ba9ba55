#include "plimsoll/device/thread_binding.h"

#include <utility>

#include "plimsoll/base/log.h"
#include "plimsoll/device/device_call.h"

namespace plimsoll::device {

Result<ThreadBinding> ThreadBinding::Bind(Device& device, DeviceId id) {
  PLIMSOLL_TRY(device.BindThread(id));
  return ThreadBinding(device, id);
}

ThreadBinding::ThreadBinding(ThreadBinding&& other) noexcept
    : device_(std::exchange(other.device_, nullptr)), id_(other.id_) {}

ThreadBinding::~ThreadBinding() {
  if (device_ == nullptr) return;
  const Status unbound = device_->UnbindThread(id_);
  if (!unbound.ok() && unbound.error().code != kDeviceLost) {
    Log(LogLevel::kWarning, unbound.error().Text());
  }
}

}  // namespace plimsoll::device
