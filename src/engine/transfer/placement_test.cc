#include <gtest/gtest.h>

#include <atomic>
#include <random>
#include <set>

#include "engine/api/plan_report.h"
#include "engine/forwarding_device_for_tests.h"
#include "engine/models_for_tests.h"
#include "engine/random/configured_runs_for_tests.h"
#include "engine/random/random_graph_for_tests.h"
#include "engine/run/poisoned_run.h"
#include "engine/streams/streamed_graphs_for_tests.h"
#include "engine/variables/training_for_tests.h"
#include "kernels/backend.h"
#include "plimsoll/device/far_device.h"
#include "plimsoll/device/registry.h"

// What runs on the host beside a device out of its reach, and the copies that this costs.
namespace plimsoll::engine {
namespace placement_test {

using graph::Attributes;
using graph::DataType;
using graph::Graph;
using graph::GraphBuilder;
using graph::SubgraphId;
using graph::ValueId;
using graph::ValueType;
using kernels::HostTensor;

const ValueType kFlag = ValueType::Tensor(DataType::kBool, graph::Shape{});
const ValueType kNumber = ValueType::Tensor(DataType::kInt64, graph::Shape{});

// The CPU's kernels but for some operators, or for all; counts what it is asked.
class IncompleteBackend final : public kernels::Backend {
 public:
  explicit IncompleteBackend(std::set<std::string, std::less<>> missing)
      : missing_(std::move(missing)) {}
  std::string_view name() const override { return "incomplete"; }
  bool HasOperator(std::string_view domain, std::string_view name, int version) const override {
    ++asked;
    return !missing_.contains("*") && !missing_.contains(name) &&
           kernels::HostBackend().HasOperator(domain, name, version);
  }
  Result<kernels::KernelPointer> Prepare(kernels::KernelSite& site) const override {
    ++prepared;
    EXPECT_FALSE(missing_.contains("*") || missing_.contains(site.node().op)) << site.node().op;
    return kernels::HostBackend().Prepare(site);
  }
  std::vector<kernels::InPlacePair> InPlacePairs(const Graph& graph,
                                                 graph::NodeId node) const override {
    ++asked_for_pairs;
    return Backend::InPlacePairs(graph, node);
  }
  int channels_together() const override { return kernels::HostBackend().channels_together(); }

  mutable std::atomic<int> asked = 0;
  mutable std::atomic<int> prepared = 0;
  mutable std::atomic<int> asked_for_pairs = 0;

 private:
  std::set<std::string, std::less<>> missing_;
};

// A device under another name that counts copies between its memory and the host's.
class DeviceOfKind final : public ForwardingDevice {
 public:
  DeviceOfKind(std::string kind, std::shared_ptr<Device> under)
      : ForwardingDevice(std::move(under)), kind_(std::move(kind)) {}
  std::string Kind() const override { return kind_; }
  Status Copy(Id id, device::StreamId stream, device::Address to, device::Address from,
              Bytes size) override {
    const bool out_of_reach = WorkPointer(id, from) != reinterpret_cast<void*>(from);
    if (out_of_reach != (WorkPointer(id, to) != reinterpret_cast<void*>(to))) ++crossings;
    return ForwardingDevice::Copy(id, stream, to, from, size);
  }

  std::atomic<int64_t> crossings = 0;

 private:
  std::string kind_;
};

// A session on `far`, or on a device with an incomplete backend; copies between host and device are
// counted.
class WatchedSession {
 public:
  explicit WatchedSession(const std::set<std::string, std::less<>>& missing = {},
                          SessionOptions options = {}) {
    std::string kind = "far";
    if (!missing.empty()) {
      static std::atomic<int> kinds = 0;
      kind = "incomplete" + std::to_string(++kinds);
      auto backend = std::make_unique<IncompleteBackend>(missing);
      backend_ = backend.get();
      EXPECT_TRUE(kernels::RegisterBackend(kind, std::move(backend)).ok());
    }
    device_ = std::make_shared<DeviceOfKind>(
        kind, std::make_shared<device::FarDevice>(
                  device::CpuOptions{.capacity = MiB(256), .granularity = kSessionGranularity}));
    options.device = device_;
    session_ = MakeSession(options);
  }

