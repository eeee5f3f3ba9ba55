#include "kernels/threads/onednn_regions.h"

#include <array>
#include <atomic>
#include <cstdint>
#include <utility>

#include "kernels/parallel.h"
#include "kernels/threads/library_imports.h"
#include "kernels/threads/onednn_heap.h"
#include "kernels/threads/spin.h"

// The thread sanitizer does not see what oneDNN's own code orders.
#ifdef __SANITIZE_THREAD__
extern "C" const char* __tsan_default_suppressions() { return "called_from_lib:libdnnl.so\n"; }
#endif

namespace plimsoll::kernels {
namespace {

using OutlinedBody = void (*)(void* data);

// The functions of OpenMP's runtime that oneDNN calls, as they were before.
struct Runtime {
  void (*parallel)(OutlinedBody body, void* data, unsigned threads, unsigned flags) = nullptr;
  void (*barrier)() = nullptr;
  int (*max_threads)() = nullptr;
  int (*num_threads)() = nullptr;
  int (*thread_num)() = nullptr;
  int (*in_parallel)() = nullptr;
};
Runtime openmp;

// Where all parts of a region wait for each other, any number of times.
class Barrier {
 public:
  explicit Barrier(int parts) : parts_(parts) {}
  void Wait() {
    const uint32_t round = round_.load();
    if (arrived_.fetch_add(1) + 1 == parts_) {
      arrived_.store(0);
      round_.store(round + 1);
      round_.notify_all();
      return;
    }
    constexpr int64_t kSpin = 20'000;  // nanoseconds
    if (SpinUntil([&] { return round_.load() != round; }, kSpin)) return;
    round_.wait(round);
  }

 private:
  const int parts_;
  std::atomic<int> arrived_{0};
  std::atomic<uint32_t> round_{0};
};

struct OpenRegion {
  OutlinedBody body = nullptr;
  void* data = nullptr;
  int parts = 1;
  Barrier* barrier = nullptr;
};

constinit thread_local int calls = 0;  // of OneDnnRegions that live
constinit thread_local int parts_of_thread = 1;
constinit thread_local const OpenRegion* region = nullptr;
constinit thread_local int part_of_region = 0;

bool Ours() { return calls > 0 || region != nullptr; }

void RunPartOfRegion(int part, int /*thread*/, const void* given) {
  const OpenRegion* const outer = region;
  const int outer_part = part_of_region;
  region = static_cast<const OpenRegion*>(given);
  part_of_region = part;
  {
    const OneDnnHeap kept;  // a body makes small objects for its part
    region->body(region->data);
  }
  region = outer;
  part_of_region = outer_part;
}

int MaxThreads() { return Ours() ? Threads() : openmp.max_threads(); }

void Parallel(OutlinedBody body, void* data, unsigned threads, unsigned flags) {
  if (!Ours()) return openmp.parallel(body, data, threads, flags);
  const int asked = threads == 0 ? MaxThreads() : static_cast<int>(threads);
  const int wanted = asked > 1 ? asked * parts_of_thread : asked;
  Barrier barrier(wanted);
  const OpenRegion open{body, data, wanted, &barrier};
  if (wanted > 1 && !InRegion() && RunRegion(wanted, parts_of_thread == 1, RunPartOfRegion, &open))
    return;
  // A body asks how many take part, and one is always right.
  Barrier alone(1);
  const OpenRegion one{body, data, 1, &alone};
  RunPartOfRegion(0, 0, &one);
}

void WaitForAll() { return region == nullptr ? openmp.barrier() : region->barrier->Wait(); }
int NumThreads() {
  if (region != nullptr) return region->parts;
  return calls > 0 ? 1 : openmp.num_threads();
}
int ThreadNum() {
  if (region != nullptr) return part_of_region;
  return calls > 0 ? 0 : openmp.thread_num();
}
int InParallel() {
  if (region != nullptr) return region->parts > 1 ? 1 : 0;
  if (calls > 0) return InRegion() ? 1 : 0;
  return openmp.in_parallel();
}

bool RedirectOpenMp() {
  const std::array wanted = {ImportOf("GOMP_parallel", Parallel, openmp.parallel),
                             ImportOf("GOMP_barrier", WaitForAll, openmp.barrier),
                             ImportOf("omp_get_max_threads", MaxThreads, openmp.max_threads),
                             ImportOf("omp_get_num_threads", NumThreads, openmp.num_threads),
                             ImportOf("omp_get_thread_num", ThreadNum, openmp.thread_num),
                             ImportOf("omp_in_parallel", InParallel, openmp.in_parallel)};
  return LibraryImports::Of("dnnl_primitive_execute").Redirect(wanted);
}

}  // namespace

bool OneDnnRegions::redirected() {
  static const bool done = RedirectOpenMp();
  return done;
}

OneDnnRegions::OneDnnRegions(int parts) : before_(std::exchange(parts_of_thread, parts)) {
  redirected();
  ++calls;
}

OneDnnRegions::~OneDnnRegions() {
  --calls;
  parts_of_thread = before_;
}

}  // namespace plimsoll::kernels
