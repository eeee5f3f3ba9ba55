#pragma once

#include "device/conformance_fixture.h"

namespace plimsoll::device {

// A cuda device over the stand-in of the driver.
class CudaDeviceTest : public testing::Test {
 protected:
  static std::unique_ptr<CudaDevice> Make(CudaOptions options = {}) {
    options.driver = StandinLibrary();
    return std::move(CudaDevice::Create(options)).value();
  }
  StreamId Stream(DeviceId id = kFirst) { return device_->CreateStream(id).value(); }
  Address Plain(Bytes size, DeviceId id = kFirst) {
    return device_->memory().AllocatePlain(id, size, MemoryType::kDevice).value();
  }
  // A stream, an event or the like of the stand-in, made as its owner would.
  template <typename... Arguments>
  static cuda::Result Driver(const char* function, Arguments... arguments) {
    return Standin::Find<cuda::Result(Arguments...)>(function)(arguments...);
  }

  Standin standin_;
  std::unique_ptr<CudaDevice> device_ = Make();
};

}  // namespace plimsoll::device
