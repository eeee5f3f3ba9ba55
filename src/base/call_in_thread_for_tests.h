#pragma once

#include <pthread.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <fstream>
#include <functional>
#include <iterator>
#include <string>
#include <thread>
#include <utility>

namespace plimsoll {

// A call in a thread of its own, for tests that must know whether it waits for something. No time
// of day is asked: the call has returned, or the system says that its thread sleeps, or has used so
// much of a processor that it can only be turning in circles, as NVIDIA's driver waits.
class CallInThread {
 public:
  explicit CallInThread(std::function<void()> call)
      : thread_([this, call = std::move(call)] {
          pthread_getcpuclockid(pthread_self(), &clock_);
          thread_id_ = syscall(SYS_gettid);
          call();
          returned_ = true;
        }) {}
  ~CallInThread() { Join(); }
  CallInThread(const CallInThread&) = delete;
  CallInThread& operator=(const CallInThread&) = delete;

  // Comes back when either is certain.
  bool Waits() const {
    constexpr int kLooks = 5;  // a thread may sleep for a moment where it waits for nothing long
    for (int asleep = 0; asleep < kLooks;) {
      if (returned_) return false;
      if (Turns()) break;
      asleep = Sleeps() ? asleep + 1 : 0;
      std::this_thread::yield();
    }
    return !returned_;
  }
  void Join() {
    if (thread_.joinable()) thread_.join();
  }

 private:
  bool Turns() const {
    constexpr long kLong = 400'000'000;  // nanoseconds: no call of a test takes a tenth of that
    timespec used{};
    return thread_id_ != 0 && !returned_ && clock_gettime(clock_, &used) == 0 &&
           (used.tv_sec > 0 || used.tv_nsec > kLong);
  }
  bool Sleeps() const {
    if (thread_id_ == 0) return false;
    std::ifstream file("/proc/self/task/" + std::to_string(thread_id_) + "/stat");
    const std::string line{std::istreambuf_iterator<char>(file), {}};
    const size_t name_ends = line.rfind(')');
    return name_ends != std::string::npos && line.compare(name_ends, 4, ") S ") == 0;
  }

  clockid_t clock_{};  // of the thread's own time; set before its id
  std::atomic<long> thread_id_ = 0;
  std::atomic<bool> returned_ = false;
  std::thread thread_;  // the last: it uses the others
};

}  // namespace plimsoll
