#include "kernels/threads/thread_team.h"

#include <pthread.h>
#include <sys/resource.h>

#include <algorithm>
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
  Worker(ThreadTeam* of, int own_part) : team(of), part(own_part) {}

  ThreadTeam* const team;
  const int part;
  pthread_t thread{};
  std::optional<PinnedProcessor> processor;
  int64_t spin = kFirstSpin;
  int64_t interruptions = 0;
};

ThreadTeam::ThreadTeam() : places_(new Place[kMostThreads]), forks_(Forks()) {}

ThreadTeam::~ThreadTeam() {
  if (forks_ != Forks()) ForgetWorkers();
  Pin(false);
  ends_ = true;
  for (const auto& worker : workers_) {
    std::atomic<uint32_t>& ticket = places_[static_cast<size_t>(worker->part)].ticket;
    ticket.store(ticket_ + 2);
    ticket.notify_one();
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
    auto worker = std::make_unique<Worker>(this, this->workers() + 1);
    if (pthread_create(&worker->thread, nullptr, Begin, worker.get()) != 0) {
      most_ = this->workers();
      return;
    }
    pthread_setname_np(worker->thread, ("plimsoll-" + std::to_string(worker->part)).c_str());
    if (pinned_) worker->processor.emplace(worker->thread);
    workers_.push_back(std::move(worker));
  }
}

bool ThreadTeam::Run(const Region& region) {
  if (forks_ != Forks()) ForgetWorkers();
  const int wanted = region.together ? region.parts : std::min(region.parts, region.threads);
  Pin(region.pinned);
  if (workers() < wanted - 1) Grow(wanted - 1);
  const int woken = std::min(wanted, workers() + 1);
  if (region.together && woken < region.parts) return false;
  region_ = region;
  awaited_ = woken;
  crowded_.store(region.crowded, std::memory_order_relaxed);
  unfinished_.store(region.parts, std::memory_order_relaxed);
  ticket_ += 2;
  // The last first: who has a part knows that those it wakes have theirs.
  for (int part = region.parts - 1; part > 0; --part) {
    places_[static_cast<size_t>(part)].ticket.store(ticket_, std::memory_order_release);
  }
  FullFence();  // a worker about to sleep either sees its part or is seen
  WakeNext(0);
  RunPart(0);
  TakeOpenParts(region.parts, ticket_);
  AwaitEnd();
  return true;
}

void ThreadTeam::WakeNext(int part) {
  const int first = kWakesEach * part + 1;
  for (int next = first; next < std::min(first + kWakesEach, awaited_); ++next) {
    Place& place = places_[static_cast<size_t>(next)];
    if (place.sleeps.load(std::memory_order_relaxed)) place.ticket.notify_one();
  }
}

bool ThreadTeam::Take(int part, uint32_t ticket) {
  std::atomic<uint32_t>& there = places_[static_cast<size_t>(part)].ticket;
  if (there.load(std::memory_order_relaxed) != ticket ||
      !there.compare_exchange_strong(ticket, ticket + 1, std::memory_order_acq_rel)) {
    return false;
  }
  WakeNext(part);
  return true;
}

void ThreadTeam::RunPart(int part) {
  region_.body(part, region_.context);
  if (unfinished_.fetch_sub(1) == 1) unfinished_.notify_one();
}

void ThreadTeam::TakeOpenParts(int parts, uint32_t ticket) {
  for (int part = 1; part < parts; ++part) {
    if (Take(part, ticket)) RunPart(part);
  }
}

void ThreadTeam::AwaitEnd() {
  const auto over = [&] { return unfinished_.load(std::memory_order_acquire) == 0; };
  if (SpinUntil(over, region_.crowded ? 0 : kCallerSpin)) return;
  for (int32_t left; (left = unfinished_.load(std::memory_order_acquire)) != 0;) {
    unfinished_.wait(left, std::memory_order_acquire);
  }
}

uint32_t ThreadTeam::AwaitOpenPart(Worker& worker) {
  Place& place = places_[static_cast<size_t>(worker.part)];
  uint32_t seen = place.ticket.load(std::memory_order_acquire);
  const auto is_open = [&] {
    seen = place.ticket.load(std::memory_order_acquire);
    return (seen & 1) == 0;
  };
  for (;;) {
    const bool crowded = crowded_.load(std::memory_order_relaxed);
    const auto begin = std::chrono::steady_clock::now();
    const uint32_t before = seen;
    if (SpinUntil(is_open, crowded ? 0 : worker.spin)) {
      worker.spin = std::min(worker.spin * 2, kMostSpin);
      return seen;
    }
    // Others were faster with its part: regions are coming, and the next may come soon.
    if (seen != before && !crowded) continue;
    place.sleeps.store(true, std::memory_order_relaxed);
    FullFence();
    if (!is_open()) place.ticket.wait(seen, std::memory_order_acquire);
    place.sleeps.store(false, std::memory_order_relaxed);
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
    const uint32_t ticket = AwaitOpenPart(worker);
    if (ends_.load()) return;
    if (!Take(worker.part, ticket)) continue;
    // Both as long as the part is held: later they may be of another region.
    const int parts = region_.parts;
    const bool shares = region_.threads < parts && !region_.together;
    RunPart(worker.part);
    if (shares) TakeOpenParts(parts, ticket);
  }
}

}  // namespace plimsoll::kernels
