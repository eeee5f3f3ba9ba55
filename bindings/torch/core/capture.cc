#include "core/capture.h"

#include <dlfcn.h>

namespace plimsoll::pytorch {

DriverCaptures::DriverCaptures(const std::string& driver) {
  // Opened before by the device, and never closed.
  void* library = dlopen(driver.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return;
  is_capturing_ = reinterpret_cast<int (*)(void*, int*)>(dlsym(library, "cuStreamIsCapturing"));
  exchange_mode_ =
      reinterpret_cast<int (*)(int*)>(dlsym(library, "cuThreadExchangeStreamCaptureMode"));
}

bool DriverCaptures::IsCapturing(void* stream) const {
  int status = 0;
  return is_capturing_ != nullptr && (is_capturing_(stream, &status) != 0 || status != 0);
}

int DriverCaptures::ExchangeMode(int mode) const {
  if (exchange_mode_ != nullptr) exchange_mode_(&mode);
  return mode;
}

}  // namespace plimsoll::pytorch
