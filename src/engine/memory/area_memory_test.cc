#include "engine/memory/area_memory.h"

#include <gtest/gtest.h>

#include <set>

#include "engine/session_for_tests.h"
#include "plimsoll/base/log.h"
#include "plimsoll/base/text.h"
#include "plimsoll/device/fake_device.h"
#include "plimsoll/device/watched_device.h"

// Memory outside feature maps: what each area takes, how it grows, and what it counts.
namespace plimsoll::engine {
namespace area_memory_test {

using device::DeviceCall;

constexpr device::DeviceId kFirst{0};
constexpr Bytes kGranularity = KiB(64);

class AreaMemoryTest : public testing::Test {
 protected:
  void Make(bool reserves = true) {
    device::FakeOptions options;
    options.capacity = GiB(64);
    options.granularity = kGranularity;
    options.reserves_addresses = reserves;
    under_ = std::make_shared<device::FakeDevice>(options);
    device_ = std::make_shared<device::WatchedDevice>(under_);
    ledger_ = std::make_shared<MemoryLedger>();
    areas_ = std::make_unique<AreaMemory>(device_, kFirst, ledger_);
  }
  Bytes used() const { return GiB(64) - under_->memory().Info(kFirst)->free; }
  int64_t Calls(DeviceCall call) const { return device_->calls()[static_cast<size_t>(call)]; }
  void ExpectCounted(Bytes asked, Bytes reserved, Bytes host = Bytes(0)) const {
    EXPECT_EQ(ledger_->asked(), asked);
    EXPECT_EQ(ledger_->reserved(), reserved);
    EXPECT_EQ(ledger_->host(), host);
    EXPECT_EQ(used(), reserved);
  }

  void ExpectNothingLeft() {
    areas_.reset();
    ExpectCounted(Bytes(0), Bytes(0));
    EXPECT_EQ(under_->outstanding(), device::FakeOutstanding());
  }

