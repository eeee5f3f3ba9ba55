#pragma once

#include <thread>

namespace plimsoll::plan {

// Remembers the first thread that asks and tells it from all others: for parts that must be used by
// one thread only. A copy starts anew. Meant for asserts.
class OneThread {
 public:
  OneThread() = default;
  OneThread(const OneThread&) : OneThread() {}
  OneThread& operator=(const OneThread&) { return *this; }

  bool IsSame() const {
    if (owner_ == std::thread::id()) owner_ = std::this_thread::get_id();
    return owner_ == std::this_thread::get_id();
  }

 private:
  mutable std::thread::id owner_;
};

}  // namespace plimsoll::plan
