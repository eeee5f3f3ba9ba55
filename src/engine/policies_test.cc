#include <gtest/gtest.h>

#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <future>
#include <latch>
#include <mutex>
#include <thread>
#include <utility>

#include "engine/random/column_sums_for_tests.h"
#include "plimsoll/base/text.h"
#include "plimsoll/device/cpu_device.h"
#include "plimsoll/memory/caching_mem_allocator.h"

// How the graphs of a session share memory under each static_memory_policy.
namespace plimsoll::engine {
namespace policies_test {

using config::StaticMemoryPolicy;
using graph::Dim;
using graph::Graph;
using kernels::HostTensor;

constexpr int64_t kColumns = 1024;
constexpr StaticMemoryPolicy kPolicies[] = {
    StaticMemoryPolicy::kByGraph, StaticMemoryPolicy::kSharedStatic,
    StaticMemoryPolicy::kExpandableDynamic, StaticMemoryPolicy::kSharedAndExpandable};

Graph Sums(const Dim& rows) { return ColumnSums(rows, kColumns); }

HostTensor Zeros(int64_t rows) { return ZeroRows(rows, kColumns); }

SessionOptions With(StaticMemoryPolicy policy) {
  SessionOptions options;
  options.config.memory_config.static_memory_policy = policy;
  return options;
}

void ExpectRight(Session& session, GraphId id, int64_t rows) {
  const auto outputs = MustRun(session, id, {Zeros(rows)});
  ASSERT_EQ(outputs.size(), 1U);
  for (const float sum : ElementsOf(outputs[0])) ASSERT_EQ(sum, static_cast<float>(rows));
}

Bytes SizeFor(Session& session, GraphId id, int64_t rows) {
  const HostTensor x = Zeros(rows);
  return *session.FeatureMapSize(id, std::vector<TensorView>{View(x)});
}

TEST(PoliciesTest, R9_EachGraphTakesItsOwnBytesWhenItRunsAndGivesThemBackWhenUnloaded) {
  const auto session = MakeSession(With(StaticMemoryPolicy::kByGraph));
  const GraphId small = MustAdd(*session, Sums(100));
  const GraphId large = MustAdd(*session, Sums(900));
  const Bytes sizes[] = {SizeFor(*session, small, 100), SizeFor(*session, large, 900)};
  EXPECT_GT(sizes[1], sizes[0]);
  EXPECT_EQ(session->Memory().feature_maps_reserved, Bytes(0)) << "asking takes nothing";
  ExpectRight(*session, small, 100);
  EXPECT_EQ(session->Memory().feature_maps_reserved, sizes[0]);
  ExpectRight(*session, large, 900);
  EXPECT_EQ(session->Memory().feature_maps_reserved, sizes[0] + sizes[1]);
  ASSERT_TRUE(session->Unload(large).ok());
  EXPECT_EQ(session->Memory().feature_maps_reserved, sizes[0]);
}

TEST(PoliciesTest, R10_R11_R12_StaticGraphsShareOneAreaThatGrowsAndNeverShrinks) {
  const auto session = MakeSession(With(StaticMemoryPolicy::kSharedStatic));
  Bytes largest;
  for (const int64_t rows : {300, 900, 100, 1500, 700}) {
    const GraphId id = MustAdd(*session, Sums(rows));
    largest = std::max(largest, SizeFor(*session, id, rows));
    ExpectRight(*session, id, rows);
    EXPECT_EQ(session->Memory().feature_maps_reserved, largest.RoundUp(kSessionGranularity.value()))
        << rows << " rows";
  }
  EXPECT_EQ(session->Memory().peak_feature_maps_reserved, session->Memory().feature_maps_reserved);
  EXPECT_EQ(*session->Trim(), largest.RoundUp(kSessionGranularity.value()));
  EXPECT_EQ(session->Memory().feature_maps_reserved, Bytes(0));
}

TEST(PoliciesTest, R11_WithoutVirtualMemoryTheOldAreaGoesBeforeTheNewOneComes) {
  SessionOptions options = With(StaticMemoryPolicy::kSharedStatic);
  options.device = std::make_shared<device::CpuDevice>(
      device::CpuOptions{.capacity = MiB(16), .reserves_addresses = false});
  const auto session = MakeSession(options);
  for (const int64_t rows : {300, 900, 1500, 300}) {
    const GraphId id = MustAdd(*session, Sums(rows));
    ExpectRight(*session, id, rows);
  }
  EXPECT_LE(session->Memory().peak_feature_maps_reserved, MiB(14));
}

TEST(PoliciesTest, R13_UnderPolicy2DynamicGraphsAreAsUnder0) {
  Bytes reserved[2];
  int number = 0;
  for (const auto policy : {StaticMemoryPolicy::kByGraph, StaticMemoryPolicy::kSharedStatic}) {
    const auto session = MakeSession(With(policy));
    const GraphId id = MustAdd(*session, Sums(Dim::Symbol("rows")));
    for (const int64_t rows : {100, 900, 300}) ExpectRight(*session, id, rows);
    reserved[number++] = session->Memory().feature_maps_reserved;
    EXPECT_EQ(reserved[number - 1], SizeFor(*session, id, 900)) << "the bytes of the largest";
  }
  EXPECT_EQ(reserved[0], reserved[1]);
}

TEST(PoliciesTest, R14_R19_DynamicGraphsGrowOneRangeWithoutFragments) {
  const auto session = MakeSession(With(StaticMemoryPolicy::kExpandableDynamic));
  const GraphId id = MustAdd(*session, Sums(Dim::Symbol("rows")));
  const GraphId other = MustAdd(*session, Sums(Dim::Symbol("rows")));
  const GraphId fixed = MustAdd(*session, Sums(400));
  Bytes largest;
  for (const int64_t rows : {100, 900, 300, 1600, 500}) {
    ExpectRight(*session, id, rows);
    ExpectRight(*session, other, rows + 7);
    largest = std::max(largest, SizeFor(*session, other, rows + 7));
  }
  EXPECT_EQ(session->Memory().feature_maps_reserved, largest.RoundUp(kSessionGranularity.value()));
  ExpectRight(*session, fixed, 400);
  EXPECT_EQ(session->Memory().feature_maps_reserved,
            largest.RoundUp(kSessionGranularity.value()) + SizeFor(*session, fixed, 400))
      << "static graphs as under 0";
}

TEST(PoliciesTest, R15_Policy4LetsStaticAndDynamicGraphsDrawOnTheSameChunks) {
  const auto session = MakeSession(With(StaticMemoryPolicy::kSharedAndExpandable));
  const GraphId dynamic = MustAdd(*session, Sums(Dim::Symbol("rows")));
  Bytes largest;
  for (const int64_t rows : {300, 1200, 600}) {
    const GraphId id = MustAdd(*session, Sums(rows));
    ExpectRight(*session, id, rows);
    ExpectRight(*session, dynamic, rows + 100);
    largest = std::max(largest, SizeFor(*session, dynamic, rows + 100));
  }
  EXPECT_EQ(session->Memory().peak_feature_maps_reserved,
            largest.RoundUp(kSessionGranularity.value()));
}

TEST(PoliciesTest, PredictedAndActualReservedAgreeToTheByte) {
  for (const auto policy : kPolicies) {
    const auto session = MakeSession(With(policy));
    SessionOptions alone = With(policy);
    alone.load.only_plan = true;
    const auto planned = MakeSession(alone);
    const auto expect_same = [&] {
      const DeviceBytes taken = session->Memory().device;
      const DeviceBytes told = planned->Memory().device;
      EXPECT_EQ(taken.feature_maps, told.feature_maps) << "policy " << static_cast<int>(policy);
      EXPECT_EQ(taken.total(), told.total()) << "policy " << static_cast<int>(policy);
      EXPECT_EQ(session->Memory().feature_maps_reserved, planned->Memory().feature_maps_reserved);
    };
    const auto run = [&](const Dim& size, int64_t rows) {
      ExpectRight(*session, MustAdd(*session, Sums(size)), rows);
      ASSERT_TRUE(planned->Reserve(MustAdd(*planned, Sums(size)), Views({Zeros(rows)})).ok());
    };
    for (const int64_t rows : {300, 900, 1, 1500, 64}) run(rows, rows);
    expect_same();
    for (const int64_t rows : {700, 1100, 200}) run(Dim::Symbol("rows"), rows);
    expect_same();
    EXPECT_GT(planned->Memory().device.total(), Bytes(0));
  }
}

// Lets nobody have memory before it is told to.
class WaitingAllocator final : public memory::Allocator {
 public:
  explicit WaitingAllocator(std::shared_ptr<Allocator> under) : under_(std::move(under)) {}
  void Open() { open_.set_value(); }
  void AwaitRequest() { asked_.get_future().wait(); }