  std::shared_ptr<device::FakeDevice> under_;
  std::shared_ptr<device::WatchedDevice> device_;
  std::shared_ptr<MemoryLedger> ledger_;
  std::unique_ptr<AreaMemory> areas_;
};

Area Plain(int64_t bytes) {
  return {.type = plan::MemoryType::kDevice, .bytes = Bytes(bytes), .key = "a"};
}

Area Growing(Bytes bytes) { return {.bytes = bytes, .stable = true, .grows = true, .key = "g"}; }

TEST_F(AreaMemoryTest, APlainAreaIsTakenOnceAndAgainWhenItMustBeLarger) {
  Make();
  const auto first = areas_->Take(Plain(1024));
  ASSERT_TRUE(first.ok());
  ExpectCounted(Bytes(1024), Bytes(1024));
  EXPECT_EQ(*areas_->Take(Plain(1024)), *first);
  EXPECT_EQ(*areas_->Take(Plain(512)), *first) << "less is there already";
  ExpectCounted(Bytes(1024), Bytes(1024));
  EXPECT_EQ(Calls(DeviceCall::kAllocatePlain), 1);
  ASSERT_TRUE(areas_->Take(Plain(3072)).ok());
  ExpectCounted(Bytes(3072), Bytes(3072));
  EXPECT_EQ(Calls(DeviceCall::kFreePlain), 1);
  EXPECT_EQ(Calls(DeviceCall::kSynchronizeDevice), 1);
  EXPECT_EQ(ledger_->peak_reserved(), Bytes(3072)) << "the old one went before the new one came";
  ExpectNothingLeft();
  EXPECT_EQ(Calls(DeviceCall::kSynchronizeDevice), 2) << "before anything goes back";
}

TEST_F(AreaMemoryTest, AreasOfOtherKeysAndTypesAreSeparate) {
  Make();
  Area other = Plain(1024);
  other.key = "b";
  Area host = Plain(1536);
  host.type = plan::MemoryType::kHost;
  Area peer = Plain(2048);
  peer.type = plan::MemoryType::kP2pDdr;
  std::set<std::byte*> bases;
  for (const Area& area : {Plain(512), other, host, peer}) bases.insert(*areas_->Take(area));
  EXPECT_EQ(bases.size(), 4U);
  ExpectCounted(Bytes(512 + 1024 + 2048), Bytes(512 + 1024 + 2048), Bytes(1536));
  EXPECT_EQ(device_->taken(device::MemoryType::kHost), Bytes(1536));
  EXPECT_EQ(device_->taken(device::MemoryType::kP2P), Bytes(2048));
  EXPECT_EQ(device_->taken(device::MemoryType::kDevice), Bytes(512 + 1024));
  ExpectNothingLeft();
}

TEST_F(AreaMemoryTest, AGrowingAreaKeepsItsBaseAndMapsWhatIsMissing) {
  Make();
  const auto base = areas_->Take(Growing(KiB(10)));
  ASSERT_TRUE(base.ok());
  ExpectCounted(KiB(10), KiB(64));
  EXPECT_EQ(*areas_->Take(Growing(KiB(64))), *base) << "what was rounded up to";
  ExpectCounted(KiB(64), KiB(64));
  EXPECT_EQ(*areas_->Take(Growing(KiB(65))), *base);
  ExpectCounted(KiB(65), KiB(128));
  EXPECT_EQ(*areas_->Take(Growing(KiB(300))), *base);
  ExpectCounted(KiB(300), KiB(320));
  EXPECT_EQ(Calls(DeviceCall::kReserveAddress), 1);
  EXPECT_EQ(Calls(DeviceCall::kMap), 3);
  EXPECT_EQ(Calls(DeviceCall::kSetAccess), 3);
  ExpectNothingLeft();
  EXPECT_EQ(Calls(DeviceCall::kUnmap), 3);
  EXPECT_EQ(Calls(DeviceCall::kDestroyChunk), 3);
  EXPECT_EQ(Calls(DeviceCall::kReleaseAddress), 1);
}

// Sixteen times what it first was, 16 GiB at least.
TEST_F(AreaMemoryTest, BeyondItsAddressesAGrowingAreaIsRefusedAndStays) {
  Make();
  const auto base = areas_->Take(Growing(GiB(1)));
  ASSERT_TRUE(base.ok());
  ASSERT_EQ(*areas_->Take(Growing(GiB(16))), *base);
  const auto refused = areas_->Take(Growing(GiB(16) + Bytes(1)));
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, "run.stable_address");
  EXPECT_EQ(refused.error().kind, ErrorKind::kDoesNotFit);
  EXPECT_NE(refused.error().why.find("16 GiB of addresses are reserved"), std::string::npos)
      << refused.error().why;
  EXPECT_EQ(*areas_->Take(Growing(GiB(2))), *base);
  ExpectCounted(GiB(16), GiB(16));
}

TEST_F(AreaMemoryTest, WithoutAddressesAStableAreaStaysAsLargeAsItWas) {
  Make(false);
  const auto base = areas_->Take(Growing(KiB(10)));
  ASSERT_TRUE(base.ok());
  ExpectCounted(KiB(10), KiB(10));
  const auto refused = areas_->Take(Growing(KiB(11)));
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, "run.stable_address");
  EXPECT_NE(refused.error().why.find("cannot reserve addresses"), std::string::npos);
  EXPECT_EQ(*areas_->Take(Growing(KiB(9))), *base);
  Area moves = Growing(KiB(20));
  moves.stable = false;
  moves.key = "moves";
  ASSERT_TRUE(areas_->Take(moves).ok());
  moves.bytes = KiB(30);
  EXPECT_TRUE(areas_->Take(moves).ok()) << "what is not stable may move";
  ExpectCounted(KiB(40), KiB(40));
}

// Every call of the device fails in turn while an area of each kind is made and outgrown: what was
// held stays, what is counted is what is taken, and nothing is left in the end.
TEST_F(AreaMemoryTest, AFailedCallLeavesEveryCountAsItWas) {
  const LogCapture quiet([](LogLevel, std::string_view) {});
  bool ended = false;
  int refused = 0;
  for (int64_t call = 0; !ended && call < 100; ++call) {
    Make();
    device_->FailAfter(call, ErrorKind::kRunFailed);
    for (const Area& area : {Plain(1024), Growing(KiB(10)), Plain(5120), Growing(KiB(200))}) {
      const Bytes asked = ledger_->asked();
      const Bytes before = used();
      if (areas_->Take(area).ok()) continue;
      ++refused;
      EXPECT_LE(ledger_->asked(), asked) << "call " << call;
      EXPECT_LE(used(), before) << "call " << call;
      EXPECT_EQ(ledger_->reserved(), used()) << "call " << call;
    }
    ended = device_->total() <= call;
    device_->FailNoMore();
    EXPECT_TRUE(areas_->Take(Plain(6144)).ok() && areas_->Take(Growing(KiB(300))).ok());
    ExpectCounted(Bytes(6144) + KiB(300), Bytes(6144) + KiB(320));
    ExpectNothingLeft();
  }
  EXPECT_TRUE(ended);
  EXPECT_EQ(refused, 11) << "two plain blocks, a wait, a free, a range, two chunks of three calls";
}

}  // namespace area_memory_test
}  // namespace plimsoll::engine