  Session& operator*() { return *session_; }
  Session* operator->() { return session_.get(); }
  const IncompleteBackend& backend() const { return *backend_; }
  device::Device& device() { return *device_; }

  // Copies of the second run, when everything is in place.
  int64_t CopiesOfARun(GraphId id, const std::vector<HostTensor>& inputs) {
    MustRun(*session_, id, inputs);
    const int64_t before = Copies();
    MustRun(*session_, id, inputs);
    return Copies() - before;
  }
  int64_t Copies() const { return device_->crossings; }

  compile::HostTransfers PlannedTransfers(GraphId id, const std::vector<HostTensor>& inputs) {
    return (*session_->Compile(id, Views(inputs)))->model().transfers;
  }

 private:
  std::shared_ptr<DeviceOfKind> device_;
  const IncompleteBackend* backend_ = nullptr;
  std::unique_ptr<Session> session_;
};

void ExpectSameAsOnCpu(WatchedSession& session, const Graph& graph,
                       const std::vector<HostTensor>& inputs) {
  SessionOptions near;
  near.device_name = "cpu";
  const auto here = MakeSession(near);
  const auto expected = MustRun(*here, MustAdd(*here, graph), inputs);
  const GraphId id = MustAdd(*session, graph);
  for (int run = 0; run < 2; ++run) {
    const auto got = MustRun(*session, id, inputs);
    ASSERT_EQ(got.size(), expected.size());
    for (size_t i = 0; i < got.size(); ++i) {
      if (got[i].type == DataType::kFloat32) {
        ExpectClose(got[i], expected[i]);
      } else {
        EXPECT_EQ(BytesOf(got[i]), BytesOf(expected[i]));
      }
    }
  }
}

ValueId Choose(GraphBuilder& builder, ValueId condition, ValueId x, const std::string& name = "") {
  Attributes bodies;
  const SubgraphId then_branch = builder.BeginBody(name + "then");
  builder.EndBody({builder.Node("Neg", {x})});
  bodies.Set("then_branch", then_branch);
  const SubgraphId else_branch = builder.BeginBody(name + "else");
  builder.EndBody({builder.Node("Abs", {x})});
  bodies.Set("else_branch", else_branch);
  return builder.Node("If", {condition}, std::move(bodies));
}

ValueId SumIsAbove(GraphBuilder& builder, ValueId x, float limit) {
  const ValueId sum = builder.Node("ReduceSum", {x}, compile::With("keepdims", int64_t{0}));
  return builder.Node("Greater",
                      {sum, builder.Float32s("limit" + std::to_string(limit), {}, {limit})});
}

TEST(PlacementTest, AConditionThatIsAnInputCostsNoCopy) {
  GraphBuilder builder;
  const ValueId x = builder.Input("x", compile::FloatTensor({4}));
  builder.Output(Choose(builder, builder.Input("flag", kFlag), x));
  SessionOptions each_by_itself;
  each_by_itself.config.input_fusion_size = 0;
  WatchedSession session({}, each_by_itself);
  const GraphId id = MustAdd(*session, builder.Build());
  const HostTensor data = Floats({4}, {1, -2, 3, -4});
  EXPECT_EQ(session.CopiesOfARun(id, {data, Bool(true)}), 2) << "x there, the result back";
  EXPECT_EQ(ElementsOf(MustRun(*session, id, {data, Bool(true)})[0]),
            (std::vector<float>{-1, 2, -3, 4}));
  EXPECT_EQ(ElementsOf(MustRun(*session, id, {data, Bool(false)})[0]),
            (std::vector<float>{1, 2, 3, 4}));
  EXPECT_EQ(session.PlannedTransfers(id, {data, Bool(true)}).fetches, 0);
}

TEST(PlacementTest, AConditionWorkedOutFromInputsCostsNoCopy) {
  GraphBuilder builder;
  const ValueId x = builder.Input("x", compile::FloatTensor({4}));
  const ValueId n = builder.Input("n", kNumber);
  const ValueId more = builder.Node("Add", {n, builder.Int64("two", 2)});
  const ValueId many = builder.Node("Greater", {more, builder.Int64("five", 5)});
  builder.Output(
      Choose(builder, many,
             builder.Node("Mul", {x, builder.Node("Cast", {n}, compile::With("to", int64_t{1}))})));
  WatchedSession session;
  const GraphId id = MustAdd(*session, builder.Build());
  const HostTensor data = Floats({4}, {1, -2, 3, -4});
  EXPECT_EQ(session.CopiesOfARun(id, {data, Integer(4)}), 2) << "inputs together, the result back";
  EXPECT_EQ(ElementsOf(MustRun(*session, id, {data, Integer(4)})[0]),
            (std::vector<float>{-4, 8, -12, 16}));
  EXPECT_EQ(ElementsOf(MustRun(*session, id, {data, Integer(3)})[0]),
            (std::vector<float>{3, 6, 9, 12}));
  EXPECT_EQ(session.PlannedTransfers(id, {data, Integer(4)}).host_nodes, 2);
  EXPECT_GT(session->Memory().host, Bytes(0));
}

TEST(PlacementTest, AConditionOfDeviceDataIsFetchedOnce) {
  GraphBuilder builder;
  const ValueId x = builder.Input("x", compile::FloatTensor({4}));
  const ValueId condition = SumIsAbove(builder, x, 0);
  const ValueId once = Choose(builder, condition, x, "a");
  builder.Output(Choose(builder, condition, once, "b"));
  WatchedSession session;
  const GraphId id = MustAdd(*session, builder.Build());
  const HostTensor data = Floats({4}, {1, -2, 3, -1});
  EXPECT_EQ(session.CopiesOfARun(id, {data}), 3) << "x, the condition, the result";
  EXPECT_EQ(ElementsOf(MustRun(*session, id, {data})[0]), (std::vector<float>{1, -2, 3, -1}));
  const compile::HostTransfers planned = session.PlannedTransfers(id, {data});
  EXPECT_EQ(planned.fetches, 1);
  EXPECT_EQ(planned.fetched, Bytes(1));
}

TEST(PlacementTest, BranchesThatAreNotTakenFetchNothing) {
  GraphBuilder builder;
  const ValueId x = builder.Input("x", compile::FloatTensor({4}));
  const ValueId outer = SumIsAbove(builder, x, 0);
  Attributes bodies;
  const SubgraphId then_branch = builder.BeginBody("outer then");
  const ValueId twice = builder.Node("Add", {x, x});
  builder.EndBody({Choose(builder, SumIsAbove(builder, twice, 10), twice, "inner ")});
  bodies.Set("then_branch", then_branch);
  const SubgraphId else_branch = builder.BeginBody("outer else");
  builder.EndBody({builder.Node("Relu", {x})});
  bodies.Set("else_branch", else_branch);
  builder.Output(builder.Node("If", {outer}, std::move(bodies)));
  const Graph graph = builder.Build();
  WatchedSession session;
  for (const auto& [data, copies] : std::vector<std::pair<std::vector<float>, int64_t>>{
           {{1, 2, 3, 4}, 4}, {{1, 1, 1, 1}, 4}, {{-1, 1, 1, -9}, 3}}) {
    const HostTensor tensor = Floats({4}, data);
    ExpectSameAsOnCpu(session, graph, {tensor});
    const GraphId id = MustAdd(*session, graph);
    EXPECT_EQ(session.CopiesOfARun(id, {tensor}), copies);
    EXPECT_EQ(session.PlannedTransfers(id, {tensor}).fetches, 2) << "when every branch is taken";
  }
}

TEST(PlacementTest, AnInputThatLiesOnTheDeviceIsFetched) {
  GraphBuilder builder;
  const ValueId x = builder.Input("x", compile::FloatTensor({4}));
  builder.Output(Choose(builder, builder.Input("flag", kFlag), x));
  WatchedSession session;
  const GraphId id = MustAdd(*session, builder.Build());
  const HostTensor data = Floats({4}, {1, -2, 3, -4});
  const HostTensor flag = Bool(true);
  const HostTensor made = Floats({4}, {0, 0, 0, 0});
  const device::DeviceId first{0};
  device::Device& device = session.device();
  const device::Address at =
      *device.memory().AllocatePlain(first, Bytes(512), device::MemoryType::kDevice);
  const device::StreamId stream = *device.CreateStream(first);
  const auto host = reinterpret_cast<device::Address>(flag.data.get());
  ASSERT_TRUE(device.Copy(first, stream, at, host, Bytes(1)).ok());
  ASSERT_TRUE(device.SynchronizeStream(first, stream).ok());
  TensorView there = View(flag);
  there.data = reinterpret_cast<void*>(at);
  there.on_device = true;
  ASSERT_TRUE(session->Compile(id, {{View(data), there}}).ok());
  const int64_t before = session.Copies();
  const Status run = session->Run(id, {{View(data), there}}, {{View(made)}});
  ASSERT_TRUE(run.ok()) << run.error().Text();
  EXPECT_EQ(session.Copies() - before, 3) << "x, the flag, the result";
  EXPECT_EQ(ElementsOf(made), (std::vector<float>{-1, 2, -3, 4}));
  ASSERT_TRUE(device.memory().FreePlain(first, at).ok());
}

TEST(PlacementTest, AConditionThatKeepsItsAddressLiesWhereTheHostReachesIt) {
  GraphBuilder builder;
  const ValueId x = builder.Input("x", compile::FloatTensor({graph::Dim::Symbol("n"), 4}));
  const ValueId y = Choose(builder, SumIsAbove(builder, x, 0), x);
  builder.graph()[builder.graph()[y].producer].memory.no_address_refresh = true;
  builder.Output(y);
  const Graph graph = builder.Build();
  WatchedSession session;
  for (const int64_t rows : {2, 40, 3}) {
    ExpectSameAsOnCpu(session, graph, {Random({rows, 4}, 7)});
  }
  const GraphId id = MustAdd(*session, graph);
  for (const int64_t rows : {2, 40, 3}) MustRun(*session, id, {Random({rows, 4}, 7)});
}

TEST(PlacementTest, AnAxisThatOnlyARunKnowsReachesTheKernel) {
  GraphBuilder builder;
  const ValueId x = builder.Input("x", compile::FloatTensor({3, 4}));
  builder.Output(builder.Node("CumSum", {x, builder.Input("axis", kNumber)}));
  const Graph graph = builder.Build();
  WatchedSession session;
  for (const int64_t axis : {0, 1}) {
    ExpectSameAsOnCpu(session, graph, {Random({3, 4}, 1), Integer(axis)});
  }
}

TEST(PlacementTest, AnOperatorThatTheBackendLacksRunsOnTheHost) {
  GraphBuilder builder;
  const ValueId x = builder.Input("x", compile::FloatTensor({8, 8}));
  const ValueId w = RandomWeights(builder, "w", {8, 8}, 3);
  const ValueId y = builder.Node("Softmax", {builder.Node("MatMul", {x, w})});
  builder.Output(builder.Node("MatMul", {y, w}));
  const Graph graph = builder.Build();
  WatchedSession session({"Softmax"});
  const std::vector<HostTensor> inputs = {Random({8, 8}, 1)};
  ExpectSameAsOnCpu(session, graph, inputs);
  const GraphId id = MustAdd(*session, graph);
  EXPECT_EQ(session.CopiesOfARun(id, inputs), 4) << "x, there and back, the result";
  const compile::HostTransfers planned = session.PlannedTransfers(id, inputs);
  EXPECT_EQ(planned.host_nodes, 1);
  EXPECT_EQ(planned.fetches, 1);
  EXPECT_EQ(planned.sends, 1);
  EXPECT_EQ(planned.fetched + planned.sent, Bytes(2 * 8 * 8 * 4));
  EXPECT_GE(session->Memory().host, Bytes(8 * 8 * 4));
  EXPECT_GT(session.backend().asked, 0);
  EXPECT_GT(session.backend().asked_for_pairs, 0);
  EXPECT_GE(session.backend().prepared, 2);
  const PlanReport report =
      MakePlanReport(**session->Compile(id, Views(inputs)), *session->Memory(id));
  EXPECT_EQ(report.host_nodes, 1);
  EXPECT_EQ(report.fetches + report.sends, 2);
  EXPECT_EQ(report.fetched + report.sent, planned.fetched + planned.sent);
  EXPECT_EQ(report.host * 2, session->Memory().host) << "what is planned is taken, by two graphs";
}

TEST(PlacementTest, APlanIsMadeWithTheKernelsOfItsDevice) {
  ASSERT_TRUE(device::RegisterDeviceKind("placement_test_far", [](const auto&) {
                return std::unique_ptr<device::Device>(std::make_unique<device::FarDevice>());
              }).ok());
  ASSERT_TRUE(kernels::RegisterBackend("placement_test_far",
                                       std::make_unique<IncompleteBackend>(
                                           std::set<std::string, std::less<>>{"Softmax"}))
                  .ok());
  SessionOptions options;
  options.device_name = "placement_test_far";
  options.load.only_plan = true;
  const auto session = MakeSession(options);
  GraphBuilder builder;
  const ValueId x = builder.Node("Relu", {builder.Input("x", compile::FloatTensor({4}))});
  builder.Output(builder.Node("Neg", {builder.Node("Softmax", {x})}));
  const GraphId id = MustAdd(*session, builder.Build());
  const auto executable = *session->Compile(id, {{View(Floats({4}, {1, 2, 3, 4}))}});
  EXPECT_EQ(executable->model().transfers.fetches, 1);
  EXPECT_EQ(executable->model().transfers.sends, 1);
}

TEST(PlacementTest, WhateverABackendLacksEverythingRuns) {
  const std::vector<HostTensor> image = {Random({1, 3, 20, 20}, 1)};
  const std::vector<HostTensor> tokens = {Random({2, 6, kModelWidth}, 2)};
  const std::vector<std::set<std::string, std::less<>>> backends = {
      {"*"},
      {"FusedConv", "Relu", "Add"},
      {"MatMul", "FusedMatMul", "FusedAttention"},
      {"LayerNormalization", "Softmax", "Gelu"}};
  for (const auto& missing : backends) {
    WatchedSession session(missing);
    ExpectSameAsOnCpu(session, ConvolutionalNetwork(), image);
    ExpectSameAsOnCpu(session, TransformerLayer(graph::Dim::Symbol("b"), graph::Dim::Symbol("r")),
                      tokens);
    ExpectSameAsOnCpu(session, Braid(3), {Random({kBraidSide, kBraidSide}, 5)});
  }
  WatchedSession tanh_on_host({"Tanh"});
  ExpectSameAsOnCpu(tanh_on_host, Braid(3), {Random({kBraidSide, kBraidSide}, 5)});
}

TEST(PlacementTest, RandomGraphsGiveTheSameWhateverABackendLacks) {
  constexpr int64_t kColumns = 70;
  std::mt19937 random(1);
  int64_t transfers = 0;
  for (uint32_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(seed);
    const Graph graph = RandomGraph(seed, kColumns).Draw();
    std::set<std::string, std::less<>> missing = {"none of these"};
    for (const graph::Node& node : graph.nodes) {
      if (random() % 3 == 0) missing.insert(node.op);
    }
    SessionOptions options;
    options.load.optimise = seed % 2 == 0;
    WatchedSession session(missing, options);
    const auto inputs = RandomGraph::Inputs(RandomGraph::kRows, kColumns, seed);
    ExpectSameAsOnCpu(session, graph, inputs);
    if (HasFailure()) return;
    const auto planned = session.PlannedTransfers(MustAdd(*session, graph), inputs);
    transfers += planned.fetches + planned.sends;
  }
  EXPECT_GT(transfers, 300);
}

TEST(PlacementTest, VariablesAreUpdatedByNodesOnTheHost) {
  for (const auto& missing :
       std::vector<std::set<std::string, std::less<>>>{{"*"}, {"Add"}, {"Mul", "Sub"}}) {
    SessionOptions options;
    options.config.training = true;
    WatchedSession session(missing, options);
    const GraphId id = MustAdd(*session, MomentumStep());
    MomentumModel model{{1, 2, 3, 4}, {0, 0, 0, 0}};
    MustSet(*session, "w", Floats({4}, model.w));
    const std::vector<float> x = {1, -1, 2, 0.5F};
    for (int step = 0; step < 3; ++step) {
      EXPECT_EQ(ElementsOf(MustRun(*session, id, {Floats({4}, x)})[0])[0], model.Step(x));
    }
    EXPECT_EQ(VariableOf(*session, "w"), model.w);
    EXPECT_EQ(VariableOf(*session, "m"), model.m);
  }
}

TEST(PlacementTest, WhereTheHostReachesTheDeviceAMissingKernelIsAnError) {
  ASSERT_TRUE(kernels::RegisterBackend("placement_test_near",
                                       std::make_unique<IncompleteBackend>(
                                           std::set<std::string, std::less<>>{"Softmax"}))
                  .ok());
  SessionOptions options;
  options.device = std::make_shared<DeviceOfKind>(
      "placement_test_near", std::make_shared<device::CpuDevice>(device::CpuOptions{}));
  const auto session = MakeSession(options);
  GraphBuilder builder;
  const ValueId x = builder.Input("x", compile::FloatTensor({4}));
  builder.Output(builder.Node("Softmax", {x}));
  const GraphId id = MustAdd(*session, builder.Build());
  const auto run = session->RunValues(id, Values({Floats({4}, {1, 2, 3, 4})}));
  ASSERT_FALSE(run.ok());
  EXPECT_EQ(run.error().code, "kernel.unsupported");
  for (const char* part : {"(Softmax)", "backend \"incomplete\"", "register a kernel"}) {
    EXPECT_NE(run.error().Text().find(part), std::string::npos) << run.error().Text();
  }
}

TEST(PlacementTest, APoisonedRunHasAHostRegion) {
  WatchedSession session({"Softmax", "Relu"});
  const GraphId id = MustAdd(*session, ConvolutionalNetwork());
  const std::vector<HostTensor> inputs = {Random({1, 3, 20, 20}, 1)};
  const auto plain = MustRun(*session, id, inputs);
  const auto executable = *session->Compile(id, Views(inputs));
  const HostTensor made = *kernels::AllocateOnHeap(plain[0].type, plain[0].dims);
  const std::vector<const void*> from = {inputs[0].data.get()};
  const std::vector<void*> to = {made.data.get()};
  const auto run = RunPoisoned(*executable, {.inputs = from, .outputs = to});
  ASSERT_TRUE(run.ok()) << run.error().Text();
  EXPECT_EQ(ElementsOf(made), ElementsOf(plain[0]));
  EXPECT_FALSE(run->wrote_outside);
}

}  // namespace placement_test
}  // namespace plimsoll::engine
