#include <atomic>
#include <cstdlib>
#include <new>

#include "memory/conformance_fixture.h"

// Counts every heap call of the program while it is told to.
namespace {
std::atomic<bool> counting = false;
std::atomic<int64_t> heap_calls = 0;
void* Count(void* memory) {
  if (counting.load(std::memory_order_relaxed)) ++heap_calls;
  return memory;
}
}  // namespace

[[gnu::noinline]] void* operator new(size_t size) {
  void* memory = Count(std::malloc(size));
  if (memory == nullptr) std::abort();
  return memory;
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(Count(memory)); }
[[gnu::noinline]] void operator delete(void* memory, size_t) noexcept { std::free(Count(memory)); }

namespace plimsoll::memory {
namespace {

TEST(HotPathTest, ACachedPairMakesNoHeapCallAndNoDeviceCall) {
  const Machine machine = Machine::Fake();
  auto allocator = machine.Scalable();
  const std::vector<Bytes> sizes = {Bytes(0), Bytes(100),     KiB(300),
                                    MiB(3),   Bytes(9000001), MiB(64)};
  std::vector<Block> blocks(sizes.size());
  const auto pass = [&] {
    for (size_t i = 0; i < sizes.size(); ++i) {
      blocks[i] = *allocator->Allocate(
          {.size = sizes[i], .tag = "a tag that is long enough to need the heap"});
    }
    for (const Block& block : blocks) ASSERT_TRUE(allocator->Free(block).ok());
  };
  pass();
  const int64_t device_calls = machine.fake().statistics().total();
  counting = true;
  for (int i = 0; i < 1000; ++i) pass();
  counting = false;
  EXPECT_EQ(heap_calls, 0);
  EXPECT_EQ(machine.fake().statistics().total(), device_calls);
}

}  // namespace
}  // namespace plimsoll::memory
