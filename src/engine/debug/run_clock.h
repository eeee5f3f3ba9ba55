#pragma once

#include <chrono>
#include <thread>

namespace plimsoll::engine {

// What limits of time are measured by. Thread-safe. Tests have clocks of their own.
class RunClock {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;

  virtual ~RunClock() = default;
  virtual TimePoint Now() { return std::chrono::steady_clock::now(); }
  virtual void Sleep(std::chrono::microseconds time) { std::this_thread::sleep_for(time); }
};

}  // namespace plimsoll::engine
