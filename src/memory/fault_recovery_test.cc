// Every device call of a story fails once, under every allocator. What failed has changed nothing,
// and at the end every counter and every address is there again.
#include <tuple>

#include "memory/conformance_fixture.h"
#include "plimsoll/device/watched_device.h"

namespace plimsoll::memory {
namespace fault_recovery_test {

using device::WatchedDevice;

constexpr Bytes kCapacity = MiB(128);
constexpr Bytes kAddresses = MiB(64);  // of homes, and again of stitched ranges

// The allocators of the conformance suite, and adaptors over others than they stand on there.
std::vector<Subject> Subjects() {
  std::vector<Subject> subjects = AllSubjects();
  const auto guard = [](const Machine& m, std::unique_ptr<Allocator> under) {
    return std::make_unique<GuardingAllocator>(std::move(under), m.device(), kDevice, m.stream(),
                                               GuardOptions{.quarantine = MiB(5)});
  };
  subjects.push_back({"GuardingStreamOrdered", [=](const Machine& m) -> std::unique_ptr<Allocator> {
                        return guard(m, m.StreamOrdered());
                      }});
  subjects.push_back(
      {"GuardingCachingNothing", [=](const Machine& m) -> std::unique_ptr<Allocator> {
         return guard(m,
                      std::make_unique<CachingMemAllocator>(m.physical(), nullptr, Keep::kNothing));
       }});
  subjects.push_back(
      {"LimitingObservingStreamOrdered", [](const Machine& m) -> std::unique_ptr<Allocator> {
         return std::make_unique<LimitingAllocator>(
             std::make_unique<ObservingAllocator>(m.StreamOrdered(), kDevice, nullptr), kAddresses);
       }});
  return subjects;
}

// A device that counts its calls and fails one of them.
struct FaultyGround {
  std::string name;
  bool real = false;
  bool reserves = true;
};

class FaultRecovery : public testing::TestWithParam<std::tuple<Subject, FaultyGround>> {
 protected:
  static const Subject& subject() { return std::get<Subject>(GetParam()); }
  static const FaultyGround& ground() { return std::get<FaultyGround>(GetParam()); }
};

// One run of the story on a device of its own.
class StoryRun {
 public:
  StoryRun(const Subject& subject, const FaultyGround& ground)
      : fake_(ground.real ? nullptr
                          : std::make_shared<device::FakeDevice>(device::FakeOptions{
                                .capacity = kCapacity, .reserves_addresses = ground.reserves})),
        watched_(std::make_shared<WatchedDevice>(
            fake_ != nullptr ? std::static_pointer_cast<device::Device>(fake_)
                             : std::make_shared<device::CpuDevice>(
                                   device::CpuOptions{.capacity = kCapacity,
                                                      .reserves_addresses = ground.reserves,
                                                      .huge_by_default = false}))),
        machine_(watched_, {}, {.reservation = kAddresses}),
        other_(*watched_->CreateStream(kDevice)),
        third_(*watched_->CreateStream(kDevice)),
        make_(subject.make),
        unit_(ground.real && subject.name.starts_with("Guarding") ? KiB(16) : MiB(1)) {}

  WatchedDevice& device() { return *watched_; }
  int64_t failed() const { return failed_; }

  void Tell() {
    allocator_ = make_(machine_);
    std::vector<Block> row;
    for (int i = 0; i < 6; ++i) row.push_back(Take(Scaled(4)));
    for (int i = 0; i < 6; i += 2) Give(row[i]);
    const Block scattered = Take(Scaled(12));
    const Block shared = Take(Scaled(6));
    Record(shared, other_);
    Record(shared, third_);
    Record(shared, machine_.stream());
    const Block elsewhere = Take(Scaled(3), other_);
    const Block small = Take(Bytes(100));
    const Block aligned = Take(KiB(5), machine_.stream(), KiB(4));
    Give(scattered);
    Give(shared);
    Trim();
    Give(small);
    Give(Take(Scaled(24)));
    const Block again = Take(Scaled(6), other_);
    for (int i = 1; i < 6; i += 2) Give(row[i]);
    Give(aligned);
    Give(elsewhere);
    Trim();
    Give(again);
    Trim();
  }

