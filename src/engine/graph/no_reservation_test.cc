#include <gtest/gtest.h>

#include "base/error_lines_for_tests.h"
#include "engine/random/column_sums_for_tests.h"
#include "engine/variables/training_for_tests.h"
#include "plimsoll/device/cpu_device.h"
#include "plimsoll/device/watched_device.h"

// Sessions on a device that has no virtual memory: it is asked for addresses once, and plain memory
// serves from then on.
namespace plimsoll::engine {
namespace no_reservation_test {

using config::StaticMemoryPolicy;
using device::DeviceCall;

constexpr int64_t kColumns = 256;

std::shared_ptr<device::WatchedDevice> WithoutVirtualMemory() {
  return std::make_shared<device::WatchedDevice>(std::make_shared<device::CpuDevice>(
      device::CpuOptions{.capacity = MiB(256), .reserves_addresses = false}));
}

int64_t Reservations(const device::WatchedDevice& device) {
  return device.calls()[static_cast<size_t>(DeviceCall::kReserveAddress)];
}

// Six variables in three graphs, a static graph and a dynamic one that meets several sizes.
void UseEverything(Session& session) {
  for (const std::string suffix : {"_a", "_b", "_c"}) {
    graph::Graph step = MomentumStep(1000);
    for (const size_t input : {0, 1}) step[step.root().inputs[input]].name += suffix;
    const auto added =
        session.Add(std::move(step), {{"w" + suffix, "next_w", ""}, {"m" + suffix, "next_m", ""}});
    ASSERT_TRUE(added.ok()) << added.error().Text();
    MomentumModel model{std::vector<float>(1000, 1), std::vector<float>(1000, 0)};
    MustSet(session, "w" + suffix, Floats({1000}, model.w));
    MustSet(session, "m" + suffix, Floats({1000}, model.m));
    const std::vector<float> x(1000, 0.5F);
    for (int run = 0; run < 3; ++run) {
      model.Step(x);
      MustRun(session, *added, {Floats({1000}, x)});
    }
    EXPECT_EQ(VariableOf(session, "w" + suffix), model.w);
    EXPECT_EQ(VariableOf(session, "m" + suffix), model.m);
  }
  const GraphId fixed = MustAdd(session, ColumnSums(40, kColumns));
  const GraphId dynamic = MustAdd(session, ColumnSums(graph::Dim::Symbol("rows"), kColumns));
  for (const int64_t rows : {40, 900, 7, 1200}) {
    const auto id = rows == 40 ? fixed : dynamic;
    for (const float sum : ElementsOf(MustRun(session, id, {ZeroRows(rows, kColumns)})[0])) {
      ASSERT_EQ(sum, static_cast<float>(rows));
    }
  }
}

TEST(NoReservationTest, R80_R81_ADeviceWithoutVirtualMemoryIsAskedForAddressesOnce) {
  for (const auto policy :
       {StaticMemoryPolicy::kByGraph, StaticMemoryPolicy::kSharedStatic,
        StaticMemoryPolicy::kExpandableDynamic, StaticMemoryPolicy::kSharedAndExpandable}) {
    const ErrorLines errors;
    const auto device = WithoutVirtualMemory();
    SessionOptions options = Training();
    options.device = device;
    options.config.memory_config.static_memory_policy = policy;
    for (int session = 0; session < 2; ++session) {
      UseEverything(*MakeSession(options));
      EXPECT_EQ(Reservations(*device), 1)
          << "policy " << static_cast<int>(policy) << ", session " << session;
    }
    EXPECT_TRUE(errors.lines().empty()) << errors.lines()[0];
    EXPECT_EQ(device->memory().Info({0})->free, MiB(256)) << "everything was given back";
  }
}

}  // namespace no_reservation_test
}  // namespace plimsoll::engine
