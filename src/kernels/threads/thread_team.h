#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <vector>

namespace plimsoll::kernels {

inline constexpr int kMostThreads = 512;

// The threads that work for one calling thread. A region is cut into parts, numbered from 0; the
// caller takes part 0, worker i part i, and the caller, when done, whatever nobody has begun: a
// worker that still sleeps, or was taken off its processor, delays nothing.
//
// Workers are made when a region first has use for them. After work they spin for a bounded moment,
// then sleep. How long is learnt: longer where the next region came within it or soon after,
// shorter where it did not, or where the system took the processor away meanwhile. Sleepers wake
// each other, so that the caller soon begins its own part. One region at a time.
class ThreadTeam {
 public:
  using Body = void (*)(int part, void* context);

  struct Region {
    int parts = 1;    // at most kMostThreads
    int threads = 1;  // which work at it at once, at most
    // Parts may wait for each other, so each has a thread.
    bool together = false;
    // Idle workers and the waiting caller leave their processors to others at once.
    bool crowded = false;
    bool pinned = false;  // each worker stays on a processor of its own
    Body body = nullptr;
    void* context = nullptr;
  };

  ThreadTeam();
  ThreadTeam(const ThreadTeam&) = delete;
  ThreadTeam& operator=(const ThreadTeam&) = delete;
  ~ThreadTeam();  // outside of a region; returns when the workers have ended

  // Calls the body once for each part and returns when all calls have. Where the system gives fewer
  // threads, those that there are do it, but a region whose parts are `together` is refused then:
  // false, with nothing begun.
  bool Run(const Region& region);

  int workers() const { return static_cast<int>(workers_.size()); }

 private:
  struct Worker;

  struct alignas(64) Place {
    // A region's number, which is even, while the part is open; one more when it is taken.
    std::atomic<uint32_t> ticket{1};
    std::atomic<bool> sleeps{false};  // its worker, or is about to
  };

  void Grow(int workers);
  static void* Begin(void* worker);  // of the thread, with the worker's address
  void Work(Worker& worker);
  void WakeNext(int part);                 // the workers whose waking is this part's business
  uint32_t AwaitOpenPart(Worker& worker);  // the ticket of its region
  static void LearnFromSleep(Worker& worker, std::chrono::nanoseconds waited);
  bool Take(int part, uint32_t ticket);
  void RunPart(int part);
  void TakeOpenParts(int parts, uint32_t ticket);
  void AwaitEnd();
  void ForgetWorkers();
  void Pin(bool pinned);  // all workers there are

  std::unique_ptr<Place[]> places_;  // one a part
  std::vector<std::unique_ptr<Worker>> workers_;
  uint32_t ticket_ = 0;
  int forks_;
  int most_ = kMostThreads;  // workers that the system gives
  bool pinned_ = false;
  std::atomic<bool> ends_{false};
  std::atomic<bool> crowded_{false};

  Region region_;    // read only by those who hold one of its parts
  int awaited_ = 1;  // parts whose workers are woken, the caller's included; as region_
  alignas(64) std::atomic<int32_t> unfinished_{0};
};

}  // namespace plimsoll::kernels
