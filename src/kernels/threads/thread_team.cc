#include "kernels/threads/thread_team.h"

#include <pthread.h>
#include <sys/resource.h>

#include <algorithm>
#include <cassert>
#include <csignal>
#include <optional>
#include <string>
#include <utility>

#include "kernels/threads/pinned_processor.h"
#include "kernels/threads/spin.h"

namespace plimsoll::kernels {
namespace {

// Nanoseconds. Waking a sleeping thread takes about 5,000 to 50,000.
constexpr int64_t kLeastSpin = 2'000;
constexpr int64_t kFirstSpin = 50'000;
constexpr int64_t kMostSpin = 200'000;
constexpr int64_t kCallerSpin = 100'000;

// Sleepers that one thread wakes: a call takes about 2,000 nanoseconds, and until it has its effect
// 7,000 and more pass, so neither all by one nor a deep tree.
constexpr int kWakesEach = 4;

// How often the system has taken the processor from the calling thread.
int64_t Interruptions() {
  rusage usage{};
  getrusage(RUSAGE_THREAD, &usage);
  return usage.ru_nivcsw;
}

// Signals are the program's business: its own threads take them. What a thread's own instruction
// raises stays open, for a blocked one ends the process without asking the program's handler.
class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t from_others;
    sigfillset(&from_others);
    for (const int own : {SIGILL, SIGTRAP, SIGBUS, SIGFPE, SIGSEGV, SIGSYS}) {
      sigdelset(&from_others, own);
    }
    pthread_sigmask(SIG_SETMASK, &from_others, &before_);
  }
  ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

 private:
  sigset_t before_;
};

// Orders what is before it and what is after for all threads. The thread sanitizer does not model
// it; what it orders here is who wakes whom, and no data.
void FullFence() {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpragmas"
#pragma GCC diagnostic ignored "-Wtsan"
  std::atomic_thread_fence(std::memory_order_seq_cst);
#pragma GCC diagnostic pop
}

std::atomic<int> forks{0};

// Counts in the process that fork makes, which has the memory of workers and not their threads.
int Forks() {
  static const int registered =
      pthread_atfork(nullptr, nullptr, [] { forks.fetch_add(1, std::memory_order_relaxed); });
  static_cast<void>(registered);
  return forks.load(std::memory_order_relaxed);
}

}  // namespace

// Owned by the team alone: in a process that fork has made nothing else names it, and it can go.
struct ThreadTeam::Worker {
  Worker(ThreadTeam* of, int own_lane, uint32_t last) : team(of), lane(own_lane), seen(last) {}

  ThreadTeam* const team;
  const int lane;
  uint32_t seen;  // the latest region that it knows of
  pthread_t thread{};
  std::optional<PinnedProcessor> processor;
  int64_t spin = kFirstSpin;
  int64_t interruptions = 0;
};

ThreadTeam::ThreadTeam() : all_lanes_(new Lane[kMostThreads]), forks_(Forks()) {
  static_assert(std::atomic<OpenParts>::is_always_lock_free);
}

ThreadTeam::~ThreadTeam() {
  if (forks_ != Forks()) ForgetWorkers();
  Pin(false);
  ends_ = true;
  for (const auto& worker : workers_) {
    std::atomic<uint32_t>& region = all_lanes_[static_cast<size_t>(worker->lane)].region;
    region.store(number_ + 1);
    region.notify_one();
  }
  for (const auto& worker : workers_) pthread_join(worker->thread, nullptr);
}

void ThreadTeam::ForgetWorkers() {
  for (const auto& worker : workers_) {
    if (worker->processor) worker->processor->Forget();
  }
  workers_.clear();
  forks_ = Forks();
}

void ThreadTeam::Pin(bool pinned) {
  if (std::exchange(pinned_, pinned) == pinned) return;
  for (const auto& worker : workers_) {
    worker->processor.reset();
    if (pinned) worker->processor.emplace(worker->thread);
  }
}

void ThreadTeam::Grow(int workers) {
  const SignalsBlocked blocked;
  while (this->workers() < std::min(workers, most_)) {
    const int lane = this->workers() + 1;
    const uint32_t last = all_lanes_[static_cast<size_t>(lane)].region.load();
    auto worker = std::make_unique<Worker>(this, lane, last);
    if (pthread_create(&worker->thread, nullptr, Begin, worker.get()) != 0) {
      most_ = this->workers();
      return;
    }
    pthread_setname_np(worker->thread, ("plimsoll-" + std::to_string(lane)).c_str());
    if (pinned_) worker->processor.emplace(worker->thread);
    workers_.push_back(std::move(worker));
  }
}

bool ThreadTeam::Run(const Region& region) {
  assert(region.parts <= kMostParts && region.threads <= kMostThreads);
  if (forks_ != Forks()) ForgetWorkers();
  const int wanted = region.together ? region.parts : std::min(region.parts, region.threads);
  Pin(region.pinned);
  if (workers() < wanted - 1) Grow(wanted - 1);
  const int lanes = std::min(wanted, workers() + 1);
  if (region.together && lanes < region.parts) return false;
  region_ = region;
  lanes_ = lanes;
  crowded_.store(region.crowded, std::memory_order_relaxed);
  unfinished_.store(region.parts, std::memory_order_relaxed);
  ++number_;
  // The last first: who has a part knows that those it wakes have theirs.
  for (int i = lanes - 1; i >= 0; --i) {
    Lane& lane = all_lanes_[static_cast<size_t>(i)];
    lane.open.store(
        {number_, static_cast<uint16_t>(FirstPartOf(i)), static_cast<uint16_t>(FirstPartOf(i + 1))},
        std::memory_order_release);
    lane.region.store(number_, std::memory_order_release);
  }
  FullFence();  // a worker about to sleep either sees its parts or is seen
  WakeNext(0);
  const int own = RunLane(0, 0, number_);
  End(own + RunOtherLanes(0, number_));
  AwaitEnd();
  return true;
}

