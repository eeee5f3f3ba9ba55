#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "engine/forwarding_device_for_tests.h"
#include "engine/random/configured_runs_for_tests.h"
#include "engine/random/typed_graphs_for_tests.h"
#include "engine/streams/logged_device_for_tests.h"
#include "plimsoll/device/cpu_device.h"

// A plan's addresses are worked out anew whenever one of its bases moves: the feature map's, which
// may be the caller's, or that of an area outside it.
namespace plimsoll::engine {
namespace rebinding_test {

using graph::Dim;
using kernels::HostTensor;

// Memory of the caller's at a multiple of 512 bytes, full of one byte.
class Base {
 public:
  explicit Base(Bytes size) : memory_(kernels::AllocateBytes(size + Bytes(512))), size_(size) {
    auto* const begin = static_cast<std::byte*>(memory_.get());
    at_ = begin + (512 - reinterpret_cast<uintptr_t>(begin) % 512) % 512;
    Fill();
  }
  void Fill() { std::fill_n(at_, size_.value(), std::byte{0x55}); }
  bool touched() const {
    return std::any_of(at_, at_ + size_.value(), [](std::byte b) { return b != std::byte{0x55}; });
  }
  std::byte* at() const { return at_; }
  Bytes size() const { return size_; }

 private:
  std::shared_ptr<void> memory_;
  Bytes size_;
  std::byte* at_ = nullptr;
};

// Plain blocks that were given back stay there, full of one byte, so that whoever still writes to
// them is seen.
class KeepingDevice final : public ForwardingDevice {
 public:
  explicit KeepingDevice(std::shared_ptr<Device> under) : ForwardingDevice(std::move(under)) {}
  ~KeepingDevice() override {
    for (const auto& [at, size] : freed_) EXPECT_TRUE(under_->memory().FreePlain({0}, at).ok());
  }
  size_t freed() const { return freed_.size(); }
  bool touched() const {
    return std::any_of(freed_.begin(), freed_.end(), [](const auto& block) {
      const auto* const begin = reinterpret_cast<const unsigned char*>(block.first);
      return std::any_of(begin, begin + block.second.value(), [](int b) { return b != 0x77; });
    });
  }

 private:
  Result<device::Address> AllocatePlain(Id id, Bytes size, device::MemoryType type) override {
    auto at = under_->memory().AllocatePlain(id, size, type);
    if (at.ok()) sizes_[*at] = size;
    return at;
  }
  Status FreePlain(Id, device::Address at) override {
    const Bytes size = sizes_.at(at);
    std::fill_n(reinterpret_cast<unsigned char*>(at), size.value(), 0x77);
    freed_.emplace(at, size);
    return {};
  }