  // Everything was freed: nothing is held and nothing is lost.
  void ExpectWhole() {
    ASSERT_TRUE(watched_->SynchronizeDevice(kDevice).ok());
    const Result<Bytes> trimmed = allocator_->Trim();
    ASSERT_TRUE(trimmed.ok()) << trimmed.error().Text();
    const MemoryStatistics statistics = allocator_->statistics();
    EXPECT_EQ(statistics.allocated, Bytes(0));
    EXPECT_EQ(statistics.live_blocks, 0);
    EXPECT_EQ(statistics.allocations, statistics.frees);
    EXPECT_GE(statistics.allocations, allocations_);
    EXPECT_EQ(statistics.reserved, Bytes(0));
    EXPECT_EQ(statistics.largest_free_run, Bytes(0));
    EXPECT_EQ(machine_.physical()->reserved(), Bytes(0));
    EXPECT_EQ(machine_.physical()->cached(), Bytes(0));
    ExpectDeviceEmpty();
    // Of all addresses of homes, and of those of stitched ranges.
    const Bytes whole = unit_ * (kAddresses.value() / MiB(1).value());
    Request request{.size = Guards() ? whole - unit_ * 2 : whole, .stream = machine_.stream()};
    Result<Block> block = allocator_->Allocate(request);
    ASSERT_TRUE(block.ok()) << block.error().Text();
    ASSERT_TRUE(allocator_->Free(*block).ok());
    std::vector<Block> row;
    request.size = unit_ * 8 - KiB(4);
    for (int i = 0; i < 7; ++i) {
      Result<Block> one = allocator_->Allocate(request);
      ASSERT_TRUE(one.ok()) << one.error().Text();
      row.push_back(*one);
    }
    for (int i = 0; i < 7; i += 2) ASSERT_TRUE(allocator_->Free(row[i]).ok());
    request.size = unit_ * 24;
    block = allocator_->Allocate(request);
    ASSERT_TRUE(block.ok()) << block.error().Text();
    row.push_back(*block);
    for (size_t i = 1; i < row.size(); i += 2) ASSERT_TRUE(allocator_->Free(row[i]).ok());
    ASSERT_TRUE(allocator_->Trim().ok());
    EXPECT_EQ(machine_.physical()->reserved(), Bytes(0));
    ExpectDeviceEmpty();
    allocator_.reset();
    if (fake_ == nullptr) return;
    device::FakeOutstanding left = fake_->outstanding();
    left.events = 0;
    EXPECT_EQ(left, (device::FakeOutstanding{.streams = 3}));
  }

 private:
  Block Take(Bytes size, StreamId stream, Bytes alignment = Bytes(kBlockAlignment)) {
    const MemoryStatistics before = allocator_->statistics();
    Result<Block> block =
        allocator_->Allocate({.size = size, .alignment = alignment, .stream = stream});
    if (block.ok()) {
      ++allocations_;
      return *block;
    }
    ++failed_;
    EXPECT_FALSE(block.error().code.empty());
    EXPECT_EQ(allocator_->statistics().live_blocks, before.live_blocks);
    EXPECT_EQ(allocator_->statistics().allocated, before.allocated);
    return Block();
  }
  Block Take(Bytes size) { return Take(size, machine_.stream()); }
  Bytes Scaled(int64_t units) const { return unit_ * units; }

  // A free that failed has freed nothing, so it can be done again.
  void Give(const Block& block) {
    const Status freed = allocator_->Free(block);
    if (freed.ok()) return;
    ++failed_;
    const Status again = allocator_->Free(block);
    EXPECT_TRUE(again.ok() || (freed.error().code.starts_with("device.") &&
                               again.error().code == "memory.freed_twice" && Guards()))
        << freed.error().Text() << " and then " << again.error().Text();
  }
  // The error of a block that leaves quarantine may come from the free of another.
  bool Guards() const { return dynamic_cast<GuardingAllocator*>(allocator_.get()) != nullptr; }

