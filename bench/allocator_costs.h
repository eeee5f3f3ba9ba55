#pragma once

#include <string>

#include "plimsoll/base/bytes.h"
#include "plimsoll/base/status.h"

// What single operations of the allocators cost, printed to standard output.
namespace plimsoll::bench {

// Driver time to grow to 64 GiB on the fake device.
Status GrowthCost();
// Time inside device calls to grow to a size on a device ("cuda:0"), by requests of four sizes.
Status GrowthCostOn(const std::string& name, Bytes size);
// A pair of allocate and free on the cpu device, plain and in debug mode, for several sizes.
Status DebugCost();
// A refused request, report included, with 100,000 live blocks of 1,000 tags and as many holes.
Status OutOfMemoryCost();

}  // namespace plimsoll::bench
