#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "plimsoll/base/bytes.h"
#include "plimsoll/base/status.h"
#include "plimsoll/device/device.h"

namespace plimsoll::engine {

// A caller's input on the host.
struct HostInput {
  const void* data = nullptr;
  Bytes size;
};

// Brings the inputs of a run to a device whose memory the host cannot reach. Inputs of at most
// `input_fusion_size` bytes are gathered and go in one transfer; each larger one goes alone, from
// where it lies. 0 switches gathering off: every input goes alone, empty ones too.
//
// Prepare decides for a set of sizes and takes one block of device memory for all of them; Send
// then costs one copy on the host and the transfers. One thread and one stream at a time; the
// device and the stream must outlive it. A call that fails leaves what was prepared as it was.
class InputTransfer {
 public:
  InputTransfer(device::Device& device, device::DeviceId id, device::StreamId stream,
                int64_t input_fusion_size);
  ~InputTransfer();
  InputTransfer(const InputTransfer&) = delete;
  InputTransfer& operator=(const InputTransfer&) = delete;

  // Takes memory for inputs of these sizes, waiting first for what Send began. Gives back what it
  // held for others.
  Status Prepare(std::span<const Bytes> sizes);

  // Sends inputs of the sizes that were prepared, in stream order. What goes alone is read when the
  // stream comes to it, so it must stay until the stream has been synchronised.
  Status Send(std::span<const HostInput> inputs);

  // Where each input lies on the device, aligned to 32 bytes; valid until the next Prepare.
  const std::vector<device::Address>& addresses() const { return addresses_; }
  Bytes device_bytes() const { return block_.size; }

 private:
  bool IsFused(Bytes size) const;
  Status FinishPending();
  void Release();

  device::Device& device_;
  const device::DeviceId id_;
  const device::StreamId stream_;
  const Bytes threshold_;
  std::vector<Bytes> sizes_;
  std::vector<device::Address> addresses_;
  device::AddressRange block_;      // on the device: what is fused, then the others
  std::vector<std::byte> staging_;  // on the host: what is fused
  bool pending_ = false;            // the device may still read `staging_`
};

}  // namespace plimsoll::engine
