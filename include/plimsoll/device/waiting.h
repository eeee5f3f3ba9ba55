#pragma once

#include "plimsoll/device/device.h"

namespace plimsoll::device {

// Waits for a stream before memory that its work uses is let go or used by others. A wait that
// fails is made once more, and its error told, so that work which is under way has ended all the
// same. A device that cannot be waited for twice is taken as lost, and its work with it.
Status WaitForStream(Device& device, DeviceId id, StreamId stream);

// Copies, and waits. The stream has ended its work also where the copy is refused.
Status CopyAndWait(Device& device, DeviceId id, StreamId stream, Address to, Address from,
                   Bytes size);

}  // namespace plimsoll::device
