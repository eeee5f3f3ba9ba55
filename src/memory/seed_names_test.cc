#include <fstream>
#include <iterator>
#include <string>
#include <type_traits>

#include "memory/conformance_fixture.h"
#include "memory/pool/memory_pool.h"
#include "plimsoll/memory/active_memory_allocator.h"
#include "plimsoll/memory/device_allocator.h"
#include "plimsoll/memory/expandable_active_memory_allocator.h"
#include "plimsoll/memory/physical_memory_allocator.h"

// A reader with the seed in hand finds the parts under the seed's names, one above the other.
namespace plimsoll::memory {
namespace seed_names_test {

static_assert(std::is_base_of_v<Allocator, ScalableAllocator>);
static_assert(std::is_base_of_v<Allocator, CachingMemAllocator>);
static_assert(std::is_base_of_v<ActiveMemory, ActiveMemoryAllocator>);
static_assert(std::is_base_of_v<ActiveMemory, ExpandableActiveMemoryAllocator>);
static_assert(std::is_constructible_v<MemoryPool, Bytes, Bytes>);
static_assert(std::is_constructible_v<ScalableAllocator, std::unique_ptr<DeviceAllocator>>);
static_assert(std::is_constructible_v<DeviceAllocator, std::shared_ptr<PhysicalMemoryAllocator>,
                                      device::StreamId>);
static_assert(std::is_constructible_v<PhysicalMemoryAllocator, std::shared_ptr<device::Device>,
                                      device::DeviceId>);

std::string Header(const std::string& path) {
  std::ifstream file(std::string(PLIMSOLL_SOURCE_DIR "/include/plimsoll/") + path);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(SeedNamesTest, R82_TheWordsThatAreNoTypesStandInThePublicHeaders) {
  EXPECT_NE(Header("memory/caching_mem_allocator.h").find(" AllocateWithTryRecycle("),
            std::string::npos);
  EXPECT_NE(Header("device/device.h").find("RT_MEMORY_P2P_DDR"), std::string::npos);
}

TEST(SeedNamesTest, R82_P2PMemoryIsAMemoryTypeOfItsOwnOnEveryDevice) {
  static_assert(device::MemoryType::kP2P != device::MemoryType::kDevice);
  for (const Ground& ground : AllGrounds()) {
    const auto device = ground.make();
    const auto peer = device->memory().AllocatePlain(kDevice, MiB(2), device::MemoryType::kP2P);
    ASSERT_TRUE(peer.ok()) << ground.name << ": " << peer.error().Text();
    EXPECT_TRUE(device->memory().FreePlain(kDevice, *peer).ok());
  }
}

TEST(SeedNamesTest, R82_P2PMemoryIsServedThroughTheWholeStack) {
  PhysicalMemoryOptions options;
  options.chunks.type = device::MemoryType::kP2P;
  const Machine machine(std::make_shared<device::FakeDevice>(), options);
  auto allocator = machine.Scalable();
  const Result<Block> block = allocator->Allocate({.size = MiB(3)});
  ASSERT_TRUE(block.ok()) << block.error().Text();
  EXPECT_TRUE(allocator->Free(*block).ok());
}

}  // namespace seed_names_test
}  // namespace plimsoll::memory
