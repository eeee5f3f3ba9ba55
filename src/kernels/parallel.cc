#include "kernels/parallel.h"

#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "base/usable_cores.h"
#include "kernels/threads/region_runner.h"
#include "kernels/threads/thread_team.h"

// Tests start processes of their own, which make sessions.
#ifdef __SANITIZE_THREAD__
extern "C" const char* __tsan_default_options() { return "die_after_fork=0"; }
#endif

namespace plimsoll::kernels {
namespace {

// Teams whose calling thread has ended. Never destroyed: threads may end after the program's
// statics.
class SpareTeams {
 public:
  static SpareTeams& Of() {
    static SpareTeams* const spare = new SpareTeams;
    return *spare;
  }
  std::unique_ptr<ThreadTeam> Take() {
    const std::lock_guard lock(mutex_);
    if (teams_.empty()) return std::make_unique<ThreadTeam>();
    std::unique_ptr<ThreadTeam> team = std::move(teams_.back());
    teams_.pop_back();
    return team;
  }
  void Give(std::unique_ptr<ThreadTeam> team) {
    const std::lock_guard lock(mutex_);
    teams_.push_back(std::move(team));
  }

 private:
  std::mutex mutex_;
  std::vector<std::unique_ptr<ThreadTeam>> teams_;
};

// What a thread knows of itself as a caller of kernels.
struct Caller {
  int threads = 0;  // of the innermost scope; 0: no scope
  int scopes = 0;
  uint32_t calls = 0;  // outermost scopes so far
  int cores = 1;       // that the process may use
  bool in_region = false;
  bool pinned = false;
  RegionRunner* runner = nullptr;
};
constinit thread_local Caller caller;

// The calling thread's team, which outlives it as a spare one.
ThreadTeam& Team() {
  struct Holder {
    std::unique_ptr<ThreadTeam> team = SpareTeams::Of().Take();
    ~Holder() { SpareTeams::Of().Give(std::move(team)); }
  };
  thread_local Holder holder;
  return *holder.team;
}

// Threads of the process that are within a scope: they share its processors.
std::atomic<int> callers{0};

struct Work {
  RegionBody body = nullptr;
  const void* context = nullptr;
  int threads = 1;
};

void RunPart(int part, int thread, void* given) {
  const Work& work = *static_cast<const Work*>(given);
  const int threads = std::exchange(caller.threads, work.threads);
  caller.in_region = true;
  work.body(part, thread, work.context);
  caller.in_region = false;
  caller.threads = threads;
}

static_assert(kMostRegionParts <= kMostParts);

bool RunInTeam(ThreadTeam::Region region) {
  const int share =
      std::max(caller.cores / std::max(callers.load(std::memory_order_relaxed), 1), 1);
  region.crowded = share < region.threads;
  region.threads = std::min(region.threads, share);
  region.pinned = caller.pinned;
  return Team().Run(region);
}

// In at most so many threads.
bool RunRegionIn(int threads, int parts, bool together, RegionBody body, const void* context) {
  // Within a scope, which says how many processors there are.
  if (caller.scopes == 0) {
    const ThreadScope own(Threads());
    return RunRegionIn(threads, parts, together, body, context);
  }
  Work work{body, context, caller.threads};
  const ThreadTeam::Region region{.parts = parts,
                                  .threads = std::min({parts, threads, caller.threads}),
                                  .together = together,
                                  .body = RunPart,
                                  .context = &work};
  if (caller.runner == nullptr) return RunInTeam(region);
  caller.runner->Run({.parts = parts,
                      .threads = region.threads,
                      .together = together,
                      .body = RunPart,
                      .context = &work});
  return true;
}

}  // namespace

ThreadScope::ThreadScope(int threads) : before_(caller.threads) {
  if (caller.scopes++ == 0 && !caller.in_region) {
    constexpr uint32_t kCoresStay = 64;  // calls; asking takes as long as a small kernel
    if (caller.calls++ % kCoresStay == 0) caller.cores = UsableCores();
    callers.fetch_add(1, std::memory_order_relaxed);
  }
  caller.threads = std::clamp(threads, 1, kMostThreads);
}

ThreadScope::~ThreadScope() {
  caller.threads = before_;
  if (--caller.scopes == 0 && !caller.in_region) callers.fetch_sub(1, std::memory_order_relaxed);
}

PinScope::PinScope(bool pinned) : before_(std::exchange(caller.pinned, pinned)) {}
PinScope::~PinScope() { caller.pinned = before_; }

int Threads() {
  return caller.threads > 0 ? caller.threads : std::min(UsableCores(), kMostThreads);
}

bool InRegion() { return caller.in_region; }

bool RunRegion(int parts, bool together, RegionBody body, const void* context) {
  return RunRegionIn(kMostThreads, parts, together, body, context);
}

RegionRunnerScope::RegionRunnerScope(RegionRunner& runner)
    : before_(std::exchange(caller.runner, &runner)) {}
RegionRunnerScope::~RegionRunnerScope() { caller.runner = before_; }
bool RegionRunnerScope::IsOpen() { return caller.runner != nullptr; }

void ParallelFor(int64_t count, int64_t grain, ParallelBody body, const void* context) {
  const int64_t most = std::max<int64_t>(count / std::max<int64_t>(grain, 1), 1);
  const int64_t threads = caller.in_region ? 1 : std::min<int64_t>(most, Threads());
  if (threads <= 1) {
    if (count > 0) body(0, count, context);
    return;
  }
  const int64_t parts = threads * std::min(most / threads, kPartsOfThread);
  struct Range {
    int64_t count;
    int64_t parts;
    ParallelBody body;
    const void* context;
  } const range{count, parts, body, context};
  RunRegion(
      static_cast<int>(parts), false,
      [](int part, int, const void* given) {
        const Range& all = *static_cast<const Range*>(given);
        all.body(all.count * part / all.parts, all.count * (part + 1) / all.parts, all.context);
      },
      &range);
}

void ParallelPieces(int64_t pieces, int64_t threads, PieceBody body, const void* context) {
  if (caller.in_region || Threads() == 1 || threads <= 1 || pieces <= 1) {
    for (int64_t piece = 0; piece < pieces; ++piece) body(piece, 0, context);
    return;
  }
  struct Pieces {
    int64_t count;
    int64_t parts;
    PieceBody body;
    const void* context;
  } const all{pieces, std::min<int64_t>(pieces, kMostRegionParts), body, context};
  RunRegionIn(
      static_cast<int>(std::min<int64_t>(threads, kMostThreads)), static_cast<int>(all.parts),
      false,
      [](int part, int thread, const void* given) {
        const Pieces& all = *static_cast<const Pieces*>(given);
        const int64_t end = all.count * (part + 1) / all.parts;
        for (int64_t piece = all.count * part / all.parts; piece < end; ++piece) {
          all.body(piece, thread, all.context);
        }
      },
      &all);
}

}  // namespace plimsoll::kernels
