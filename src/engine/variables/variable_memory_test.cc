#include "engine/variables/variable_memory.h"

#include <gtest/gtest.h>

#include "base/error_lines_for_tests.h"
#include "device/cpu/huge_page_pools_for_tests.h"
#include "engine/variables/training_for_tests.h"
#include "plimsoll/device/cpu_device.h"
#include "plimsoll/device/fake_device.h"

namespace plimsoll::engine {
namespace variable_memory_test {

using config::HugePages;
using config::VariablePlacement;
using device::FakeDevice;
using device::FakeOutstanding;

std::shared_ptr<FakeDevice> FakeWithPools(int64_t pages_1g, int64_t pages_2m, bool transparent) {
  device::FakeOptions options;
  options.pages_1g = pages_1g;
  options.pages_2m = pages_2m;
  options.transparent_pages = transparent;
  return std::make_shared<FakeDevice>(options);
}

SessionOptions TrainingOn(std::shared_ptr<device::Device> device, HugePages pages) {
  SessionOptions options = Training();
  options.device = std::move(device);
  options.config.memory_config.variable_use_1g_huge_page = pages;
  return options;
}

TEST(VariableMemoryTest, R24_ModeZeroTakesThePagesOfTheSystem) {
  const ErrorLines errors;
  const auto device = FakeWithPools(4, 4, true);
  const auto session = MakeSession(TrainingOn(device, HugePages::kSystem));
  MustAdd(*session, MomentumStep());
  EXPECT_EQ(session->variables().reserved(), MiB(2));
  EXPECT_TRUE(errors.lines().empty());
}

TEST(VariableMemoryTest, R25_GraphsOfASessionShareOneGigabytePage) {
  const auto device = FakeWithPools(1, 0, false);
  {
    const auto session = MakeSession(TrainingOn(device, HugePages::kOnly1G));
    MustAdd(*session, MomentumStep(1000));
    ASSERT_TRUE(session->Add(AddOne({1000}), {{"x", "", ""}}).ok());
    EXPECT_EQ(session->variables().List().size(), 3U);
    EXPECT_EQ(session->variables().reserved(), GiB(1));
  }
  EXPECT_EQ(device->outstanding(), FakeOutstanding{});
}

TEST(VariableMemoryTest, R25_WithoutGigabytePagesModeOneEndsAndLeavesNothing) {
  const ErrorLines errors;
  const auto device = FakeWithPools(0, 512, true);
  const auto session = MakeSession(TrainingOn(device, HugePages::kOnly1G));
  const auto added = session->Add(MomentumStep());
  ASSERT_FALSE(added.ok());
  EXPECT_EQ(added.error().kind, ErrorKind::kDoesNotFit);
  EXPECT_EQ(added.error().what, "no memory for 1 KiB of variables");
  ASSERT_EQ(errors.lines().size(), 1U);
  EXPECT_NE(errors.lines()[0].find("variable_use_1g_huge_page=1"), std::string::npos);
  EXPECT_TRUE(session->variables().List().empty());
  EXPECT_EQ(device->outstanding().chunks, 0);
  EXPECT_EQ(CodeOf(session->Inputs(GraphId(0)).status()), "session.graph");
}

TEST(VariableMemoryTest, R26_R27_ModeTwoGoesOnWithTwoMegabytePagesAndNoSmallerOnes) {
  struct Case {
    int64_t pages_2m;
    bool transparent;
    bool served;
  };
  for (const Case& c : {Case{1, false, true}, Case{0, true, true}, Case{0, false, false}}) {
    const ErrorLines errors;
    const auto device = FakeWithPools(0, c.pages_2m, c.transparent);
    const auto session = MakeSession(TrainingOn(device, HugePages::k1GThen2M));
    EXPECT_EQ(session->Add(MomentumStep()).ok(), c.served);
    EXPECT_EQ(errors.lines().size(), 1U);
    EXPECT_EQ(session->variables().reserved(), c.served ? MiB(2) : Bytes(0));
  }
}

TEST(VariableMemoryTest, R28_ADeviceThatHasNoSuchPagesAnswersWithTheReason) {
  device::FakeOptions options;
  options.reserves_addresses = false;
  const ErrorLines errors;
  const auto session =
      MakeSession(TrainingOn(std::make_shared<FakeDevice>(options), HugePages::kOnly1G));
  const auto added = session->Add(MomentumStep());
  ASSERT_FALSE(added.ok());
  EXPECT_EQ(added.error().kind, ErrorKind::kUnsupported);
  EXPECT_FALSE(added.error().why.empty());
  EXPECT_EQ(errors.lines().size(), 1U);
}

TEST(VariableMemoryTest, R230_R231_VariablesOnTheHostTakeNothingOfTheDevice) {
  const auto device = std::make_shared<FakeDevice>();
  SessionOptions options = TrainingOn(device, HugePages::kSystem);
  const auto on_device = MakeSession(options);
  MustAdd(*on_device, MomentumStep());
  EXPECT_EQ(device->statistics().physical, MiB(2));
  options.config.mix_compile_mode = true;
  options.config.variable_placement = VariablePlacement::kHost;
  const auto on_host = MakeSession(options);
  MustAdd(*on_host, MomentumStep());
  EXPECT_EQ(device->statistics().physical, MiB(2));
  EXPECT_EQ(device->outstanding().plain_blocks, 1);
}

TEST(VariableMemoryTest, R230_TrainingIsTheSameWithVariablesOnTheHost) {
  SessionOptions options = Training();
  options.config.mix_compile_mode = true;
  options.config.variable_placement = VariablePlacement::kHost;
  const auto session = MakeSession(options);
  const GraphId id = MustAdd(*session, MomentumStep());
  MomentumModel model{std::vector<float>(4, 0), std::vector<float>(4, 0)};
  for (uint32_t step = 0; step < 3; ++step) {
    const kernels::HostTensor x = Random({4}, step);
    model.Step(ElementsOf(x));
    MustRun(*session, id, {x});
  }
  EXPECT_EQ(VariableOf(*session, "w"), model.w);
}

TEST(VariableMemoryTest, EveryDeviceCallThatFailsLeavesTheSessionAndTheDeviceAsTheyWere) {
  for (int64_t k = 1;; ++k) {
    const auto device = std::make_shared<FakeDevice>();
    const auto session = MakeSession(TrainingOn(device, HugePages::kSystem));
    device->Fail({.first = k});
    const bool added = session->Add(MomentumStep()).ok();
    device->ClearFailures();
    if (added) {
      EXPECT_GT(k, 4) << "fewer calls than reserve, create, map and access";
      break;
    }
    EXPECT_TRUE(session->variables().List().empty()) << k;
    EXPECT_EQ(device->outstanding().chunks, 0) << k;
    EXPECT_EQ(device->outstanding().ranges, 0) << k;
    MustAdd(*session, MomentumStep());
    EXPECT_EQ(session->variables().List().size(), 2U) << k;
  }
}

// The following use the machine's own pages, and say so where it has none to give.

// What the system says of the pages of the session's first variable, after a step wrote to it.
device::MappingPages PagesAfterAStep(Session& session) {
  const GraphId id = MustAdd(session, MomentumStep(1000));
  MustRun(session, id, {Random({1000}, 1)});
  const void* const first = session.variables().List()[0].address;
  return *device::PagesAt(reinterpret_cast<device::Address>(first));
}

TEST(VariableMemoryTest, R23_R25_VariablesLieInARealGigabytePageAndFeatureMapsDoNot) {
  const device::LargerPool pool(GiB(1), 1);
  if (!pool.enlarged()) GTEST_SKIP() << pool.WhyNot();
  const ErrorLines errors;
  const auto device = std::make_shared<device::CpuDevice>();
  const auto session = MakeSession(TrainingOn(device, HugePages::kOnly1G));
  EXPECT_EQ(PagesAfterAStep(*session).page, GiB(1));
  EXPECT_EQ(session->variables().reserved(), GiB(1));
  EXPECT_LT(session->Memory().feature_maps_reserved, GiB(1));
  EXPECT_TRUE(errors.lines().empty());
}

TEST(VariableMemoryTest, R25_WithoutAPoolTheErrorNamesWhatToSet) {
  const device::PoolLock lock(GiB(1));
  if (device::PoolHasFreePages(device::PagePolicy::kHuge1G)) {
    GTEST_SKIP() << "the pool of 1 GiB pages has free ones here";
  }
  const ErrorLines errors;
  const auto session =
      MakeSession(TrainingOn(std::make_shared<device::CpuDevice>(), HugePages::kOnly1G));
  const auto added = session->Add(MomentumStep());
  ASSERT_FALSE(added.ok());
  EXPECT_NE(added.error().Text().find(device::NameOfGigabytePool()), std::string::npos)
      << added.error().Text();
  EXPECT_EQ(errors.lines().size(), 1U);
}

TEST(VariableMemoryTest, R26_R27_WithoutAPoolModeTwoTakesTransparentPages) {
  const device::PoolLock giant(GiB(1));
  const device::PoolLock huge(MiB(2));
  for (const auto pages : {device::PagePolicy::kHuge1G, device::PagePolicy::kHuge2M}) {
    if (device::PoolHasFreePages(pages)) GTEST_SKIP() << "a pool has free pages here";
  }
  const ErrorLines errors;
  const auto session =
      MakeSession(TrainingOn(std::make_shared<device::CpuDevice>(), HugePages::k1GThen2M));
  const auto added = session->Add(MomentumStep(1000));
  if (!added.ok()) GTEST_SKIP() << "no transparent huge pages here: " << added.error().Text();
  EXPECT_EQ(PagesAfterAStep(*session).huge, MiB(2));
  EXPECT_EQ(errors.lines().size(), 1U);
}

}  // namespace variable_memory_test
}  // namespace plimsoll::engine
