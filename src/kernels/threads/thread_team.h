#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <vector>

namespace plimsoll::kernels {

inline constexpr int kMostThreads = 512;
inline constexpr int kMostParts = 1 << 15;  // of a region

// The threads that work for one calling thread. A region is cut into parts, numbered from 0. Each
// thread has a lane, a run of parts that follow each other, the caller the first and worker i lane
// i; it takes them in order. The caller, when done, takes whatever nobody has begun, from the ends
// of the other lanes, and so do all where lanes have several parts: a worker that still sleeps, was
// taken off its processor or is slower than others delays the rest by one part at most.
//
// Workers are made when a region first has use for them. After work they spin for a bounded moment,
// then sleep. How long is learnt: longer where the next region came within it or soon after,
// shorter where it did not, or where the system took the processor away meanwhile. Sleepers wake
// each other, so that the caller soon begins its own part. One region at a time.
class ThreadTeam {
 public:
  // `thread`: who calls it, from 0 (the caller) to below Region::threads, each one part at a time.
  using Body = void (*)(int part, int thread, void* context);

  struct Region {
    int parts = 1;    // at most kMostParts
    int threads = 1;  // which work at it at once, at most; at most kMostThreads
    // Parts may wait for each other, so each has a thread: at most kMostThreads.
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

  // The parts of a lane that nobody has begun, and of which region.
  struct OpenParts {
    uint32_t region = 0;
    uint16_t first = 0;
    uint16_t end = 0;
  };

  struct alignas(64) Lane {
    std::atomic<OpenParts> open{OpenParts()};
    std::atomic<uint32_t> region{0};  // the latest that it has parts of
    std::atomic<bool> sleeps{false};  // its worker, or is about to
  };

  void Grow(int workers);
  static void* Begin(void* worker);  // of the thread, with the worker's address
  void Work(Worker& worker);
  void WakeNext(int lane);           // the workers whose waking is this lane's business
  void AwaitRegion(Worker& worker);  // that its lane has parts of
  static void LearnFromSleep(Worker& worker, std::chrono::nanoseconds waited);
  int FirstPartOf(int lane) const { return region_.parts * lane / lanes_; }
  // A part of the lane, its first or its last; -1 where none is open in the region of that number.
  int Take(int lane, uint32_t region, bool last);
  bool TakeAndRun(int lane, uint32_t region, bool last, int thread);
  int RunLane(int lane, int thread, uint32_t region);  // how many parts there were
  int RunOtherLanes(int thread, uint32_t region);
  void End(int parts);
  void AwaitEnd();
  void ForgetWorkers();
  void Pin(bool pinned);  // all workers there are

  std::unique_ptr<Lane[]> all_lanes_;  // one a thread
  std::vector<std::unique_ptr<Worker>> workers_;
  uint32_t number_ = 0;  // of the region
  int forks_;
  int most_ = kMostThreads;  // workers that the system gives
  bool pinned_ = false;
  std::atomic<bool> ends_{false};
  std::atomic<bool> crowded_{false};

  // Read only by those who hold a part that is not ended.
  Region region_;
  int lanes_ = 1;
  alignas(64) std::atomic<int32_t> unfinished_{0};
};

}  // namespace plimsoll::kernels