void ThreadTeam::WakeNext(int lane) {
  const int first = kWakesEach * lane + 1;
  for (int next = first; next < std::min(first + kWakesEach, lanes_); ++next) {
    Lane& other = all_lanes_[static_cast<size_t>(next)];
    if (other.sleeps.load(std::memory_order_relaxed)) other.region.notify_one();
  }
}

int ThreadTeam::Take(int lane, uint32_t region, bool last) {
  std::atomic<OpenParts>& there = all_lanes_[static_cast<size_t>(lane)].open;
  OpenParts open = there.load(std::memory_order_relaxed);
  OpenParts left;
  do {
    if (open.region != region || open.first == open.end) return -1;
    left = open;
    if (last) {
      --left.end;
    } else {
      ++left.first;
    }
  } while (!there.compare_exchange_weak(open, left, std::memory_order_acq_rel));
  // Who begins a lane wakes the next sleepers; the caller's own are awake before.
  const bool untouched = open.first == FirstPartOf(lane) && open.end == FirstPartOf(lane + 1);
  if (untouched && lane > 0) WakeNext(lane);
  return last ? left.end : open.first;
}

bool ThreadTeam::TakeAndRun(int lane, uint32_t region, bool last, int thread) {
  const int part = Take(lane, region, last);
  if (part < 0) return false;
  region_.body(part, thread, region_.context);
  return true;
}

int ThreadTeam::RunLane(int lane, int thread, uint32_t region) {
  const bool last = lane != thread;
  int parts = 0;
  while (TakeAndRun(lane, region, last, thread)) ++parts;
  return parts;
}

int ThreadTeam::RunOtherLanes(int thread, uint32_t region) {
  int parts = 0;
  for (int i = 1; i < lanes_; ++i) parts += RunLane((thread + i) % lanes_, thread, region);
  return parts;
}

void ThreadTeam::End(int parts) {
  if (parts > 0 && unfinished_.fetch_sub(parts) == parts) unfinished_.notify_one();
}

void ThreadTeam::AwaitEnd() {
  const auto over = [&] { return unfinished_.load(std::memory_order_acquire) == 0; };
  if (SpinUntil(over, region_.crowded ? 0 : kCallerSpin)) return;
  for (int32_t left; (left = unfinished_.load(std::memory_order_acquire)) != 0;) {
    unfinished_.wait(left, std::memory_order_acquire);
  }
}

void ThreadTeam::AwaitRegion(Worker& worker) {
  Lane& lane = all_lanes_[static_cast<size_t>(worker.lane)];
  const uint32_t seen = worker.seen;
  const auto is_there = [&] {
    worker.seen = lane.region.load(std::memory_order_acquire);
    return worker.seen != seen;
  };
  for (;;) {
    const bool crowded = crowded_.load(std::memory_order_relaxed);
    const auto begin = std::chrono::steady_clock::now();
    if (SpinUntil(is_there, crowded ? 0 : worker.spin)) {
      worker.spin = std::min(worker.spin * 2, kMostSpin);
      return;
    }
    lane.sleeps.store(true, std::memory_order_relaxed);
    FullFence();
    if (!is_there()) lane.region.wait(seen, std::memory_order_acquire);
    lane.sleeps.store(false, std::memory_order_relaxed);
    if (!crowded) LearnFromSleep(worker, std::chrono::steady_clock::now() - begin);
  }
}

void ThreadTeam::LearnFromSleep(Worker& worker, std::chrono::nanoseconds waited) {
  const int64_t interruptions = Interruptions();
  if (std::exchange(worker.interruptions, interruptions) < interruptions) {
    worker.spin = std::max(worker.spin / 8, kLeastSpin);
  } else if (waited.count() < kMostSpin) {
    worker.spin = std::min(waited.count() * 2, kMostSpin);
  } else {
    worker.spin = std::max(worker.spin / 2, kLeastSpin);
  }
}

void* ThreadTeam::Begin(void* worker) {
  auto& self = *static_cast<Worker*>(worker);
  self.team->Work(self);
  return nullptr;
}

void ThreadTeam::Work(Worker& worker) {
  for (;;) {
    AwaitRegion(worker);
    if (ends_.load()) return;
    const uint32_t region = worker.seen;
    // While it has a part that is not ended, the region is the one that it has begun.
    int parts = TakeAndRun(worker.lane, region, false, worker.lane) ? 1 : 0;
    if (parts == 0) continue;  // others were faster
    parts += RunLane(worker.lane, worker.lane, region);
    if (region_.parts > lanes_) parts += RunOtherLanes(worker.lane, region);
    End(parts);
  }
}

}  // namespace plimsoll::kernels
