#include <dlfcn.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <new>
#include <string>

#include "engine/models_for_tests.h"

// Sanitizers bring a heap of their own; other C libraries than glibc have no second name for
// theirs.
#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || \
    __has_feature(memory_sanitizer)
#define PLIMSOLL_OWN_HEAP 0
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || !defined(__GLIBC__)
#define PLIMSOLL_OWN_HEAP 0
#endif
#ifndef PLIMSOLL_OWN_HEAP
#define PLIMSOLL_OWN_HEAP 1
#endif

namespace {
struct HeapCall {
  const void* caller = nullptr;
  size_t bytes = 0;
};
std::atomic<bool> recording = false;
std::atomic<size_t> recorded = 0;
std::array<HeapCall, 4096> calls;  // the first ones

[[maybe_unused]] void Record(const void* caller, size_t bytes) {
  if (!recording.load(std::memory_order_relaxed)) return;
  const size_t index = recorded.fetch_add(1, std::memory_order_relaxed);
  if (index < calls.size()) calls[index] = {caller, bytes};
}
}  // namespace

#if PLIMSOLL_OWN_HEAP
// The program's heap: glibc's, with a note of who asked for how much.
extern "C" {
void* __libc_malloc(size_t size);
void* __libc_calloc(size_t count, size_t size);
void* __libc_realloc(void* memory, size_t size);
void* __libc_memalign(size_t alignment, size_t size);

void* malloc(size_t size) noexcept {
  Record(__builtin_return_address(0), size);
  return __libc_malloc(size);
}
void* calloc(size_t count, size_t size) noexcept {
  Record(__builtin_return_address(0), count * size);
  return __libc_calloc(count, size);
}
void* realloc(void* memory, size_t size) noexcept {
  Record(__builtin_return_address(0), size);
  return __libc_realloc(memory, size);
}
void* memalign(size_t alignment, size_t size) noexcept {
  Record(__builtin_return_address(0), size);
  return __libc_memalign(alignment, size);
}
void* aligned_alloc(size_t alignment, size_t size) noexcept {
  Record(__builtin_return_address(0), size);
  return __libc_memalign(alignment, size);
}
int posix_memalign(void** memory, size_t alignment, size_t size) noexcept {
  Record(__builtin_return_address(0), size);
  *memory = __libc_memalign(alignment, size);
  return *memory == nullptr ? ENOMEM : 0;
}
}

// Ours, so that the caller of `new` is seen and not the library that holds it. Not inlined, or the
// caller would be its caller.
#define PLIMSOLL_NEW [[gnu::noinline]] void*
#define PLIMSOLL_DELETE [[gnu::noinline]] void
PLIMSOLL_NEW operator new(size_t size) {
  Record(__builtin_return_address(0), size);
  void* const memory = __libc_malloc(size);
  if (memory == nullptr) std::abort();
  return memory;
}
PLIMSOLL_NEW operator new(size_t size, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  Record(__builtin_return_address(0), size);
  return __libc_memalign(static_cast<size_t>(alignment), size);
}
PLIMSOLL_NEW operator new(size_t size, std::align_val_t alignment) {
  Record(__builtin_return_address(0), size);
  void* const memory = __libc_memalign(static_cast<size_t>(alignment), size);
  if (memory == nullptr) std::abort();
  return memory;
}
PLIMSOLL_DELETE operator delete(void* memory) noexcept { std::free(memory); }
PLIMSOLL_DELETE operator delete(void* memory, size_t) noexcept { std::free(memory); }
PLIMSOLL_DELETE operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
PLIMSOLL_DELETE operator delete(void* memory, size_t, std::align_val_t) noexcept {
  std::free(memory);
}
#endif

namespace plimsoll::engine {
namespace {

using kernels::HostTensor;

std::string ModuleOf(const void* address) {
  Dl_info info{};
  return dladdr(address, &info) != 0 && info.dli_fname != nullptr ? info.dli_fname : "";
}

// What a run after the first ones asked of the heap.
struct Asked {
  int64_t ours = 0;    // calls from this program: the engine is linked into it
  size_t largest = 0;  // bytes, by anyone
};

template <typename Work>
Asked Watch(const Work& work) {
  recorded = 0;
  recording = true;
  work();
  recording = false;
  const std::string program = ModuleOf(reinterpret_cast<const void*>(&recording));
  Asked asked;
  for (size_t i = 0; i < std::min(recorded.load(), calls.size()); ++i) {
    if (ModuleOf(calls[i].caller) == program) ++asked.ours;
    asked.largest = std::max(asked.largest, calls[i].bytes);
  }
  return asked;
}

class SteadyStateTest : public testing::TestWithParam<int> {
 protected:
  void SetUp() override {
    if (!PLIMSOLL_OWN_HEAP) GTEST_SKIP() << "the heap is not ours to watch under a sanitizer";
  }

