// Plain blocks of the cuda devices, and memory of the host.
#include "device/cuda/cuda_memory.h"

namespace plimsoll::device {

Result<Address> CudaMemory::AllocatePlain(DeviceId device, Bytes size, MemoryType type) {
  CudaCall call(cards_, DeviceCall::kAllocatePlain, device);
  PLIMSOLL_TRY(call.status());
  const std::lock_guard lock(mutex_);
  PLIMSOLL_TRY(table_.CheckAllocatePlain(device, size));
  const cuda::Driver& driver = call.driver();
  Address at = 0;
  if (type == MemoryType::kHost) {
    void* block = nullptr;
    PLIMSOLL_TRY(call.Do(driver.host_allocate, &block, DriverSize(size),
                         cuda::kHostAllocPortable | cuda::kHostAllocDeviceMap));
    at = reinterpret_cast<Address>(block);
  } else {
    PLIMSOLL_TRY(TakeCapacity(call, size));
    if (const Status status = call.Do(driver.memory_allocate, &at, DriverSize(size));
        !status.ok()) {
      GiveCapacityBack(device, size);
      return Full(call, status.error());
    }
  }
  table_.AddPlain(at, {device, size, type});
  return at;
}

// The driver waits for the card before it frees memory, so no lock is held meanwhile.
Status CudaMemory::FreePlain(DeviceId device, Address at) {
  CudaCall call(cards_, DeviceCall::kFreePlain, device);
  PLIMSOLL_TRY(call.status());
  PlainRecord block;
  {
    const std::lock_guard lock(mutex_);
    PLIMSOLL_TRY(table_.CheckFreePlain(device, at));
    block = table_.plain(at);
    PLIMSOLL_TRY(CheckIdle(call, at, block.size));
    table_.RemovePlain(at);
  }
  const bool of_host = block.type == MemoryType::kHost;
  const Status status = of_host ? call.Do(call.driver().host_free, reinterpret_cast<void*>(at))
                                : call.Do(call.driver().memory_free, at);
  const std::lock_guard lock(mutex_);
  if (!status.ok()) {
    table_.AddPlain(at, block);
  } else if (!of_host) {
    GiveCapacityBack(device, block.size);
  }
  return status;
}

Status CudaMemory::RegisterHost(DeviceId device, Address at, Bytes size) {
  CudaCall call(cards_, DeviceCall::kRegisterHost, device);
  PLIMSOLL_TRY(call.status());
  const std::lock_guard lock(mutex_);
  PLIMSOLL_TRY(table_.CheckRegister(device, at, size));
  const cuda::Driver& driver = call.driver();
  std::vector<AddressRange> runs = registrations_.Missing(at, size);
  for (size_t i = 0; i < runs.size(); ++i) {
    const Status status = call.Do(driver.host_register, reinterpret_cast<void*>(runs[i].base),
                                  DriverSize(runs[i].size), cuda::kHostRegisterPortable);
    if (status.ok()) continue;
    for (size_t done = 0; done < i; ++done) {
      driver.host_unregister(reinterpret_cast<void*>(runs[done].base));
    }
    return status;
  }
  registrations_.Add(at, size, runs);
  table_.AddRegistered(at, {device, size, MemoryType::kHost});
  return {};
}

Status CudaMemory::UnregisterHost(DeviceId device, Address at) {
  CudaCall call(cards_, DeviceCall::kUnregisterHost, device);
  PLIMSOLL_TRY(call.status());
  const std::lock_guard lock(mutex_);
  PLIMSOLL_TRY(table_.CheckUnregister(device, at));
  const Bytes size = table_.registered(at).size;
  PLIMSOLL_TRY(CheckIdle(call, at, size));
  std::vector<AddressRange> runs = registrations_.Remove(at, size);
  while (!runs.empty()) {
    const Status status =
        call.Do(call.driver().host_unregister, reinterpret_cast<void*>(runs.back().base));
    if (!status.ok()) {
      registrations_.Add(at, size, runs);
      return status;
    }
    runs.pop_back();
  }
  table_.RemoveRegistered(at);
  return {};
}

std::vector<AddressRange> CudaMemory::CopyPieces(Address to, Address from, Bytes size) const {
  const std::lock_guard lock(mutex_);
  std::vector<AddressRange> pieces;
  for (const AddressRange& written : registrations_.Pieces(to, size)) {
    const Address start = from + (written.base - to);
    for (const AddressRange& read : registrations_.Pieces(start, written.size)) {
      pieces.push_back({read.base - from, read.size});
    }
  }
  return pieces;
}

}  // namespace plimsoll::device
