#pragma once

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <set>
#include <string>

#include "core/device_heap.h"
#include "plimsoll/device/fake_device.h"

namespace plimsoll::pytorch {

inline constexpr device::DeviceId kTestDevice{0};

// Streams that a test says are captured.
class ToldCaptures final : public StreamCaptures {
 public:
  bool IsCapturing(void* stream) const override { return captured.count(stream) == 1; }
  int ExchangeMode(int mode) const override {
    ++exchanges;
    return std::exchange(mode_, mode);
  }
  std::set<void*> captured;
  mutable int exchanges = 0;

 private:
  mutable int mode_ = 0;
};

// A heap over a device made of numbers, whose streams' handles are made-up numbers.
class HeapTest : public testing::Test {
 protected:
  void Make(Bytes capacity, Bytes limit = Bytes(kSaturated)) {
    device::FakeOptions options;
    options.capacity = capacity;
    device_ = std::make_shared<device::FakeDevice>(options);
    DeviceHeapOptions heap;
    heap.device = device_;
    heap.id = kTestDevice;
    heap.limit = limit;
    heap.captures = &captures_;
    heap.adopt_stream = [this](void* handle) -> Result<device::StreamId> {
      device::StreamId& stream = streams_[handle];
      if (!stream.valid()) stream = *device_->CreateStream(kTestDevice);
      return stream;
    };
    heap_ = *DeviceHeap::Create(std::move(heap));
  }
  static void* Handle(uint64_t number) { return reinterpret_cast<void*>(number); }

  device::Address Take(Bytes size, void* stream = nullptr) {
    const Result<device::Address> address = heap_->Allocate(size.value(), stream);
    EXPECT_TRUE(address.ok()) << (address.ok() ? "" : address.error().Text());
    return address.ok() ? *address : 0;
  }
  Error Refused(Bytes size, void* stream = nullptr) {
    const Result<device::Address> address = heap_->Allocate(size.value(), stream);
    EXPECT_FALSE(address.ok());
    return address.ok() ? Error() : address.error();
  }
  void LaunchWork(void* stream) {
    ASSERT_TRUE(device_->LaunchHost(kTestDevice, streams_.at(stream), [] {}).ok());
  }
  int64_t Calls(device::DeviceCall call) const { return device_->statistics().count(call); }

  std::shared_ptr<device::FakeDevice> device_;
  std::map<void*, device::StreamId> streams_;
  ToldCaptures captures_;
  std::unique_ptr<DeviceHeap> heap_;
};

}  // namespace plimsoll::pytorch
