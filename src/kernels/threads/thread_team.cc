#include "kernels/threads/thread_team.h"

#include <pthread.h>
#include <sys/resource.h>

#include <algorithm>
#include <csignal>
#include <string>
#include <system_error>
#include <thread>

#include "kernels/threads/spin.h"

namespace plimsoll::kernels {
namespace {

// Nanoseconds. Waking a sleeping thread takes about 5,000 to 50,000.
constexpr int64_t kLeastSpin = 2'000;
constexpr int64_t kFirstSpin = 50'000;
constexpr int64_t kMostSpin = 200'000;
constexpr int64_t kCallerSpin = 100'000;

// How often the system has taken the processor from the calling thread.
int64_t Interruptions() {
  rusage usage{};
  getrusage(RUSAGE_THREAD, &usage);
  return usage.ru_nivcsw;
}

// Signals are the program's business: its own threads take them.
class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

 private:
  sigset_t before_;
};

std::atomic<int> forks{0};

// Counts in the process that fork makes, which has the memory of workers and not their threads.
int Forks() {
  static const int registered =
      pthread_atfork(nullptr, nullptr, [] { forks.fetch_add(1, std::memory_order_relaxed); });
  static_cast<void>(registered);
  return forks.load(std::memory_order_relaxed);
}

}  // namespace

struct ThreadTeam::Worker {
  int part = 0;
  std::thread thread;
  int64_t spin = kFirstSpin;
  int64_t interruptions = 0;
};

ThreadTeam::ThreadTeam() : places_(new Place[kMostThreads]), forks_(Forks()) {}

ThreadTeam::~ThreadTeam() {
  if (forks_ != Forks()) ForgetWorkers();
  ends_ = true;
  for (const auto& worker : workers_) {
    std::atomic<uint32_t>& ticket = places_[static_cast<size_t>(worker->part)].ticket;
    ticket.store(ticket_ + 2);
    ticket.notify_one();
  }
  for (const auto& worker : workers_) worker->thread.join();
}

void ThreadTeam::ForgetWorkers() {
  for (auto& worker : workers_) {
    worker->thread.detach();
    static_cast<void>(worker.release());  // its thread's memory may name it
  }
  workers_.clear();
  forks_ = Forks();
}

void ThreadTeam::Grow(int workers) {
  const SignalsBlocked blocked;
  while (this->workers() < std::min(workers, most_)) {
    auto worker = std::make_unique<Worker>();
    worker->part = this->workers() + 1;
    try {
      worker->thread = std::thread([this, at = worker.get()] { Work(*at); });
    } catch (const std::system_error&) {
      most_ = this->workers();
      return;
    }
    pthread_setname_np(worker->thread.native_handle(),
                       ("plimsoll-" + std::to_string(worker->part)).c_str());
    workers_.push_back(std::move(worker));
  }
}

bool ThreadTeam::Run(const Region& region) {
  if (forks_ != Forks()) ForgetWorkers();
  const int wanted = region.together ? region.parts : std::min(region.parts, region.threads);
  if (workers() < wanted - 1) Grow(wanted - 1);
  const int woken = std::min(wanted, workers() + 1);
  if (region.together && woken < region.parts) return false;
  region_ = region;
  crowded_.store(region.crowded, std::memory_order_relaxed);
  unfinished_.store(region.parts, std::memory_order_relaxed);
  ticket_ += 2;
  // In one order for all, so that a worker about to sleep either sees its part or is woken.
  for (int part = 1; part < region.parts; ++part) {
    places_[static_cast<size_t>(part)].ticket.store(ticket_);
  }
  for (int part = 1; part < woken; ++part) {
    places_[static_cast<size_t>(part)].ticket.notify_one();
  }
  RunPart(0);
  TakeOpenParts(region.parts, ticket_);
  AwaitEnd();
  return true;
}

bool ThreadTeam::Take(int part, uint32_t ticket) {
  std::atomic<uint32_t>& there = places_[static_cast<size_t>(part)].ticket;
  return there.load(std::memory_order_relaxed) == ticket &&
         there.compare_exchange_strong(ticket, ticket + 1, std::memory_order_acq_rel);
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
  const std::atomic<uint32_t>& ticket = places_[static_cast<size_t>(worker.part)].ticket;
  uint32_t seen = 1;
  const auto is_open = [&] {
    seen = ticket.load(std::memory_order_acquire);
    return (seen & 1) == 0;
  };
  if (SpinUntil(is_open, crowded_.load(std::memory_order_relaxed) ? 0 : worker.spin)) {
    worker.spin = std::min(worker.spin * 2, kMostSpin);
    return seen;
  }
  const int64_t interruptions = Interruptions();
  const int shift = interruptions > worker.interruptions ? 3 : 1;
  worker.interruptions = interruptions;
  worker.spin = std::max(worker.spin >> shift, kLeastSpin);
  while (!is_open()) ticket.wait(seen, std::memory_order_acquire);
  return seen;
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