  std::map<device::Address, Bytes> sizes_;
  std::map<device::Address, Bytes> freed_;
};

config::RunConfig Refreshable() {
  config::RunConfig config;
  config.feature_base_refreshable = true;
  return config;
}

// The results of a graph whose values ask for no kind of memory.
std::vector<HostTensor> Expected(int64_t rows) {
  const auto plain = MakeSession();
  Typed unmarked = TwoTypes(Dim(rows));
  for (graph::Node& node : unmarked.graph.nodes) node.memory.memory_type = {};
  return MustRun(*plain, MustAdd(*plain, unmarked.graph), {Random({rows, 32}, 3)});
}

void ExpectRun(Session& session, GraphId id, int64_t rows) {
  const auto got = MustRun(session, id, {Random({rows, 32}, 3)});
  const auto expected = Expected(rows);
  ASSERT_EQ(got.size(), expected.size());
  for (size_t i = 0; i < got.size(); ++i) EXPECT_EQ(BytesOf(got[i]), BytesOf(expected[i])) << i;
}

// The feature map stays where the caller has it; the area of P2P memory grows with the second
// shape, and moves. The plan of the first shape must follow it.
TEST(RebindingTest, APlanFollowsAnAreaThatMovesAlone) {
  SessionOptions options = Under(Refreshable());
  const auto device = std::make_shared<KeepingDevice>(std::make_shared<device::CpuDevice>());
  options.device = device;
  const auto session = MakeSession(options);
  const GraphId id = MustAdd(*session, TwoTypes(Dim::Symbol("rows")).graph);
  const Base base(*session->FeatureMapSize(id, Views({Random({40, 32}, 3)})));
  ASSERT_EQ(CodeOf(session->SetFeatureMapBase(id, base.at(), base.size())), "");
  ExpectRun(*session, id, 4);
  EXPECT_EQ(device->freed(), 0U);
  ExpectRun(*session, id, 40);
  EXPECT_EQ(device->freed(), 2U) << "the areas of P2P and of host memory were too small";
  for (const int64_t rows : {4, 40, 4}) ExpectRun(*session, id, rows);
  EXPECT_EQ(device->freed(), 2U);
  EXPECT_FALSE(device->touched()) << "a plan still worked in memory that was given back";
}

TEST(RebindingTest, AnAreaGoesBackOnlyAfterTheDeviceWasSynchronised) {
  using device::DeviceCall;
  const auto log = std::make_shared<CallLog>();
  SessionOptions options;
  options.device = std::make_shared<LoggedDevice>(std::make_shared<device::CpuDevice>(), log);
  const auto session = MakeSession(options);
  const GraphId id = MustAdd(*session, TwoTypes(Dim::Symbol("rows")).graph);
  ExpectRun(*session, id, 4);
  const size_t first_run = log->calls.size();
  ExpectRun(*session, id, 40);
  int freed = 0;
  for (size_t i = first_run; i < log->calls.size(); ++i) {
    if (log->calls[i].call != DeviceCall::kFreePlain) continue;
    ++freed;
    EXPECT_EQ(log->calls[i - 1].call, DeviceCall::kSynchronizeDevice) << "call " << i;
  }
  EXPECT_EQ(freed, 3) << "two areas and the feature map";
}

// The areas stay and the feature map moves from one of the caller's memories to another.
TEST(RebindingTest, APlanFollowsAFeatureMapThatMovesAlone) {
  const auto session = MakeSession(Under(Refreshable()));
  const GraphId id = MustAdd(*session, TwoTypes(Dim(20)).graph);
  const Bytes size = *session->FeatureMapSize(id, Views({Random({20, 32}, 3)}));
  ASSERT_GT(size, Bytes(0));
  Base first(size);
  Base second(size);
  ASSERT_EQ(CodeOf(session->SetFeatureMapBase(id, first.at(), size)), "");
  ExpectRun(*session, id, 20);
  EXPECT_TRUE(first.touched());
  ASSERT_EQ(CodeOf(session->SetFeatureMapBase(id, second.at(), size)), "");
  first.Fill();
  ExpectRun(*session, id, 20);
  EXPECT_FALSE(first.touched()) << "the memory that was taken back is the caller's again";
  EXPECT_TRUE(second.touched());
}

TEST(RebindingTest, TheSessionsOwnFeatureMapGoesBackWhenTheCallerGivesABase) {
  const auto device = std::make_shared<device::CpuDevice>(device::CpuOptions{.capacity = MiB(8)});
  SessionOptions options = Under(Refreshable());
  options.device = device;
  const auto session = MakeSession(options);
  const GraphId id = MustAdd(*session, TwoProducts());
  const auto plain = MakeSession();
  const auto expected = MustRun(*plain, MustAdd(*plain, TwoProducts()), {Random({16, 32}, 1)});
  const auto run = [&] {
    EXPECT_EQ(BytesOf(MustRun(*session, id, {Random({16, 32}, 1)})[0]), BytesOf(expected[0]));
  };
  run();
  const Bytes size = *session->FeatureMapSize(id, Views({Random({16, 32}, 1)}));
  EXPECT_EQ(session->Memory().feature_maps_reserved, size);
  EXPECT_EQ(device->memory().Info({0})->free, MiB(8) - size);
  const Base base(size);
  ASSERT_EQ(CodeOf(session->SetFeatureMapBase(id, base.at(), size)), "");
  EXPECT_EQ(session->Memory().feature_maps_reserved, Bytes(0));
  EXPECT_EQ(session->Memory().device.feature_maps, Bytes(0));
  EXPECT_EQ(device->memory().Info({0})->free, MiB(8));
  run();
  EXPECT_TRUE(base.touched());
  EXPECT_EQ(device->memory().Info({0})->free, MiB(8)) << "runs take none of their own again";
  EXPECT_EQ(session->Memory().peak_feature_maps_reserved, size) << "the most there ever was";
}

// A base that is refused leaves the one that was given before.
TEST(RebindingTest, ARefusedBaseLeavesTheOldOne) {
  const auto session = MakeSession(Under(Refreshable()));
  const GraphId id = MustAdd(*session, TwoProducts());
  const Bytes size = *session->FeatureMapSize(id, Views({Random({16, 32}, 1)}));
  Base base(size);
  ASSERT_EQ(CodeOf(session->SetFeatureMapBase(id, base.at(), size)), "");
  const Base other(size + Bytes(512));
  EXPECT_EQ(CodeOf(session->SetFeatureMapBase(id, other.at() + 256, size)), "run.base");
  EXPECT_EQ(CodeOf(session->SetFeatureMapBase(id, nullptr, size)), "run.base");
  MustRun(*session, id, {Random({16, 32}, 1)});
  EXPECT_TRUE(base.touched());
  EXPECT_FALSE(other.touched());
}

// One byte too few is refused, exactly as many are taken.
TEST(RebindingTest, ABaseMustHoldTheWholeFeatureMap) {
  const auto session = MakeSession(Under(Refreshable()));
  const GraphId id = MustAdd(*session, TwoProducts());
  const Bytes size = *session->FeatureMapSize(id, Views({Random({16, 32}, 1)}));
  Base base(size);
  ASSERT_EQ(CodeOf(session->SetFeatureMapBase(id, base.at(), size - Bytes(1))), "");
  const Status refused = session->RunValues(id, Values({Random({16, 32}, 1)})).status();
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, "run.base_size");
  EXPECT_EQ(refused.error().kind, ErrorKind::kDoesNotFit);
  EXPECT_FALSE(base.touched());
  ASSERT_EQ(CodeOf(session->SetFeatureMapBase(id, base.at(), size)), "");
  MustRun(*session, id, {Random({16, 32}, 1)});
}

}  // namespace rebinding_test
}  // namespace plimsoll::engine
