#pragma once

#include <cstdint>

#include "plimsoll/base/bytes.h"
#include "plimsoll/device/device_call.h"

namespace plimsoll::device {

// What a driver call costs in microseconds as its size grows: three measured sizes, straight lines
// between them, flat below the first and straight on above the last.
struct CostBySize {
  double at_2_mib = 0;
  double at_256_mib = 0;
  double at_1_gib = 0;

  int64_t Nanoseconds(Bytes size) const;
};

// The price list of a driver. The defaults are medians measured on an H200 with driver 580: memory
// calls as in ANCHORS.md, the others by the same method. A call on a run of chunks costs the sum
// over its chunks, as the driver's does. Calls that are the user's work (copy, fill, kernels,
// recordings) and plain queries are free here: the list is about the price of managing memory.
struct DriverCosts {
  CostBySize allocate_plain{60, 67, 222};
  CostBySize free_plain{36, 164, 481};
  CostBySize create_chunk{16, 18, 85};
  CostBySize destroy_chunk{15, 148, 582};
  CostBySize map{1.5, 1.3, 2.5};
  CostBySize unmap{21, 27, 41};
  CostBySize set_access{32, 59, 101};
  CostBySize register_host{144, 11688, 49567};
  CostBySize unregister_host{71, 4562, 18411};
  double reserve_address = 35;
  double release_address = 4;
  double synchronize = 5.5;  // of a stream or of the device, beyond the work waited for
  double synchronize_event = 0.4;
  double record_event = 0.4;  // with the creation of the event
  double event_reached = 1.4;
  double wait_event = 0.25;
  double destroy_event = 0.15;

  // What one call costs; `size` is of the chunk or block it is about, where there is one.
  int64_t Nanoseconds(DeviceCall call, Bytes size) const;
};

}  // namespace plimsoll::device
