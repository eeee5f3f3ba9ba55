#include <dlfcn.h>
#include <pthread.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <new>

#include "memory/conformance_fixture.h"

// Sanitizers bring a heap and locks of their own; other C libraries than glibc have no second name
// for theirs.
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
std::atomic<bool> counting = false;
std::atomic<int64_t> heap_calls = 0;
std::atomic<int64_t> locks = 0;

[[maybe_unused]] void Count(std::atomic<int64_t>& calls) {
  if (counting.load(std::memory_order_relaxed)) calls.fetch_add(1, std::memory_order_relaxed);
}
}  // namespace

#if PLIMSOLL_OWN_HEAP
// The program's heap and locks: glibc's, counted. Libraries and operator new come here too.
extern "C" {
void* __libc_malloc(size_t size);
void __libc_free(void* memory);
void* __libc_calloc(size_t count, size_t size);
void* __libc_realloc(void* memory, size_t size);
void* __libc_memalign(size_t alignment, size_t size);

void* malloc(size_t size) noexcept {
  Count(heap_calls);
  return __libc_malloc(size);
}
void free(void* memory) noexcept {
  Count(heap_calls);
  __libc_free(memory);
}
void* calloc(size_t count, size_t size) noexcept {
  Count(heap_calls);
  return __libc_calloc(count, size);
}
void* realloc(void* memory, size_t size) noexcept {
  Count(heap_calls);
  return __libc_realloc(memory, size);
}
void* aligned_alloc(size_t alignment, size_t size) noexcept {
  Count(heap_calls);
  return __libc_memalign(alignment, size);
}
int posix_memalign(void** memory, size_t alignment, size_t size) noexcept {
  Count(heap_calls);
  *memory = __libc_memalign(alignment, size);
  return *memory == nullptr ? ENOMEM : 0;
}

int pthread_mutex_lock(pthread_mutex_t* mutex) noexcept {
  using Lock = int (*)(pthread_mutex_t*);
  static std::atomic<Lock> next = nullptr;
  Count(locks);
  Lock lock = next.load(std::memory_order_relaxed);
  if (lock == nullptr) {
    lock = reinterpret_cast<Lock>(dlsym(RTLD_NEXT, "pthread_mutex_lock"));
    next.store(lock, std::memory_order_relaxed);
  }
  return lock(mutex);
}
}
#endif

namespace plimsoll::memory {
namespace {

class HotPathTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!PLIMSOLL_OWN_HEAP) GTEST_SKIP() << "the heap is not ours to count under a sanitizer";
  }
  template <typename Work>
  static void Counted(const Work& work) {
    heap_calls = 0;
    locks = 0;
    counting = true;
    work();
    counting = false;
  }
};

TEST_F(HotPathTest, TheCountersSeeEveryWayToTheHeapAndALock) {
  void* volatile kept = nullptr;
  Counted([&] {
    kept = std::malloc(10);
    kept = std::realloc(kept, 20);
    std::free(kept);
  });
  EXPECT_EQ(heap_calls, 3);
  Counted([&] {
    kept = ::operator new(10);
    ::operator delete(kept);
    kept = std::calloc(2, 10);
    std::free(kept);
  });
  EXPECT_EQ(heap_calls, 4);
  std::mutex mutex;
  Counted([&] { std::lock_guard lock(mutex); });
  EXPECT_EQ(locks, 1);
}

TEST_F(HotPathTest, R68_ACachedPairMakesNoHeapCallNoDeviceCallAndTakesNoLock) {
  const Machine machine = Machine::Fake();
  auto allocator = machine.Scalable();
  const std::vector<Bytes> sizes = {Bytes(0), Bytes(100),     KiB(300),
                                    MiB(3),   Bytes(9000001), MiB(64)};
  std::vector<Block> blocks(sizes.size());
  bool freed = true;
  const auto pass = [&] {
    for (size_t i = 0; i < sizes.size(); ++i) {
      blocks[i] = *allocator->Allocate(
          {.size = sizes[i], .tag = "a tag that is long enough to need the heap"});
    }
    for (const Block& block : blocks) freed &= allocator->Free(block).ok();
  };
  pass();
  const int64_t device_calls = machine.fake().statistics().total();
  Counted([&] {
    for (int i = 0; i < 1000; ++i) pass();
  });
  EXPECT_TRUE(freed);
  EXPECT_EQ(heap_calls, 0);
  EXPECT_EQ(locks, 0);
  EXPECT_EQ(machine.fake().statistics().total(), device_calls);
}

TEST_F(HotPathTest, ABlockInARangeThatIsStitchedAlreadyCostsNoHeapCallEither) {
  const Machine machine = Machine::Fake({.capacity = MiB(64)});
  auto allocator = machine.Scalable();
  std::vector<Block> blocks(8);
  for (Block& block : blocks) block = *allocator->Allocate({.size = MiB(8)});
  for (int i = 0; i < 8; i += 2) ASSERT_TRUE(allocator->Free(blocks[i]).ok());
  bool freed = true;
  const auto pair = [&] { freed &= allocator->Free(*allocator->Allocate({.size = MiB(32)})).ok(); };
  pair();
  pair();
  const int64_t device_calls = machine.fake().statistics().total();
  Counted([&] {
    for (int i = 0; i < 1000; ++i) pair();
  });
  for (int i = 1; i < 8; i += 2) freed &= allocator->Free(blocks[i]).ok();
  EXPECT_TRUE(freed);
  EXPECT_EQ(heap_calls, 0);
  EXPECT_EQ(locks, 0);
  EXPECT_EQ(machine.fake().statistics().total(), device_calls);
}

}  // namespace
}  // namespace plimsoll::memory
