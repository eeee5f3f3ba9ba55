#include <gtest/gtest.h>

#include <algorithm>

#include "engine/random/column_sums_for_tests.h"
#include "engine/streams/logged_device_for_tests.h"
#include "engine/variables/training_for_tests.h"
#include "plimsoll/device/cpu_device.h"
#include "plimsoll/device/reservation.h"
#include "plimsoll/memory/caching_mem_allocator.h"

// What a session asks of its device, by the log of the calls: which device, and in which order.
namespace plimsoll::engine {
namespace seed_rules_device_test {

using config::StaticMemoryPolicy;
using device::DeviceCall;
using device::DeviceId;
using graph::Dim;
using graph::Graph;

constexpr int64_t kColumns = 1024;
constexpr StaticMemoryPolicy kPolicies[] = {
    StaticMemoryPolicy::kByGraph, StaticMemoryPolicy::kSharedStatic,
    StaticMemoryPolicy::kExpandableDynamic, StaticMemoryPolicy::kSharedAndExpandable};

// A session's device with its log.
struct Logged {
  explicit Logged(const device::CpuOptions& options)
      : under(std::make_shared<device::CpuDevice>(options)),
        device(std::make_shared<LoggedDevice>(under, log)) {}

  std::shared_ptr<CallLog> log = std::make_shared<CallLog>();
  std::shared_ptr<device::Device> under;
  std::shared_ptr<device::Device> device;
};

SessionOptions On(const std::shared_ptr<device::Device>& device, StaticMemoryPolicy policy) {
  SessionOptions options = Training();
  options.device = device;
  options.config.memory_config.static_memory_policy = policy;
  return options;
}

void ExpectRight(Session& session, GraphId id, int64_t rows) {
  const auto outputs = MustRun(session, id, {ZeroRows(rows, kColumns)});
  ASSERT_EQ(outputs.size(), 1U);
  for (const float sum : ElementsOf(outputs[0])) ASSERT_EQ(sum, static_cast<float>(rows));
}

// A graph of fixed shape, one that grows, and a training step.
void Live(Session& session) {
  ExpectRight(session, MustAdd(session, ColumnSums(200, kColumns)), 200);
  const GraphId dynamic = MustAdd(session, ColumnSums(Dim::Symbol("rows"), kColumns));
  for (const int64_t rows : {100, 900, 300}) ExpectRight(session, dynamic, rows);
  MustRun(session, MustAdd(session, MomentumStep()), {Floats({4}, {1, 2, 3, 4})});
}

bool Releases(const LoggedCall& logged) {
  return logged.call == DeviceCall::kFreePlain || logged.call == DeviceCall::kUnmap ||
         logged.call == DeviceCall::kDestroyChunk;
}

bool Synchronises(const LoggedCall& logged) {
  return logged.call == DeviceCall::kSynchronizeDevice ||
         logged.call == DeviceCall::kSynchronizeStream;
}

TEST(SeedRulesDeviceTest, R75_EveryCallNamesTheDeviceThatWasCurrentWhenTheSessionBegan) {
  for (const auto policy : kPolicies) {
    Logged logged({.devices = 3});
    ASSERT_TRUE(logged.device->SetCurrent({1}).ok());
    {
      const auto session = MakeSession(On(logged.device, policy));
      ASSERT_TRUE(logged.device->SetCurrent({2}).ok());
      Live(*session);
    }
    EXPECT_GT(logged.log->calls.size(), 10U);
    for (const LoggedCall& call : logged.log->calls) {
      ASSERT_TRUE(call.call.has_value());
      EXPECT_EQ(call.device.ordinal, 1) << device::DeviceCallName(*call.call);
    }
  }
}

TEST(SeedRulesDeviceTest, R76_MemoryOfASessionLiesOnItsDeviceWhileAnotherIsCurrent) {
  for (const auto policy : kPolicies) {
    Logged logged({.devices = 2, .capacity = MiB(64)});
    SessionOptions options = On(logged.device, policy);
    options.config.session_device_id = 1;
    ASSERT_TRUE(logged.device->SetCurrent({0}).ok());
    const auto session = MakeSession(options);
    Live(*session);
    const Bytes held =
        session->Memory().feature_maps_reserved + session->Memory().variables_reserved;
    EXPECT_GT(held, Bytes(0));
    EXPECT_EQ(logged.under->memory().Info({0})->free, MiB(64));
    EXPECT_LE(logged.under->memory().Info({1})->free, MiB(64) - held);
    for (const LoggedCall& call : logged.log->calls) EXPECT_EQ(call.device.ordinal, 1);
  }
}

TEST(SeedRulesDeviceTest, R77_ASessionSynchronisesThenReleasesThenLetsGoOfTheDevice) {
  for (const bool virtual_memory : {true, false}) {
    for (const auto policy : kPolicies) {
      Logged logged({.reserves_addresses = virtual_memory});
      auto session = MakeSession(On(logged.device, policy));
      Live(*session);
      logged.device.reset();
      std::vector<LoggedCall>& calls = logged.log->calls;
      const auto at_end = static_cast<std::ptrdiff_t>(calls.size());
      session.reset();
      const auto end = calls.begin() + at_end;
      ASSERT_FALSE(calls.back().call.has_value()) << "the device goes last";
      const auto released = std::find_if(end, calls.end(), Releases);
      ASSERT_NE(released, calls.end());
      EXPECT_LT(std::find_if(end, calls.end(), Synchronises), released)
          << "policy " << static_cast<int>(policy);
      EXPECT_TRUE(std::all_of(end, calls.end(), [](const LoggedCall& call) { return call.ok; }));
      EXPECT_EQ(logged.log->Count(DeviceCall::kFreePlain),
                logged.log->Count(DeviceCall::kAllocatePlain));
      EXPECT_EQ(logged.log->Count(DeviceCall::kDestroyChunk),
                logged.log->Count(DeviceCall::kCreateChunk));
      EXPECT_EQ(std::count_if(calls.begin(), calls.end(),
                              [](const LoggedCall& call) { return !call.call.has_value(); }),
                1);
    }
  }
}

TEST(SeedRulesDeviceTest, R78_OnRefusalASessionSynchronisesReleasesWhatIsCachedAndTriesAgain) {
  Logged logged({.capacity = MiB(16), .reserves_addresses = false});
  SessionOptions options;
  options.device = logged.device;
  options.allocator = std::make_shared<memory::CachingMemAllocator>(
      std::make_shared<memory::PhysicalMemoryAllocator>(logged.device, DeviceId{0}));
  const auto session = MakeSession(options);
  const GraphId dynamic = MustAdd(*session, ColumnSums(Dim::Symbol("rows"), kColumns));
  ExpectRight(*session, dynamic, 1000);
  const size_t before = logged.log->calls.size();
  ExpectRight(*session, dynamic, 1500);
  std::vector<LoggedCall> calls(logged.log->calls.begin() + static_cast<int64_t>(before),
                                logged.log->calls.end());
  ASSERT_EQ(calls.size(), 4U);
  EXPECT_EQ(calls[0].call, DeviceCall::kAllocatePlain);
  EXPECT_FALSE(calls[0].ok);
  EXPECT_EQ(calls[1].call, DeviceCall::kSynchronizeDevice);
  EXPECT_EQ(calls[2].call, DeviceCall::kFreePlain);
  EXPECT_EQ(calls[3].call, DeviceCall::kAllocatePlain);
  EXPECT_TRUE(calls[3].ok);
}

TEST(SeedRulesDeviceTest, R79_DynamicGraphsReserveAddressesOnceAndMemoryFollowsOnDemand) {
  for (const auto policy :
       {StaticMemoryPolicy::kExpandableDynamic, StaticMemoryPolicy::kSharedAndExpandable}) {
    Logged logged({.granularity = KiB(4)});
    const auto session = MakeSession(On(logged.device, policy));
    const GraphId dynamic = MustAdd(*session, ColumnSums(Dim::Symbol("rows"), kColumns));
    ExpectRight(*session, dynamic, 100);
    const auto& calls = logged.log->calls;
    const auto reserves = [](const LoggedCall& call) {
      return call.call == DeviceCall::kReserveAddress && call.size >= device::DefaultReservation();
    };
    const auto reserved = std::find_if(calls.begin(), calls.end(), reserves);
    const auto created = std::find_if(calls.begin(), calls.end(), [](const LoggedCall& call) {
      return call.call == DeviceCall::kCreateChunk;
    });
    ASSERT_NE(reserved, calls.end());
    EXPECT_LT(reserved, created) << "addresses come first";
    const Bytes small = session->Memory().feature_maps_reserved;
    EXPECT_LT(small, MiB(2)) << "what the run needs, not what is reserved";

    const int64_t ranges = logged.log->Count(DeviceCall::kReserveAddress);
    const int64_t chunks = logged.log->Count(DeviceCall::kCreateChunk);
    ExpectRight(*session, dynamic, 900);
    EXPECT_EQ(logged.log->Count(DeviceCall::kReserveAddress), ranges) << "the range is there";
    EXPECT_GT(logged.log->Count(DeviceCall::kCreateChunk), chunks);
    EXPECT_GT(session->Memory().feature_maps_reserved, small);
    const size_t steady = calls.size();
    for (const int64_t rows : {100, 900, 500}) ExpectRight(*session, dynamic, rows);
    EXPECT_EQ(
        logged.log->Count(DeviceCall::kCreateChunk),
        std::count_if(calls.begin(), calls.begin() + static_cast<int64_t>(steady),
                      [](const LoggedCall& call) { return call.call == DeviceCall::kCreateChunk; }))
        << "sizes that were there need nothing new";
  }
}

}  // namespace seed_rules_device_test
}  // namespace plimsoll::engine