  Result<memory::Block> Allocate(const memory::Request& request) override {
    if (!std::exchange(waited_, true)) {
      asked_.set_value();
      open_.get_future().wait();
    }
    return under_->Allocate(request);
  }
  Status Free(const memory::Block& block) override { return under_->Free(block); }
  Status RecordStream(const memory::Block& block, memory::StreamId stream) override {
    return under_->RecordStream(block, stream);
  }
  Result<Bytes> Trim() override { return under_->Trim(); }
  memory::MemoryStatistics statistics() const override { return under_->statistics(); }

 private:
  std::shared_ptr<Allocator> under_;
  std::promise<void> open_;
  std::promise<void> asked_;
  bool waited_ = false;
};

std::shared_ptr<memory::Allocator> PlainAllocator() {
  return std::make_shared<memory::CachingMemAllocator>(
      std::make_shared<memory::PhysicalMemoryAllocator>(std::make_shared<device::CpuDevice>(),
                                                        device::DeviceId{0}));
}

TEST(PoliciesTest, R16_R33_UnderPolicies2And4TheSecondConcurrentRunIsRefusedAndTheSessionGoesOn) {
  for (const auto policy :
       {StaticMemoryPolicy::kSharedStatic, StaticMemoryPolicy::kSharedAndExpandable}) {
    SessionOptions options = With(policy);
    options.config.graph_max_parallel_model_num = 2;  // so that it is the policy that refuses
    const auto allocator = std::make_shared<WaitingAllocator>(PlainAllocator());
    options.allocator = allocator;
    const auto session = MakeSession(options);
    const GraphId first = MustAdd(*session, Sums(300));
    const GraphId second = MustAdd(*session, Sums(10));
    std::thread running([&] { ExpectRight(*session, first, 300); });
    allocator->AwaitRequest();
    const Status refused = session->RunValues(second, Values({Zeros(10)})).status();
    allocator->Open();
    running.join();
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().Text(),
              StrCat("the run was refused: graph 1 '': under static_memory_policy ",
                     static_cast<int>(policy),
                     " all graphs run in one memory, and graph 0 '' is running in it; run one "
                     "after the other, or set static_memory_policy to 0 or 3 [session.busy]"));
    ExpectRight(*session, second, 10);
    ExpectRight(*session, first, 300);
  }
}

// How much longer than its shortest a stress goes on: scripts/check gives it time.
std::chrono::seconds StressTime() {
  const char* const seconds = std::getenv("PLIMSOLL_STRESS_SECONDS");
  return std::chrono::seconds(seconds == nullptr ? 0 : std::atoi(seconds));
}

// Counts the runs that are taking memory, and keeps them until as many are there as may be.
class MeetingAllocator final : public memory::Allocator {
 public:
  MeetingAllocator(std::shared_ptr<Allocator> under, int expected)
      : under_(std::move(under)), expected_(expected) {}
  int most() const { return most_; }

