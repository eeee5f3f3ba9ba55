// A device with plain memory alone, whose streams do each thing at once in the calling thread.
#include <atomic>
#include <cstdlib>
#include <cstring>

#include "plimsoll/device/registry.h"
#include "run_model.h"

namespace consumer {
namespace {

using device::Address;
using device::ChunkId;
using device::DeviceId;
using device::EventId;
using device::StreamId;

std::atomic<int64_t> plain_taken = 0;
std::atomic<int64_t> plain_live = 0;

Error NoVirtualMemory() {
  return Error{
      ErrorKind::kUnsupported, "device.reserve", "no virtual memory", "own device", "", ""};
}

class PlainMemory : public device::DeviceMemory {
 public:
  Bytes Granularity(DeviceId) const override { return KiB(4); }
  Result<device::AddressRange> ReserveAddress(DeviceId, Bytes, Bytes) override {
    return NoVirtualMemory();
  }
  Status ReleaseAddress(DeviceId, device::AddressRange) override { return NoVirtualMemory(); }
  Result<ChunkId> CreateChunk(DeviceId, Bytes, const device::ChunkOptions&) override {
    return NoVirtualMemory();
  }
  Status DestroyChunk(DeviceId, ChunkId) override { return NoVirtualMemory(); }
  Status Map(DeviceId, Address, ChunkId) override { return NoVirtualMemory(); }
  Status Unmap(DeviceId, Address, Bytes) override { return NoVirtualMemory(); }
  Status SetAccess(DeviceId, Address, Bytes) override { return NoVirtualMemory(); }
  Result<Address> AllocatePlain(DeviceId, Bytes size, device::MemoryType) override {
    ++plain_taken;
    ++plain_live;
    return reinterpret_cast<Address>(
        std::aligned_alloc(4096, static_cast<size_t>(size.RoundUp(4096).value())));
  }
  Status FreePlain(DeviceId, Address at) override {
    --plain_live;
    std::free(reinterpret_cast<void*>(at));
    return {};
  }
  Status RegisterHost(DeviceId, Address, Bytes) override { return {}; }
  Status UnregisterHost(DeviceId, Address) override { return {}; }
  Result<device::MemoryInfo> Info(DeviceId) const override {
    return device::MemoryInfo{GiB(1), GiB(1)};
  }
};

class OwnDevice : public device::Device {
 public:
  std::string Kind() const override { return "own"; }
  int Count() const override { return 1; }
  device::DeviceMemory& memory() override { return memory_; }
  DeviceId Current() const override { return DeviceId{0}; }
  Status SetCurrent(DeviceId) override { return {}; }
  Status BindThread(DeviceId) override { return {}; }
  Status UnbindThread(DeviceId) override { return {}; }
  Result<StreamId> CreateStream(DeviceId) override { return StreamId(next_++); }
  Status DestroyStream(DeviceId, StreamId) override { return {}; }
  Result<EventId> RecordEvent(DeviceId, StreamId) override { return EventId(next_++); }
  Result<bool> EventReached(DeviceId, EventId) override { return true; }
  Status WaitEvent(DeviceId, StreamId, EventId) override { return {}; }
  Status SynchronizeEvent(DeviceId, EventId) override { return {}; }
  Status DestroyEvent(DeviceId, EventId) override { return {}; }
  Status Copy(DeviceId, StreamId, Address to, Address from, Bytes size) override {
    std::memmove(reinterpret_cast<void*>(to), reinterpret_cast<const void*>(from),
                 static_cast<size_t>(size.value()));
    return {};
  }
  Status Fill(DeviceId, StreamId, Address at, uint8_t value, Bytes size) override {
    std::memset(reinterpret_cast<void*>(at), value, static_cast<size_t>(size.value()));
    return {};
  }
  Status Enqueue(DeviceId id, StreamId stream, device::StreamWork work) override {
    work({*this, id, stream});
    return {};
  }
  Status LaunchHost(DeviceId, StreamId, std::function<void()> work) override {
    work();
    return {};
  }
  Status SynchronizeStream(DeviceId, StreamId) override { return {}; }
  Status SynchronizeDevice(DeviceId) override { return {}; }

 private:
  PlainMemory memory_;
  std::atomic<size_t> next_ = 0;
};

Status Work(const char* path) {
  PLIMSOLL_TRY(device::RegisterDeviceKind(
      "own", [](const device::DeviceSettings&) -> Result<std::unique_ptr<device::Device>> {
        return std::unique_ptr<device::Device>(std::make_unique<OwnDevice>());
      }));
  PLIMSOLL_ASSIGN(const Answer usual, RunModel(path, {}));
  PLIMSOLL_ASSIGN(const Answer named, RunModel(path, {.device_name = "own"}));
  PLIMSOLL_TRY(Expect(named.elements == usual.elements, "the same outputs"));
  PLIMSOLL_TRY(Expect(plain_taken > 0 && plain_live == 0, "its memory was taken and given back"));
  std::printf("own device: %lld blocks taken and given back\n",
              static_cast<long long>(plain_taken.load()));
  PLIMSOLL_ASSIGN(const Answer given, RunModel(path, {.device = std::make_shared<OwnDevice>()}));
  PLIMSOLL_TRY(Expect(given.elements == usual.elements, "and as an object"));
  const auto misspelt = RunModel(path, {.device_name = "onw"});
  return Expect(!misspelt.ok() && misspelt.error().code == "device.unknown_kind", "unknown kind");
}

}  // namespace
}  // namespace consumer

int main(int, char** arguments) { return consumer::Report(consumer::Work(arguments[1])); }
