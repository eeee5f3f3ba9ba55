#pragma once

#include "plimsoll/base/bytes.h"

namespace plimsoll {

// Of one core; a usual size where the system does not tell.
Bytes SecondCacheSize();

}  // namespace plimsoll
