#include "engine/weights/constant_memory.h"

#include "device/cpu/huge_page_pools_for_tests.h"
#include "engine/models_for_tests.h"
#include "plimsoll/base/log.h"
#include "plimsoll/base/text.h"
#include "plimsoll/device/cpu_device.h"
#include "plimsoll/device/fake_device.h"

namespace plimsoll::engine {
namespace constant_memory_test {

using config::HugePages;
using device::DeviceId;
using device::FakeDevice;
using device::FakeOutstanding;

constexpr DeviceId kFirst{0};

// The lines at level error while it lives.
class ErrorLines {
 public:
  int count() const { return count_; }

 private:
  int count_ = 0;
  LogCapture capture_{[this](LogLevel level, std::string_view) {
    if (level == LogLevel::kError) ++count_;
  }};
};

SessionOptions WithPages(HugePages pages, std::shared_ptr<device::Device> device = nullptr) {
  SessionOptions options;
  options.config.memory_config.variable_use_1g_huge_page = pages;
  options.device = std::move(device);
  return options;
}

uint64_t AddressOf(const std::shared_ptr<void>& piece) {
  return reinterpret_cast<uint64_t>(piece.get());
}

TEST(ConstantMemoryTest, R23_R24_ModeZeroTakesNothingFromTheDevice) {
  device::FakeOptions reachable;
  reachable.host_reachable = true;
  const auto device = std::make_shared<FakeDevice>(reachable);
  ConstantMemory memory(device, kFirst, HugePages::kSystem);
  EXPECT_FALSE(memory.large_pages());
  EXPECT_FALSE(memory.copies());
  EXPECT_TRUE(memory.Allocate(MiB(3)).ok());
  EXPECT_EQ(device->statistics().total(), 0);
  EXPECT_EQ(memory.reserved(), Bytes(0));
}

TEST(ConstantMemoryTest, R23_R25_ManyConstantsLieInOneGigabytePage) {
  const auto device =
      std::make_shared<FakeDevice>(device::FakeOptions{.granularity = MiB(2), .pages_1g = 2});
  ConstantMemory memory(device, kFirst, HugePages::kOnly1G);
  const auto first = memory.Allocate(Bytes(100));
  const auto second = memory.Allocate(MiB(600));
  const auto third = memory.Allocate(Bytes(1));
  ASSERT_TRUE(first.ok() && second.ok() && third.ok());
  EXPECT_EQ(AddressOf(*second) - AddressOf(*first), 128U);
  EXPECT_EQ(AddressOf(*third) % 64, 0U);
  EXPECT_EQ(memory.reserved(), GiB(1));
  const auto fourth = memory.Allocate(MiB(600));
  ASSERT_TRUE(fourth.ok());
  EXPECT_EQ(memory.reserved(), GiB(2));
  const ErrorLines lines;
  const auto fifth = memory.Allocate(MiB(600));
  ASSERT_FALSE(fifth.ok());
  EXPECT_EQ(lines.count(), 1);
}

TEST(ConstantMemoryTest, ABlockGoesWithTheLastConstantInItAndOutlivesTheMemory) {
  const auto device = std::make_shared<FakeDevice>(device::FakeOptions{.pages_1g = 1});
  auto memory = std::make_unique<ConstantMemory>(device, kFirst, HugePages::kOnly1G);
  auto first = *memory->Allocate(MiB(1));
  auto second = *memory->Allocate(MiB(1));
  first.reset();
  EXPECT_EQ(memory->reserved(), GiB(1));
  memory.reset();
  EXPECT_EQ(device->outstanding().chunks, 1);
  second.reset();
  EXPECT_EQ(device->outstanding(), FakeOutstanding{});
}

TEST(ConstantMemoryTest, WhatIsGivenBackServesAgainAlthoughOthersHoldTheBlock) {
  const auto device = std::make_shared<FakeDevice>(device::FakeOptions{.pages_1g = 1});
  ConstantMemory memory(device, kFirst, HugePages::kOnly1G);
  auto first = *memory.Allocate(MiB(300));
  const auto kept = *memory.Allocate(MiB(1));
  auto second = *memory.Allocate(MiB(300));
  auto third = *memory.Allocate(MiB(400));
  const uint64_t start = AddressOf(first);
  first.reset();
  const auto again = *memory.Allocate(MiB(300));
  EXPECT_EQ(AddressOf(again), start);
  third.reset();
  second.reset();  // joins what lies behind it
  EXPECT_TRUE(memory.Allocate(MiB(700)).ok());
  EXPECT_EQ(memory.reserved(), GiB(1));
}

TEST(ConstantMemoryTest, R26_TheStepDownToTwoMegabytePagesIsLoggedOnce) {
  const auto device = std::make_shared<FakeDevice>(device::FakeOptions{.pages_2m = 3});
  ConstantMemory memory(device, kFirst, HugePages::k1GThen2M);
  const ErrorLines lines;
  const auto first = memory.Allocate(MiB(3));
  const auto second = memory.Allocate(MiB(2));
  const auto third = memory.Allocate(MiB(1));
  ASSERT_TRUE(first.ok() && second.ok() && third.ok());
  EXPECT_EQ(memory.reserved(), MiB(6));
  EXPECT_EQ(lines.count(), 1);
}

TEST(ConstantMemoryTest, AWeightThatTheHostCannotHoldIsRefused) {
  ConstantMemory memory(std::make_shared<device::CpuDevice>(), kFirst, HugePages::kSystem);
  const auto refused = memory.Allocate(Bytes(int64_t{1} << 60));
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, "run.memory");
  EXPECT_EQ(refused.error().kind, ErrorKind::kDoesNotFit);
  EXPECT_TRUE(memory.Allocate(Bytes(100)).ok());
}

// Four pieces fill a page of 1 GiB; those that are given back join their free neighbours on both
// sides, in whatever order.
TEST(ConstantMemoryTest, FreePiecesJoinOnBothSides) {
  for (const auto& order : {std::vector<size_t>{0, 1, 2}, std::vector<size_t>{2, 1, 0},
                            std::vector<size_t>{0, 2, 1}, std::vector<size_t>{1, 0, 2}}) {
    const auto device = std::make_shared<FakeDevice>(device::FakeOptions{.pages_1g = 2});
    ConstantMemory memory(device, kFirst, HugePages::kOnly1G);
    std::vector<std::shared_ptr<void>> pieces;
    for (int i = 0; i < 4; ++i) pieces.push_back(*memory.Allocate(MiB(256)));
    EXPECT_EQ(memory.reserved(), GiB(1));
    const uint64_t first = AddressOf(pieces[0]);
    for (const size_t piece : order) pieces[piece].reset();
    const auto joined = memory.Allocate(MiB(768));
    ASSERT_TRUE(joined.ok());
    EXPECT_EQ(AddressOf(*joined), first);
    EXPECT_EQ(memory.reserved(), GiB(1)) << "no second page";
    EXPECT_NE(AddressOf(pieces[3]), first);
  }
}

TEST(ConstantMemoryTest, ManyPiecesThatFillNoPageWasteLittle) {
  const auto device = std::make_shared<FakeDevice>();
  ConstantMemory memory(device, kFirst, HugePages::k1GThen2M);
  const ErrorLines lines;
  std::vector<std::shared_ptr<void>> pieces;
  Bytes sum;
  for (int i = 0; i < 200; ++i) {
    pieces.push_back(*memory.Allocate(KiB(2304)));
    sum += KiB(2304);
  }
  EXPECT_LE(memory.reserved().value(), sum.value() + sum.value() / 5);
}

TEST(ConstantMemoryTest, R27_WithoutLargePagesModeTwoEndsAndSmallOnesAreNotTried) {
  const auto device = std::make_shared<FakeDevice>(device::FakeOptions{.transparent_pages = false});
  ConstantMemory memory(device, kFirst, HugePages::k1GThen2M);
  const ErrorLines lines;
  EXPECT_FALSE(memory.Allocate(MiB(1)).ok());
  EXPECT_EQ(device->outstanding(), FakeOutstanding{});
}

TEST(ConstantMemoryTest, AFailureAtAnyDeviceCallLeavesNothingBehind) {
  for (int64_t call = 1; call <= 4; ++call) {
    const auto device = std::make_shared<FakeDevice>(device::FakeOptions{.pages_1g = 1});
    device->Fail({.first = call});
    ConstantMemory memory(device, kFirst, HugePages::kOnly1G);
    const ErrorLines lines;
    EXPECT_FALSE(memory.Allocate(MiB(1)).ok()) << call;
    EXPECT_EQ(device->outstanding(), FakeOutstanding{}) << call;
    EXPECT_TRUE(memory.Allocate(MiB(1)).ok()) << call;
  }
}

TEST(ConstantMemoryTest, R25_WithoutGigabytePagesAModelEndsWithTheReasonAndOthersGoOn) {
  const device::PoolLock lock(GiB(1));
  if (device::PoolHasFreePages(device::PagePolicy::kHuge1G)) {
    GTEST_SKIP() << "the pool of 1 GiB pages has free ones here";
  }
  const auto session = MakeSession(WithPages(HugePages::kOnly1G));
  const ErrorLines lines;
  const GraphId id = MustAdd(*session, AddOne({4}));
  for (int attempt = 0; attempt < 2; ++attempt) {
    const auto run = session->RunValues(id, Values({Random({4}, 1)}));
    ASSERT_FALSE(run.ok());
    EXPECT_NE(run.error().Text().find(device::NameOfGigabytePool()), std::string::npos)
        << run.error().Text();
  }
  EXPECT_GE(lines.count(), 1);
  graph::GraphBuilder builder;
  builder.Output(builder.Node("Relu", {builder.Input("x", compile::FloatTensor({4}))}));
  const GraphId without_constants = MustAdd(*session, builder.Build());
  EXPECT_EQ(MustRun(*session, without_constants, {Random({4}, 1)}).size(), 1U);
}

TEST(ConstantMemoryTest, R23_R26_ConstantsPackedAndPlainLieInLargePagesAndGiveTheSameResults) {
  const device::PoolLock lock(GiB(1));
  if (device::PoolHasFreePages(device::PagePolicy::kHuge1G)) {
    GTEST_SKIP() << "the pool of 1 GiB pages has free ones here";
  }
  const auto plain = MakeSession();
  const auto large = MakeSession(WithPages(HugePages::k1GThen2M));
  const ErrorLines lines;
  for (const auto& [graph, x] :
       {std::pair(ConvolutionalNetwork(), Random({1, 3, 20, 20}, 1)),
        std::pair(TransformerLayer(1, graph::Dim::Symbol("rows")), Random({1, 5, 32}, 2))}) {
    const GraphId expected = MustAdd(*plain, graph);
    const GraphId id = MustAdd(*large, graph);
    auto given = large->RunValues(id, Values({x}));
    if (!given.ok()) GTEST_SKIP() << "no 2 MiB pages here: " << given.error().Text();
    EXPECT_EQ(ElementsOf((*given)[0].tensor), ElementsOf(MustRun(*plain, expected, {x})[0]));
    EXPECT_EQ(large->Memory(id)->weights, plain->Memory(expected)->weights);
  }
  EXPECT_EQ(lines.count(), 1);
}

TEST(ConstantMemoryTest, R28_ADeviceWithoutVirtualMemoryAnswersWithTheReason) {
  const auto device =
      std::make_shared<device::CpuDevice>(device::CpuOptions{.reserves_addresses = false});
  const auto session = MakeSession(WithPages(HugePages::k1GThen2M, device));
  const ErrorLines lines;
  const GraphId id = MustAdd(*session, AddOne({4}));
  const auto run = session->RunValues(id, Values({Random({4}, 1)}));
  ASSERT_FALSE(run.ok());
  EXPECT_EQ(run.error().kind, ErrorKind::kUnsupported);
  EXPECT_NE(run.error().why.find("virtual memory"), std::string::npos);
}

}  // namespace constant_memory_test
}  // namespace plimsoll::engine