  // `operators` must be among those that run.
  static void ExpectNoHeapCalls(graph::Graph graph, const HostTensor& x,
                                const std::vector<std::string>& operators) {
    constexpr size_t kLargest = 4096;
    SessionOptions options;
    options.threads = GetParam();
    const auto session = MakeSession(options);
    const GraphId id = MustAdd(*session, std::move(graph));
    const HostTensor y = MustRun(*session, id, {x})[0];
    const std::vector<TensorView> from = {View(x)};
    const std::vector<TensorView> to = {View(y)};
    const auto executable = *session->Compile(id, from);
    ASSERT_NE(executable, nullptr);
    const std::string present = compile::OperatorsOf(executable->model().graph);
    for (const std::string& name : operators) {
      EXPECT_NE(present.find(name), std::string::npos) << name << " is not in " << present;
    }
    for (int run = 0; run < 3; ++run) {
      Status done;
      const Asked asked = Watch([&] { done = session->Run(id, from, to); });
      EXPECT_TRUE(done.ok());
      EXPECT_EQ(asked.ours, 0) << "run " << run;
      EXPECT_LE(asked.largest, kLargest) << "run " << run;
    }
  }
};

TEST_P(SteadyStateTest, TheRecordSeesWhoAskedForHowMuch) {
  void* volatile kept = nullptr;
  const Asked asked = Watch([&] {
    kept = std::malloc(5000);
    std::free(kept);
    kept = ::operator new(10);
    ::operator delete(kept);
  });
  EXPECT_EQ(asked.ours, 2);
  EXPECT_EQ(asked.largest, 5000U);
}

TEST_P(SteadyStateTest, AConvolutionalNetworkRunsWithoutTheHeap) {
  // Work that is sent to a stream takes memory of the heap.
  SKIP_UNLESS_HOST_REACHES_DEVICE();
  ExpectNoHeapCalls(ConvolutionalNetwork(), Random({1, 3, 20, 20}, 1),
                    {"FusedConv", "FusedPool", "Concat", "Gemm"});
}

TEST_P(SteadyStateTest, ATransformerLayerRunsWithoutTheHeap) {
  // Work that is sent to a stream takes memory of the heap.
  SKIP_UNLESS_HOST_REACHES_DEVICE();
  ExpectNoHeapCalls(TransformerLayer(2, 24), Random({2, 24, kModelWidth}, 2),
                    {"FusedMatMul", "FusedAttention", "LayerNormalization", "Softmax", "Tanh"});
}

TEST_P(SteadyStateTest, AModelWithHundredsOfInputsAndOutputsRunsWithoutTheHeap) {
  // Work that is sent to a stream takes memory of the heap.
  SKIP_UNLESS_HOST_REACHES_DEVICE();
  graph::GraphBuilder builder;
  std::vector<HostTensor> inputs;
  for (int i = 0; i < 300; ++i) {
    const auto x = builder.Input("x" + std::to_string(i), compile::FloatTensor({16}));
    builder.Output(builder.Node("Exp", {x}));
    inputs.push_back(Random({16}, 1));
  }
  const auto session = MakeSession();
  const GraphId id = MustAdd(*session, builder.Build());
  const std::vector<HostTensor> outputs = MustRun(*session, id, inputs);
  const std::vector<TensorView> from = Views(inputs);
  const std::vector<TensorView> to = Views(outputs);
  Status done;
  const Asked asked = Watch([&] { done = session->Run(id, from, to); });
  EXPECT_TRUE(done.ok());
  EXPECT_EQ(asked.ours, 0);
}

TEST_P(SteadyStateTest, AModelWithOpenSizesRunsWithoutTheHeapOnceItsShapesWereSeen) {
  // Work that is sent to a stream takes memory of the heap.
  SKIP_UNLESS_HOST_REACHES_DEVICE();
  ExpectNoHeapCalls(TransformerLayer(graph::Dim::Symbol("batch"), graph::Dim::Symbol("rows")),
                    Random({1, 7, kModelWidth}, 3), {"FusedAttention"});
}

INSTANTIATE_TEST_SUITE_P(Threads, SteadyStateTest, testing::Values(1, 2));

}  // namespace
}  // namespace plimsoll::engine
