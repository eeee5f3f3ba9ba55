#pragma once

#include <dlfcn.h>

#include <cstdlib>
#include <memory>
#include <string>
#include <utility>

#include "device/cuda/driver_types.h"
#include "device/cuda/standin/standin.h"
#include "plimsoll/device/cuda_device.h"

namespace plimsoll::device {

inline std::string StandinLibrary() { return PLIMSOLL_BINARY_DIR "/libplimsoll_cuda_standin.so"; }

// Whether the tests are to run on a card, by the real driver, rather than on the stand-in.
inline bool TestsUseACard() { return std::getenv("PLIMSOLL_CUDA_TESTS") != nullptr; }

// A device over the card where the tests use one, else over the stand-in. A real driver takes long
// to make a card's context anew, so the first one is kept.
inline std::unique_ptr<CudaDevice> CudaDeviceForTests(CudaOptions options) {
  if (TestsUseACard()) {
    static const auto keeps_context = std::move(CudaDevice::Create()).value();
    (void)keeps_context->memory().Info(DeviceId{0});
  } else {
    options.driver = StandinLibrary();
  }
  return std::move(CudaDevice::Create(options)).value();
}

// What the stand-in of the driver is told and asked (standin.h); reset at both ends.
class Standin {
 public:
  Standin() { reset(); }
  ~Standin() { reset(); }
  Standin(const Standin&) = delete;
  Standin& operator=(const Standin&) = delete;

  // A function of the library, the driver's own among them.
  template <typename Signature>
  static Signature* Find(const char* name) {
    static void* const library = dlopen(StandinLibrary().c_str(), RTLD_NOW | RTLD_LOCAL);
    return library == nullptr ? nullptr : reinterpret_cast<Signature*>(dlsym(library, name));
  }

  decltype(PlimsollStandinReset)* const reset =
      Find<decltype(PlimsollStandinReset)>("PlimsollStandinReset");
  decltype(PlimsollStandinSetCards)* const set_cards =
      Find<decltype(PlimsollStandinSetCards)>("PlimsollStandinSetCards");
  decltype(PlimsollStandinSetVersion)* const set_version =
      Find<decltype(PlimsollStandinSetVersion)>("PlimsollStandinSetVersion");
  decltype(PlimsollStandinSetMemory)* const set_memory =
      Find<decltype(PlimsollStandinSetMemory)>("PlimsollStandinSetMemory");
  decltype(PlimsollStandinSetUsedByOthers)* const set_used_by_others =
      Find<decltype(PlimsollStandinSetUsedByOthers)>("PlimsollStandinSetUsedByOthers");
  decltype(PlimsollStandinSetVirtualMemory)* const set_virtual_memory =
      Find<decltype(PlimsollStandinSetVirtualMemory)>("PlimsollStandinSetVirtualMemory");
  decltype(PlimsollStandinIgnoreAlignment)* const ignore_alignment =
      Find<decltype(PlimsollStandinIgnoreAlignment)>("PlimsollStandinIgnoreAlignment");
  decltype(PlimsollStandinFail)* const fail =
      Find<decltype(PlimsollStandinFail)>("PlimsollStandinFail");
  decltype(PlimsollStandinCalls)* const calls =
      Find<decltype(PlimsollStandinCalls)>("PlimsollStandinCalls");
  decltype(PlimsollStandinOutstanding)* const outstanding =
      Find<decltype(PlimsollStandinOutstanding)>("PlimsollStandinOutstanding");
};

}  // namespace plimsoll::device
