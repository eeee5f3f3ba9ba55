#include "kernels/threads/onednn_regions.h"

#include <dlfcn.h>
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <string_view>

#include "kernels/parallel.h"
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
constinit thread_local const OpenRegion* region = nullptr;
constinit thread_local int part_of_region = 0;

bool Ours() { return calls > 0 || region != nullptr; }

void RunPartOfRegion(int part, const void* given) {
  const OpenRegion* const outer = region;
  const int outer_part = part_of_region;
  region = static_cast<const OpenRegion*>(given);
  part_of_region = part;
  region->body(region->data);
  region = outer;
  part_of_region = outer_part;
}

void Parallel(OutlinedBody body, void* data, unsigned threads, unsigned flags) {
  if (!Ours()) return openmp.parallel(body, data, threads, flags);
  const int wanted = threads == 0 ? Threads() : static_cast<int>(threads);
  Barrier barrier(wanted);
  const OpenRegion open{body, data, wanted, &barrier};
  if (wanted > 1 && !InRegion() && RunRegion(wanted, true, RunPartOfRegion, &open)) return;
  // A body asks how many take part, and one is always right.
  Barrier alone(1);
  const OpenRegion one{body, data, 1, &alone};
  RunPartOfRegion(0, &one);
}

void WaitForAll() { return region == nullptr ? openmp.barrier() : region->barrier->Wait(); }
int MaxThreads() { return Ours() ? Threads() : openmp.max_threads(); }
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

struct Import {
  std::string_view name;
  void* ours;
  void** before;
};

template <typename Function>
Import Of(std::string_view name, Function* ours, Function*& before) {
  return {name, reinterpret_cast<void*>(ours), reinterpret_cast<void**>(&before)};
}

// The import table of a loaded library, by way of its dynamic section.
class Imports {
 public:
  explicit Imports(const link_map& library) : base_(library.l_addr) {
    for (const ElfW(Dyn)* entry = library.l_ld; entry->d_tag != DT_NULL; ++entry) {
      const auto pointer = entry->d_un.d_ptr;
      switch (entry->d_tag) {
        case DT_SYMTAB:
          symbols_ = reinterpret_cast<const ElfW(Sym)*>(pointer);
          break;
        case DT_STRTAB:
          names_ = reinterpret_cast<const char*>(pointer);
          break;
        case DT_JMPREL:
          calls_.first = reinterpret_cast<const ElfW(Rela)*>(pointer);
          break;
        case DT_PLTRELSZ:
          calls_.count = entry->d_un.d_val / sizeof(ElfW(Rela));
          break;
        case DT_RELA:
          data_.first = reinterpret_cast<const ElfW(Rela)*>(pointer);
          break;
        case DT_RELASZ:
          data_.count = entry->d_un.d_val / sizeof(ElfW(Rela));
          break;
        default:
          break;
      }
    }
  }

  // The place that holds the function's address; null where the library does not import it.
  void** Find(std::string_view name) const {
    if (symbols_ == nullptr || names_ == nullptr) return nullptr;
    for (const Table& table : {calls_, data_}) {
      for (size_t i = 0; table.first != nullptr && i < table.count; ++i) {
        const ElfW(Rela)& entry = table.first[i];
        const auto symbol = entry.r_info >> 32;
        if (symbol == 0 || entry.r_addend != 0 || names_ + symbols_[symbol].st_name != name)
          continue;
        return reinterpret_cast<void**>(base_ + entry.r_offset);
      }
    }
    return nullptr;
  }

 private:
  struct Table {
    const ElfW(Rela) * first = nullptr;
    size_t count = 0;
  };
  ElfW(Addr) base_;
  const ElfW(Sym) * symbols_ = nullptr;
  const char* names_ = nullptr;
  Table calls_;
  Table data_;
};

// Import tables are closed to writing once a library is loaded.
bool Write(void** place, void* value) {
  const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  auto* const begin = reinterpret_cast<void*>(reinterpret_cast<uintptr_t>(place) & ~(page - 1));
  if (mprotect(begin, page, PROT_READ | PROT_WRITE) != 0) return false;
  std::atomic_ref<void*>(*place).store(value);
  return true;
}

bool Redirect() {
  void* const known = dlsym(RTLD_DEFAULT, "dnnl_primitive_execute");
  Dl_info info{};
  link_map* library = nullptr;
  if (known == nullptr ||
      dladdr1(known, &info, reinterpret_cast<void**>(&library), RTLD_DL_LINKMAP) == 0) {
    return false;
  }
  const std::array<Import, 6> wanted = {Of("GOMP_parallel", Parallel, openmp.parallel),
                                        Of("GOMP_barrier", WaitForAll, openmp.barrier),
                                        Of("omp_get_max_threads", MaxThreads, openmp.max_threads),
                                        Of("omp_get_num_threads", NumThreads, openmp.num_threads),
                                        Of("omp_get_thread_num", ThreadNum, openmp.thread_num),
                                        Of("omp_in_parallel", InParallel, openmp.in_parallel)};
  const Imports imports(*library);
  std::array<void**, wanted.size()> places{};
  for (size_t i = 0; i < wanted.size(); ++i) {
    places[i] = imports.Find(wanted[i].name);
    *wanted[i].before = dlsym(RTLD_DEFAULT, wanted[i].name.data());
    if (places[i] == nullptr || *wanted[i].before == nullptr) return false;
  }
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (!Write(places[i], wanted[i].ours)) {
      while (i-- > 0) Write(places[i], *wanted[i].before);
      return false;
    }
  }
  return true;
}

}  // namespace

bool OneDnnRegions::redirected() {
  static const bool done = Redirect();
  return done;
}

OneDnnRegions::OneDnnRegions() {
  redirected();
  ++calls;
}

OneDnnRegions::~OneDnnRegions() { --calls; }

}  // namespace plimsoll::kernels
