// A device is lost under an allocator: what can still be answered is answered with the loss, and
// everything goes away without a crash, a standstill or a line about memory that nobody has any
// more.
#include <tuple>

#include "memory/conformance_fixture.h"

namespace plimsoll::memory {
namespace lost_device_test {

// The device under the allocators is the fake one, which alone can be lost.
class LostDevice : public testing::TestWithParam<std::tuple<Subject, bool>> {
 protected:
  LostDevice()
      : machine_(std::make_unique<Machine>(std::make_shared<device::FakeDevice>(device::FakeOptions{
            .capacity = MiB(256), .reserves_addresses = std::get<bool>(GetParam())}))),
        allocator_(std::get<Subject>(GetParam()).make(*machine_)) {}

  Result<Block> Take(Bytes size) {
    return allocator_->Allocate({.size = size, .stream = machine_->stream()});
  }
  // What may fail by the loss alone, or because the allocator serves one stream.
  static void Try(const Status& status) {
    if (status.ok()) return;
    const std::string& code = status.error().code;
    EXPECT_TRUE(code.starts_with("device.") || code == "memory.one_stream")
        << status.error().Text();
  }
  Block Try(Bytes size) {
    const Result<Block> block = Take(size);
    Try(block.status());
    return block.ok() ? *block : Block();
  }
  void Lose() {
    machine_->fake().Lose(kDevice, device::CallError(device::DeviceCall::kCopy, kDevice,
                                                     ErrorKind::kRunFailed, "broken"));
    lines_.clear();
  }

  std::vector<std::string> lines_;
  const LogCapture capture_{[this](LogLevel, std::string_view line) { lines_.emplace_back(line); }};
  std::unique_ptr<Machine> machine_;
  std::unique_ptr<Allocator> allocator_;
};

TEST_P(LostDevice, MemoryThatTheDeviceMustGiveIsRefusedWithTheLoss) {
  ASSERT_TRUE(Take(MiB(3)).ok());
  Lose();
  for (int i = 0; i < 2; ++i) {
    const Result<Block> block = Take(MiB(100));
    ASSERT_FALSE(block.ok());
    EXPECT_EQ(block.error().code, device::kDeviceLost) << block.error().Text();
    EXPECT_NE(block.error().why.find("broken"), std::string::npos);
  }
  EXPECT_EQ(allocator_->statistics().live_blocks, 1);
  EXPECT_GE(allocator_->statistics().allocated, MiB(3));
}

TEST_P(LostDevice, BlocksAreFreedAndEverythingGoesAwayInSilence) {
  std::vector<Block> blocks;
  for (const Bytes size : {MiB(3), MiB(30), KiB(5), MiB(12), Bytes(1), MiB(9)}) {
    const Result<Block> block = Take(size);
    ASSERT_TRUE(block.ok());
    blocks.push_back(*block);
  }
  ASSERT_TRUE(allocator_->Free(blocks[0]).ok());
  ASSERT_TRUE(allocator_->Free(blocks[3]).ok());
  ASSERT_TRUE(machine_->device()->LaunchHost(kDevice, machine_->stream(), [] {}).ok());
  Lose();
  for (const size_t i : {1, 2, 4, 5}) {
    const Status freed = allocator_->Free(blocks[i]);
    EXPECT_TRUE(freed.ok() || freed.error().code == device::kDeviceLost) << freed.error().Text();
  }
  EXPECT_EQ(allocator_->statistics().live_blocks, 0);
  const Result<Bytes> trimmed = allocator_->Trim();
  EXPECT_TRUE(trimmed.ok() || trimmed.error().code == device::kDeviceLost);
  allocator_.reset();
  machine_.reset();
  EXPECT_TRUE(lines_.empty()) << lines_.front();
}

TEST_P(LostDevice, BlocksThatAreStillAliveAreTheOnlyThingToTell) {
  ASSERT_TRUE(Take(MiB(3)).ok());
  ASSERT_TRUE(Take(MiB(30)).ok());
  Lose();
  allocator_.reset();
  machine_.reset();
  for (const std::string& line : lines_) {
    EXPECT_NE(line.find("alive"), std::string::npos) << line;
  }
  EXPECT_LE(lines_.size(), 1u);
}

TEST_P(LostDevice, WhicheverCallLosesTheDeviceNothingCrashesOrStandsStill) {
  int64_t calls = 1;
  for (int64_t losing = 0; losing < calls; ++losing) {
    allocator_.reset();
    machine_ = std::make_unique<Machine>(std::make_shared<device::FakeDevice>(device::FakeOptions{
        .capacity = MiB(64), .reserves_addresses = std::get<bool>(GetParam())}));
    allocator_ = std::get<Subject>(GetParam()).make(*machine_);
    const device::StreamId other = *machine_->device()->CreateStream(kDevice);
    const int64_t before = machine_->fake().statistics().total();
    // The first run loses nothing, and tells how many calls there are.
    if (losing > 0) machine_->fake().Fail({.first = losing, .loses_device = true});
    std::vector<Block> blocks;
    for (int i = 0; i < 6; ++i) blocks.push_back(Try(MiB(4)));
    for (int i = 0; i < 6; i += 2) Try(allocator_->Free(blocks[i]));
    const Block scattered = Try(MiB(12));
    Try(allocator_->RecordStream(scattered, other));
    Try(allocator_->Free(scattered));
    Try(allocator_->Trim().status());
    blocks.push_back(Try(MiB(20)));
    for (size_t i = 1; i < blocks.size(); i += 2) Try(allocator_->Free(blocks[i]));
    Try(allocator_->Free(blocks.back()));
    Try(allocator_->Trim().status());
    EXPECT_LE(allocator_->statistics().live_blocks, losing > 0 ? 7 : 0);
    if (losing == 0) calls = machine_->fake().statistics().total() - before;
  }
  EXPECT_GT(calls, 10);
}

INSTANTIATE_TEST_SUITE_P(Every, LostDevice,
                         testing::Combine(testing::ValuesIn(AllSubjects()), testing::Bool()),
                         [](const auto& info) {
                           return std::get<Subject>(info.param).name +
                                  (std::get<bool>(info.param) ? "" : "OnPlainMemory");
                         });

}  // namespace lost_device_test
}  // namespace plimsoll::memory