  Result<memory::Block> Allocate(const memory::Request& request) override {
    std::unique_lock lock(mutex_);
    most_ = std::max(most_, ++inside_);
    if (most_ >= expected_) met_.notify_all();
    const auto met = [&] { return gave_up_ || most_ >= expected_; };
    if (!met_.wait_for(lock, std::chrono::seconds(20), met)) gave_up_ = true;
    // Time for one run too many to come in.
    met_.wait_for(lock, std::chrono::milliseconds(50), [&] { return most_ > expected_; });
    auto block = under_->Allocate(request);
    --inside_;
    return block;
  }
  Status Free(const memory::Block& block) override { return under_->Free(block); }
  Status RecordStream(const memory::Block& block, memory::StreamId stream) override {
    return under_->RecordStream(block, stream);
  }
  Result<Bytes> Trim() override { return under_->Trim(); }
  memory::MemoryStatistics statistics() const override { return under_->statistics(); }

 private:
  std::shared_ptr<Allocator> under_;
  const int expected_;
  std::mutex mutex_;
  std::condition_variable met_;
  int inside_ = 0;
  int most_ = 0;
  bool gave_up_ = false;
};

TEST(PoliciesTest, R234_AsManyGraphsAsTheOptionSaysAreInsideARunAtOnceAndNeverMore) {
  for (const int limit : {1, 2, 3}) {
    SessionOptions options = With(StaticMemoryPolicy::kByGraph);
    options.config.graph_max_parallel_model_num = limit;
    const auto allocator = std::make_shared<MeetingAllocator>(PlainAllocator(), limit);
    options.allocator = allocator;
    const auto session = MakeSession(options);
    std::vector<GraphId> ids;
    for (const int64_t rows : {20, 40, 60, 80}) ids.push_back(MustAdd(*session, Sums(rows)));
    std::vector<std::thread> threads;
    for (size_t i = 0; i < ids.size(); ++i) {
      threads.emplace_back([&, i] { ExpectRight(*session, ids[i], 20 * (1 + int64_t(i))); });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(allocator->most(), limit);
  }
}

TEST(PoliciesTest, R70_R234_GraphsRunSideBySideAndRunsOfOneWait) {
  for (const auto policy : {StaticMemoryPolicy::kByGraph, StaticMemoryPolicy::kExpandableDynamic}) {
    SessionOptions options = With(policy);
    options.config.graph_max_parallel_model_num = 3;
    const auto session = MakeSession(options);
    std::vector<GraphId> ids;
    for (const int64_t rows : {20, 40}) ids.push_back(MustAdd(*session, Sums(rows)));
    for (int i = 0; i < 2; ++i) {
      ids.push_back(MustAdd(*session, Sums(Dim::Symbol("rows"))));
    }
    const int64_t rows_of[] = {20, 40, 33, 57};
    std::vector<std::thread> threads;
    for (size_t t = 0; t < 8; ++t) {
      threads.emplace_back([&, t] {
        const auto end = std::chrono::steady_clock::now() + StressTime();
        for (int run = 0; run < 20 || std::chrono::steady_clock::now() < end; ++run) {
          ExpectRight(*session, ids[t % 4], rows_of[t % 4]);
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
  }
}

TEST(PoliciesTest, FeatureMapsCanLieInMemoryOfTheCallers) {
  SessionOptions options;
  options.load.plan.lifetimes.feature_base_refreshable = true;
  const auto session = MakeSession(options);
  const GraphId id = MustAdd(*session, Sums(100));
  const Bytes size = SizeFor(*session, id, 100);
  const auto memory = kernels::AllocateBytes(size + Bytes(1024));
  auto* const begin = static_cast<std::byte*>(memory.get());
  std::byte* const aligned = begin + (512 - reinterpret_cast<uintptr_t>(begin) % 512) % 512;

  EXPECT_EQ(CodeOf(session->SetFeatureMapBase(id, nullptr, size)), "run.base");
  EXPECT_EQ(CodeOf(session->SetFeatureMapBase(id, aligned + 64, size)), "run.base");
  ASSERT_EQ(CodeOf(session->SetFeatureMapBase(id, aligned, size - Bytes(512))), "");
  EXPECT_EQ(CodeOf(session->RunValues(id, Values({Zeros(100)})).status()), "run.base_size");
  ASSERT_EQ(CodeOf(session->SetFeatureMapBase(id, aligned, size)), "");
  std::fill_n(aligned, size.value(), std::byte{0x55});
  ExpectRight(*session, id, 100);
  EXPECT_TRUE(std::any_of(aligned, aligned + size.value(),
                          [](std::byte byte) { return byte != std::byte{0x55}; }));
  EXPECT_EQ(session->Memory().feature_maps_reserved, Bytes(0));
  const auto elsewhere = kernels::AllocateBytes(size + Bytes(1024));
  auto* const next = static_cast<std::byte*>(elsewhere.get());
  EXPECT_EQ(CodeOf(session->SetFeatureMapBase(
                id, next + (512 - reinterpret_cast<uintptr_t>(next) % 512) % 512, size)),
            "");
  ExpectRight(*session, id, 100);
}

TEST(PoliciesTest, AFixedBaseStaysOnceTheGraphHasRun) {
  const auto session = MakeSession();
  const GraphId id = MustAdd(*session, Sums(10));
  ExpectRight(*session, id, 10);
  const auto memory = kernels::AllocateBytes(MiB(1));
  EXPECT_EQ(CodeOf(session->SetFeatureMapBase(id, static_cast<std::byte*>(memory.get()), MiB(1))),
            "run.base");
  ExpectRight(*session, id, 10);
}

TEST(PoliciesTest, AnAllocatorOfTheCallersServesEveryGraph) {
  SessionOptions options;
  const auto allocator = PlainAllocator();
  options.allocator = allocator;
  {
    const auto session = MakeSession(options);
    const GraphId fixed = MustAdd(*session, Sums(100));
    const GraphId dynamic = MustAdd(*session, Sums(Dim::Symbol("rows")));
    ExpectRight(*session, fixed, 100);
    ExpectRight(*session, dynamic, 50);
    EXPECT_EQ(allocator->statistics().allocated, SizeFor(*session, fixed, 100));
    EXPECT_EQ(session->Memory().feature_maps_reserved, allocator->statistics().reserved);
  }
  EXPECT_EQ(allocator->statistics().allocated, Bytes(0));
}

TEST(PoliciesTest, R108_SessionsOnTwoDevicesRunAtOnceAndEachTakesMemoryOfItsOwnOnly) {
  for (const auto policy : kPolicies) {
    const auto device =
        std::make_shared<device::CpuDevice>(device::CpuOptions{.devices = 2, .capacity = MiB(256)});
    const auto used = [&](int ordinal) {
      return MiB(256) - device->memory().Info(device::DeviceId{ordinal})->free;
    };
    std::unique_ptr<Session> sessions[2];
    GraphId graphs[2];
    const int64_t rows_of[] = {300, 1500};
    for (const int ordinal : {0, 1}) {
      ASSERT_TRUE(device->SetCurrent({1 - ordinal}).ok()) << "the other one";
      SessionOptions options = With(policy);
      options.device = device;
      options.config.session_device_id = ordinal;
      sessions[ordinal] = MakeSession(options);
      graphs[ordinal] = MustAdd(*sessions[ordinal], Sums(Dim::Symbol("rows")));
    }
    std::latch both(2);
    std::vector<std::thread> threads;
    for (const int ordinal : {0, 1}) {
      threads.emplace_back([&, ordinal] {
        both.arrive_and_wait();
        for (int run = 0; run < 5; ++run) {
          EXPECT_TRUE(device->SetCurrent({1 - ordinal}).ok());
          ExpectRight(*sessions[ordinal], graphs[ordinal], rows_of[ordinal]);
        }
        ExpectRight(*sessions[ordinal], MustAdd(*sessions[ordinal], Sums(50)), 50);
      });
    }
    for (std::thread& thread : threads) thread.join();
    for (const int ordinal : {0, 1}) {
      EXPECT_GE(used(ordinal), Bytes(rows_of[ordinal] * kColumns * 4));
      EXPECT_EQ(used(ordinal), sessions[ordinal]->Memory().feature_maps_reserved)
          << "device " << ordinal << ", policy " << static_cast<int>(policy);
    }
    sessions[1].reset();
    EXPECT_EQ(used(1), Bytes(0));
    EXPECT_EQ(used(0), sessions[0]->Memory().feature_maps_reserved);
  }
}

TEST(PoliciesTest, R108_R109_SessionsUseTheDeviceThatTheyName) {
  SessionOptions options;
  options.device = std::make_shared<device::CpuDevice>(device::CpuOptions{.devices = 2});
  options.config.session_device_id = 1;
  const auto second = MakeSession(options);
  options.config.session_device_id = 0;
  const auto first = MakeSession(options);
  for (const auto& session : {first.get(), second.get()}) {
    ExpectRight(*session, MustAdd(*session, Sums(10)), 10);
  }
  options.config.session_device_id = 2;
  const auto none = Session::Create(options);
  ASSERT_FALSE(none.ok());
  EXPECT_EQ(none.error().Text(),
            "no such device: session_device_id 2: cpu devices here: 2; give a number from 0 "
            "to 1 [session.device]");
}

}  // namespace policies_test
}  // namespace plimsoll::engine
