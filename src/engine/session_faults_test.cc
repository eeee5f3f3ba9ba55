#include <gtest/gtest.h>

#include "engine/random/column_sums_for_tests.h"
#include "plimsoll/base/text.h"
#include "plimsoll/device/cpu_device.h"
#include "plimsoll/device/watched_device.h"

// Every device call of a session's life fails once: while graphs are loaded, run, outgrow their
// memory, are unloaded and trimmed. The session reports it, its other graphs go on, nothing leaks.
namespace plimsoll::engine {
namespace session_faults_test {

using config::StaticMemoryPolicy;
using graph::Dim;
using graph::Graph;
using kernels::HostTensor;

constexpr int64_t kColumns = 512;
constexpr int64_t kManyCalls = 10'000;

Graph Sums(const Dim& rows) { return ColumnSums(rows, kColumns); }

HostTensor Zeros(int64_t rows) { return ZeroRows(rows, kColumns); }

bool IsRight(Session& session, GraphId id, int64_t rows, Status& status) {
  const auto outputs = session.RunValues(id, Values({Zeros(rows)}));
  status = outputs.status();
  if (!outputs.ok()) return false;
  for (const float sum : ElementsOf((*outputs)[0].tensor)) {
    if (sum != static_cast<float>(rows)) return false;
  }
  return true;
}

// Load, run, grow, unload and trim; the first thing that fails ends it.
Status Live(Session& session, GraphId dynamic) {
  Status status;
  PLIMSOLL_ASSIGN(const GraphId fixed, session.Add(Sums(700)));
  EXPECT_TRUE(IsRight(session, fixed, 700, status) || !status.ok());
  PLIMSOLL_TRY(status);
  for (const int64_t rows : {100, 2500, 300}) {
    EXPECT_TRUE(IsRight(session, dynamic, rows, status) || !status.ok());
    PLIMSOLL_TRY(status);
  }
  PLIMSOLL_TRY(session.Unload(fixed));
  return session.Trim().status();
}

class SessionFaultsTest
    : public testing::TestWithParam<std::tuple<StaticMemoryPolicy, ErrorKind, bool>> {};

TEST_P(SessionFaultsTest, EachCallFailsOnceAndTheSessionGoesOn) {
  const auto [policy, kind, virtual_memory] = GetParam();
  bool ended = false;
  int64_t reported = 0;
  for (int64_t call = 0; !ended && call < kManyCalls; ++call) {
    const auto cpu = std::make_shared<device::CpuDevice>(
        device::CpuOptions{.capacity = MiB(64), .reserves_addresses = virtual_memory});
    const auto device = std::make_shared<device::WatchedDevice>(cpu);
    {
      SessionOptions options;
      options.device = device;
      options.config.memory_config.static_memory_policy = policy;
      const auto session = MakeSession(options);
      const GraphId steady = MustAdd(*session, Sums(200));
      const GraphId dynamic = MustAdd(*session, Sums(Dim::Symbol("rows")));
      Status status;
      ASSERT_TRUE(IsRight(*session, steady, 200, status));

      const int64_t before = device->total();
      device->FailAfter(call, kind);
      const Status lived = Live(*session, dynamic);
      ended = device->total() - before <= call;
      device->FailNoMore();
      if (!lived.ok()) {
        ++reported;
        EXPECT_NE(lived.error().Text().find("told to fail"), std::string::npos)
            << lived.error().Text();
      }
      EXPECT_TRUE(IsRight(*session, steady, 200, status)) << "call " << call;
      EXPECT_TRUE(IsRight(*session, dynamic, 2600, status)) << "call " << call;
      EXPECT_TRUE(session->Trim().ok());
    }
    EXPECT_EQ(cpu->memory().Info({0})->free, MiB(64)) << "leaked after call " << call;
  }
  EXPECT_TRUE(ended);
  EXPECT_GT(reported, 0);
}

INSTANTIATE_TEST_SUITE_P(Policies, SessionFaultsTest,
                         testing::Combine(testing::Values(StaticMemoryPolicy::kByGraph,
                                                          StaticMemoryPolicy::kSharedStatic,
                                                          StaticMemoryPolicy::kExpandableDynamic,
                                                          StaticMemoryPolicy::kSharedAndExpandable),
                                          testing::Values(ErrorKind::kRunFailed,
                                                          ErrorKind::kDoesNotFit),
                                          testing::Bool()),
                         [](const auto& info) {
                           return StrCat(
                               "Policy", static_cast<int>(std::get<0>(info.param)),
                               std::get<1>(info.param) == ErrorKind::kRunFailed ? "Broken" : "Full",
                               std::get<2>(info.param) ? "Virtual" : "Plain");
                         });

}  // namespace session_faults_test
}  // namespace plimsoll::engine
