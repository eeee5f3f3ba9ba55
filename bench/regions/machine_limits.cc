#include <immintrin.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <iomanip>
#include <iostream>
#include <vector>

#include "kernels/threads/spin.h"
#include "kernels/threads/thread_team.h"

// What the machine itself allows several threads, beside one:
//
//   machine_limits THREADS
//
// Multiplications of each thread in registers, reading of memory of its own from the second cache
// and from memory, reading of what the others have just written, and what a region costs: empty,
// right behind another one, and after 5, 20 and 100 microseconds of one thread's work.
namespace plimsoll {
namespace {

using Clock = std::chrono::steady_clock;

double SecondsSince(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

struct Job {
  void (*run)(int thread, void* data);
  void* data;
};

// Seconds of the slowest and of an average thread, the least of several turns.
struct Times {
  double slowest = 1e9;
  double average = 1e9;
};

Times Measure(kernels::ThreadTeam& team, int threads, Job job, int turns) {
  struct State {
    Job job;
    std::vector<double> seconds;
  } state{job, std::vector<double>(static_cast<size_t>(threads) * 8)};
  Times best;
  for (int turn = 0; turn < turns; ++turn) {
    team.Run({.parts = threads,
              .threads = threads,
              .together = true,
              .body =
                  [](int part, int, void* given) {
                    auto& all = *static_cast<State*>(given);
                    const Clock::time_point begin = Clock::now();
                    all.job.run(part, all.job.data);
                    all.seconds[static_cast<size_t>(part) * 8] = SecondsSince(begin);
                  },
              .context = &state});
    double slowest = 0;
    double sum = 0;
    for (int thread = 0; thread < threads; ++thread) {
      const double seconds = state.seconds[static_cast<size_t>(thread) * 8];
      slowest = std::max(slowest, seconds);
      sum += seconds;
    }
    best.slowest = std::min(best.slowest, slowest);
    best.average = std::min(best.average, sum / threads);
  }
  return best;
}

std::atomic<float> sink;

constexpr int kSums = 12;  // enough that none waits for its last step
constexpr int64_t kTurns = 400'000;

__attribute__((target("avx2,fma"))) void MultiplyAvx2(int, void*) {
  __m256 sums[kSums];
#pragma GCC unroll 12
  for (int i = 0; i < kSums; ++i) sums[i] = _mm256_set1_ps(static_cast<float>(i));
  __m256 factor = _mm256_set1_ps(0.999F);
  for (int64_t turn = 0; turn < kTurns; ++turn) {
    asm volatile("" : "+x"(factor));
#pragma GCC unroll 12
    for (int i = 0; i < kSums; ++i) sums[i] = _mm256_fmadd_ps(sums[i], factor, factor);
  }
#pragma GCC unroll 12
  for (int i = 1; i < kSums; ++i) sums[0] = _mm256_add_ps(sums[0], sums[i]);
  sink.store(_mm256_cvtss_f32(sums[0]), std::memory_order_relaxed);
}

__attribute__((target("avx512f"))) void MultiplyAvx512(int, void*) {
  __m512 sums[kSums];
#pragma GCC unroll 12
  for (int i = 0; i < kSums; ++i) sums[i] = _mm512_set1_ps(static_cast<float>(i));
  __m512 factor = _mm512_set1_ps(0.999F);
  for (int64_t turn = 0; turn < kTurns; ++turn) {
    asm volatile("" : "+v"(factor));
#pragma GCC unroll 12
    for (int i = 0; i < kSums; ++i) sums[i] = _mm512_fmadd_ps(sums[i], factor, factor);
  }
#pragma GCC unroll 12
  for (int i = 1; i < kSums; ++i) sums[0] = _mm512_add_ps(sums[0], sums[i]);
  sink.store(_mm512_cvtss_f32(sums[0]), std::memory_order_relaxed);
}

__attribute__((target("avx2"))) float Read(const float* from, size_t floats) {
  __m256 sums[4] = {};
  for (size_t i = 0; i + 32 <= floats; i += 32) {
    for (size_t k = 0; k < 4; ++k) {
      sums[k] = _mm256_add_ps(sums[k], _mm256_loadu_ps(from + i + 8 * k));
    }
  }
  return _mm256_cvtss_f32(
      _mm256_add_ps(_mm256_add_ps(sums[0], sums[1]), _mm256_add_ps(sums[2], sums[3])));
}

struct Memory {
  std::vector<std::vector<float>> parts;  // one a thread
  int repeat = 1;
};

void ReadOwn(int thread, void* data) {
  auto& memory = *static_cast<Memory*>(data);
  const auto& own = memory.parts[static_cast<size_t>(thread)];
  for (int i = 0; i < memory.repeat; ++i) {
    sink.store(Read(own.data(), own.size()), std::memory_order_relaxed);
  }
}

void WriteOwn(int thread, void* data) {
  auto& own = static_cast<Memory*>(data)->parts[static_cast<size_t>(thread)];
  std::fill(own.begin(), own.end(), static_cast<float>(thread));
}

void ReadAll(int thread, void* data) {
  auto& memory = *static_cast<Memory*>(data);
  for (size_t i = 0; i < memory.parts.size(); ++i) {
    const auto& part = memory.parts[(i + static_cast<size_t>(thread)) % memory.parts.size()];
    sink.store(Read(part.data(), part.size()), std::memory_order_relaxed);
  }
}

Memory MakeMemory(kernels::ThreadTeam& team, int threads, size_t bytes, int repeat) {
  Memory memory;
  memory.repeat = repeat;
  memory.parts.resize(static_cast<size_t>(threads));
  for (auto& part : memory.parts) part.resize(bytes / sizeof(float));
  Measure(team, threads, {WriteOwn, &memory}, 1);
  return memory;
}

void Print(const char* what, double one, double each, const char* unit) {
  std::cout << std::fixed << std::setprecision(2) << std::setw(10) << one << std::setw(10) << each
            << "  " << unit << "  " << what << "\n";
}

void PrintReading(int threads, const char* what, size_t bytes, int repeat) {
  double rates[2] = {};
  for (const int count : {1, threads}) {
    kernels::ThreadTeam team;
    Memory memory = MakeMemory(team, count, bytes, repeat);
    const Times times = Measure(team, count, {ReadOwn, &memory}, 7);
    rates[count == 1 ? 0 : 1] = static_cast<double>(bytes) * repeat / times.average / 1e9;
  }
  Print(what, rates[0], rates[1], "GB/s");
}

// All threads read what all have written just before, `bytes` in all.
void PrintSharing(int threads, size_t bytes) {
  double rates[2] = {};
  for (const int count : {1, threads}) {
    kernels::ThreadTeam team;
    Memory memory = MakeMemory(team, count, bytes / static_cast<size_t>(count), 1);
    Times best;
    for (int turn = 0; turn < 40; ++turn) {
      Measure(team, count, {WriteOwn, &memory}, 1);
      const Times times = Measure(team, count, {ReadAll, &memory}, 1);
      best.average = std::min(best.average, times.average);
    }
    rates[count == 1 ? 0 : 1] = static_cast<double>(bytes) / best.average / 1e9;
  }
  std::cout << bytes / 1024 << " KiB:";
  Print("each reads what all wrote", rates[0], rates[1], "GB/s");
}

// Threads that share a core of the machine below take twice as long as those that have one.
void PrintMultiplying(int threads, const char* what, void (*multiply)(int, void*), int lanes) {
  const double products = static_cast<double>(kTurns) * kSums * lanes;
  double rates[2] = {};
  for (const int count : {1, threads}) {
    kernels::ThreadTeam team;
    const Times times = Measure(team, count, {multiply, nullptr}, 15);
    rates[count == 1 ? 0 : 1] = products / times.average / 1e9;
    std::cout << count << " threads: slowest " << products / times.slowest / 1e9 << " Gmul/s\n";
  }
  Print(what, rates[0], rates[1], "Gmul/s");
}

// Median microseconds of a region whose parts take no time, `apart` microseconds after the last.
double RegionPrice(int threads, double apart) {
  kernels::ThreadTeam team;
  std::vector<double> prices;
  for (int i = 0; i < 2000; ++i) {
    const Clock::time_point last = Clock::now();
    while (SecondsSince(last) * 1e6 < apart) kernels::RelaxProcessor();
    const Clock::time_point begin = Clock::now();
    team.Run({.parts = threads, .threads = threads, .body = [](int, int, void*) {}});
    prices.push_back(SecondsSince(begin) * 1e6);
  }
  std::nth_element(prices.begin(), prices.begin() + 1000, prices.end());
  return prices[1000];
}

void PrintAll(int threads) {
  std::cout << "       one   each of " << threads << "\n";
  PrintMultiplying(threads, "in registers (AVX2)", MultiplyAvx2, 8);
  if (__builtin_cpu_supports("avx512f")) {
    PrintMultiplying(threads, "in registers (AVX-512)", MultiplyAvx512, 16);
  }
  PrintReading(threads, "second cache (512 KiB)", size_t{512} << 10, 200);
  PrintReading(threads, "4 MiB of each", size_t{4} << 20, 20);
  PrintReading(threads, "memory (128 MiB of each)", size_t{128} << 20, 1);
  for (const size_t bytes : {size_t{384} << 10, size_t{1536} << 10, size_t{6} << 20}) {
    PrintSharing(threads, bytes);
  }
  for (const double apart : {0.0, 5.0, 20.0, 100.0}) {
    std::cout << "region without work, " << apart
              << " us after another: " << RegionPrice(threads, apart) << " us\n";
  }
}

}  // namespace
}  // namespace plimsoll

int main(int argc, char** argv) {
  if (argc < 2) {
    std::cerr << "usage: machine_limits THREADS\n";
    return 2;
  }
  plimsoll::PrintAll(std::max(std::atoi(argv[1]), 2));
  return 0;
}
