#include "plimsoll/device/waiting.h"

namespace plimsoll::device {

Status WaitForStream(Device& device, DeviceId id, StreamId stream) {
  Status waited = device.SynchronizeStream(id, stream);
  if (!waited.ok()) (void)device.SynchronizeStream(id, stream).ok();
  return waited;
}

Status CopyAndWait(Device& device, DeviceId id, StreamId stream, Address to, Address from,
                   Bytes size) {
  Status copied = device.Copy(id, stream, to, from, size);
  Status waited = WaitForStream(device, id, stream);
  return copied.ok() ? waited : copied;
}

}  // namespace plimsoll::device