  void Record(const Block& block, StreamId stream) {
    if (block.key == BlockKey()) return;
    const Status status = allocator_->RecordStream(block, stream);
    EXPECT_TRUE(status.ok() || status.error().code == "memory.one_stream") << status.error().Text();
  }
  void Trim() {
    if (!allocator_->Trim().ok()) ++failed_;
  }

  void ExpectDeviceEmpty() {
    const auto info = watched_->memory().Info(kDevice);
    ASSERT_TRUE(info.ok());
    if (fake_ == nullptr) return;
    EXPECT_EQ(info->free, kCapacity);
    EXPECT_EQ(fake_->outstanding().chunks, 0);
    EXPECT_EQ(fake_->outstanding().mappings, 0);
    EXPECT_EQ(fake_->outstanding().plain_blocks, 0);
    // The guards forget an event that the device did not destroy.
    EXPECT_LE(fake_->outstanding().events, Guards() ? 1 : 0);
  }

  std::shared_ptr<device::FakeDevice> fake_;  // null: real memory
  std::shared_ptr<WatchedDevice> watched_;
  const Machine machine_;
  const StreamId other_;
  const StreamId third_;
  std::function<std::unique_ptr<Allocator>(const Machine&)> make_;
  const Bytes unit_;  // small where each byte is looked at
  std::unique_ptr<Allocator> allocator_;
  int64_t allocations_ = 0;
  int64_t failed_ = 0;
};

TEST_P(FaultRecovery, WhateverCallFailsEverythingIsWholeAgain) {
  const LogCapture quiet([](LogLevel, std::string_view) {});
  int64_t calls = 0;
  {
    StoryRun faultless(subject(), ground());
    const int64_t before = faultless.device().total();
    faultless.Tell();
    calls = faultless.device().total() - before;
    EXPECT_EQ(faultless.failed(), 0);
    faultless.ExpectWhole();
  }
  ASSERT_GT(calls, 10);
  int64_t noticed = 0;
  for (int64_t call = 0; call < calls; ++call) {
    for (const ErrorKind kind : {ErrorKind::kRunFailed, ErrorKind::kDoesNotFit}) {
      if (ground().real && kind == ErrorKind::kDoesNotFit) continue;  // as with numbers
      SCOPED_TRACE(testing::Message() << "device call " << call << " of " << calls << ", kind "
                                      << static_cast<int>(kind));
      StoryRun run(subject(), ground());
      run.device().FailAfter(call, kind);
      run.Tell();
      run.device().FailNoMore();
      noticed += run.failed() > 0 ? 1 : 0;
      run.ExpectWhole();
      if (HasFailure()) return;
    }
  }
  EXPECT_GT(noticed, 0);
}

// Real memory where bytes are looked at or streams wait; numbers for all.
std::vector<std::tuple<Subject, FaultyGround>> Pairs() {
  std::vector<std::tuple<Subject, FaultyGround>> pairs;
  for (const Subject& subject : Subjects()) {
    const bool real = subject.name.starts_with("Guarding") || subject.name == "StreamOrdered";
    for (const bool reserves : {true, false}) {
      pairs.push_back({subject, {reserves ? "Fake" : "FakePlain", false, reserves}});
    }
    if (real) pairs.push_back({subject, {"Cpu", true, true}});
  }
  return pairs;
}

INSTANTIATE_TEST_SUITE_P(Every, FaultRecovery, testing::ValuesIn(Pairs()), [](const auto& info) {
  return std::get<Subject>(info.param).name + "On" + std::get<FaultyGround>(info.param).name;
});

}  // namespace fault_recovery_test
}  // namespace plimsoll::memory
