#include "device/thread_bindings.h"

#include <algorithm>
#include <atomic>
#include <vector>

#include "plimsoll/device/device_call.h"

namespace plimsoll::device {
namespace {

struct Binding {
  uint64_t serial;
  DeviceId device;
};

thread_local std::vector<Binding> bindings_of_thread;  // the innermost last
std::atomic<uint64_t> next_serial = 0;

auto Innermost(uint64_t serial) {
  return std::find_if(bindings_of_thread.rbegin(), bindings_of_thread.rend(),
                      [&](const Binding& binding) { return binding.serial == serial; });
}

}  // namespace

ThreadBindings::ThreadBindings() : serial_(next_serial++) {}

ThreadBindings::~ThreadBindings() {
  std::erase_if(bindings_of_thread,
                [this](const Binding& binding) { return binding.serial == serial_; });
}

void ThreadBindings::Bind(DeviceId device) { bindings_of_thread.push_back({serial_, device}); }

Status ThreadBindings::Unbind(DeviceId device) {
  const auto innermost = Innermost(serial_);
  if (innermost == bindings_of_thread.rend() || innermost->device != device) {
    return CallError(DeviceCall::kUnbindThread, device, ErrorKind::kRunFailed,
                     "it is not what was bound to this thread last",
                     "unbind in the reverse order, on the thread that bound it");
  }
  bindings_of_thread.erase(std::next(innermost).base());
  return {};
}

DeviceId ThreadBindings::BoundOr(DeviceId otherwise) const {
  const auto innermost = Innermost(serial_);
  return innermost == bindings_of_thread.rend() ? otherwise : innermost->device;
}

}  // namespace plimsoll::device
