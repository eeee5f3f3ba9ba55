// A block that is freed on its stream while another still writes to it is found by the debug mode.
#include <future>
#include <thread>

#include "memory/conformance_fixture.h"

namespace plimsoll::memory {
namespace cross_stream_use_test {

std::vector<Ground> GroundsWithBytes() {
  std::vector<Ground> grounds;
  for (const Ground& ground : AllGrounds()) {
    if (ground.make()->Properties(kDevice).holds_bytes) grounds.push_back(ground);
  }
  return grounds;
}

class CrossStreamUse : public testing::TestWithParam<Ground> {
 protected:
  // Work that writes to the block on the second stream once the gate is open.
  void WriteBehindTheGate(const Block& block) {
    device::Device& device = *machine_.device();
    ASSERT_TRUE(device.LaunchHost(kDevice, other_, [opened = opened_] { opened.wait(); }).ok());
    ASSERT_TRUE(device.Fill(kDevice, other_, block.address + 4000, 7, Bytes(1)).ok());
  }

  Machine machine_{GetParam().make()};
  const StreamId other_ = *machine_.device()->CreateStream(kDevice);
  std::promise<void> gate_;
  std::shared_future<void> opened_ = gate_.get_future().share();
  GuardingAllocator guarding_{machine_.StreamOrdered(), machine_.device(), kDevice,
                              machine_.stream()};
};
INSTANTIATE_TEST_SUITE_P(Grounds, CrossStreamUse, testing::ValuesIn(GroundsWithBytes()),
                         [](const auto& info) { return info.param.name; });

TEST_P(CrossStreamUse, IsFoundWhenTheStreamWasNotRecorded) {
  const Result<Block> block = guarding_.Allocate({.size = KiB(8), .stream = machine_.stream()});
  ASSERT_TRUE(block.ok());
  WriteBehindTheGate(*block);
  EXPECT_TRUE(guarding_.Free(*block).ok());
  ASSERT_TRUE(machine_.device()->SynchronizeStream(kDevice, machine_.stream()).ok());
  gate_.set_value();
  ASSERT_TRUE(machine_.device()->SynchronizeStream(kDevice, other_).ok());
  EXPECT_TRUE(RefusedAs(guarding_.Trim().status(), "memory.used_after_free"));
}

TEST_P(CrossStreamUse, IsLegalWhenTheStreamWasRecorded) {
  const Result<Block> block = guarding_.Allocate({.size = KiB(8), .stream = machine_.stream()});
  ASSERT_TRUE(block.ok());
  WriteBehindTheGate(*block);
  ASSERT_TRUE(guarding_.RecordStream(*block, other_).ok());
  Status freed;
  std::thread free([&] { freed = guarding_.Free(*block); });
  gate_.set_value();
  free.join();
  EXPECT_TRUE(freed.ok());
  ASSERT_TRUE(machine_.device()->SynchronizeStream(kDevice, other_).ok());
  EXPECT_TRUE(guarding_.Trim().ok());
}

}  // namespace cross_stream_use_test
}  // namespace plimsoll::memory
