#pragma once

#include <stdexcept>
#include <utility>

#include "plimsoll/base/status.h"

namespace plimsoll {

// The value of a result that a test takes for granted. Where there is none, the test ends here and
// shows the error.
template <typename T>
T Must(Result<T> result) {
  if (!result.ok()) throw std::runtime_error(result.error().Text());
  return *std::move(result);
}

inline void Must(const Status& status) {
  if (!status.ok()) throw std::runtime_error(status.error().Text());
}

}  // namespace plimsoll
