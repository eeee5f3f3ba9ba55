#pragma once

#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <fstream>
#include <functional>
#include <iterator>
#include <string>
#include <thread>
#include <utility>

namespace plimsoll {

// A call in a thread of its own, for tests that must know whether it waits for something. No clock
// is asked: the call has returned, or the system says that its thread sleeps.
class CallInThread {
 public:
  explicit CallInThread(std::function<void()> call)
      : thread_([this, call = std::move(call)] {
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
      asleep = Sleeps() ? asleep + 1 : 0;
      std::this_thread::yield();
    }
    return !returned_;
  }
  void Join() {
    if (thread_.joinable()) thread_.join();
  }

 private:
  bool Sleeps() const {
    if (thread_id_ == 0) return false;
    std::ifstream file("/proc/self/task/" + std::to_string(thread_id_) + "/stat");
    const std::string line{std::istreambuf_iterator<char>(file), {}};
    const size_t name_ends = line.rfind(')');
    return name_ends != std::string::npos && line.compare(name_ends, 4, ") S ") == 0;
  }

  std::atomic<long> thread_id_ = 0;
  std::atomic<bool> returned_ = false;
  std::thread thread_;  // the last: it uses the others
};

}  // namespace plimsoll
