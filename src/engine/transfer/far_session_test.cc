#include <gtest/gtest.h>

#include "engine/models_for_tests.h"
#include "engine/random/column_sums_for_tests.h"
#include "engine/run/poisoned_run.h"
#include "engine/streams/streamed_graphs_for_tests.h"
#include "engine/variables/training_for_tests.h"
#include "onnx/wire/temporary_folder_for_tests.h"
#include "plimsoll/device/far_device.h"
#include "plimsoll/device/watched_device.h"

// Sessions on a device whose memory the host cannot touch: results are those of the CPU, and every
// byte travels by a copy.
namespace plimsoll::engine {
namespace far_session_test {

using device::DeviceCall;
using graph::Dim;
using graph::Graph;
using graph::GraphBuilder;
using graph::ValueId;
using kernels::HostTensor;

SessionOptions OnFar() {
  SessionOptions options;
  options.device_name = "far";
  return options;
}

std::shared_ptr<device::WatchedDevice> WatchedFar() {
  return std::make_shared<device::WatchedDevice>(std::make_shared<device::FarDevice>(
      device::CpuOptions{.capacity = MiB(256), .granularity = kSessionGranularity}));
}

int64_t Calls(const device::WatchedDevice& device, DeviceCall call) {
  return device.calls()[static_cast<size_t>(call)];
}

void ExpectSameAsOnCpu(const Graph& graph, const std::vector<HostTensor>& inputs,
                       SessionOptions far = OnFar()) {
  SessionOptions near = far;
  near.device_name = "cpu";
  const auto here = MakeSession(near);
  const auto there = MakeSession(far);
  const GraphId a = MustAdd(*here, graph);
  const GraphId b = MustAdd(*there, graph);
  for (int run = 0; run < 2; ++run) {
    const auto expected = MustRun(*here, a, inputs);
    const auto got = MustRun(*there, b, inputs);
    ASSERT_EQ(got.size(), expected.size());
    for (size_t i = 0; i < got.size(); ++i) EXPECT_EQ(ElementsOf(got[i]), ElementsOf(expected[i]));
  }
}

TEST(FarSessionTest, NetworksGiveTheSame) {
  ExpectSameAsOnCpu(ConvolutionalNetwork(), {Random({1, 3, 20, 20}, 1)});
  for (const int64_t rows : {1, 6, 33}) {
    ExpectSameAsOnCpu(TransformerLayer(Dim::Symbol("batch"), Dim::Symbol("rows")),
                      {Random({2, rows, kModelWidth}, 2)});
  }
}

TEST(FarSessionTest, EveryPolicyGivesTheSame) {
  using config::StaticMemoryPolicy;
  for (const auto policy :
       {StaticMemoryPolicy::kSharedStatic, StaticMemoryPolicy::kExpandableDynamic,
        StaticMemoryPolicy::kSharedAndExpandable}) {
    SessionOptions options = OnFar();
    options.config.memory_config.static_memory_policy = policy;
    ExpectSameAsOnCpu(ConvolutionalNetwork(), {Random({1, 3, 20, 20}, 1)}, options);
  }
}

TEST(FarSessionTest, SeveralStreamsGiveTheSame) {
  ExpectSameAsOnCpu(Braid(3), {Random({kBraidSide, kBraidSide}, 5)});
}

TEST(FarSessionTest, TheConditionOfABranchIsFetched) {
  GraphBuilder builder;
  const ValueId x = builder.Input("x", compile::FloatTensor({4}));
  const ValueId limit = builder.Float32s("limit", {}, {0});
  const ValueId sum = builder.Node("ReduceSum", {x}, compile::With("keepdims", int64_t{0}));
  const ValueId condition = builder.Node("Greater", {sum, limit});
  graph::Attributes bodies;
  const graph::SubgraphId then_branch = builder.BeginBody("then");
  builder.EndBody({builder.Node("Neg", {x})});
  bodies.Set("then_branch", then_branch);
  const graph::SubgraphId else_branch = builder.BeginBody("else");
  builder.EndBody({builder.Node("Abs", {x})});
  bodies.Set("else_branch", else_branch);
  builder.Output(builder.Node("If", {condition}, std::move(bodies)));
  const Graph graph = builder.Build();
  ExpectSameAsOnCpu(graph, {Floats({4}, {1, 2, -3, 4})});
  ExpectSameAsOnCpu(graph, {Floats({4}, {1, 2, -3, -4})});
}

TEST(FarSessionTest, VariablesAreTrainedSavedAndRestored) {
  const onnx::TemporaryFolder folder;
  SessionOptions options = OnFar();
  options.config.training = true;
  const auto session = MakeSession(options);
  const GraphId id = MustAdd(*session, MomentumStep());
  MomentumModel model{{1, 2, 3, 4}, {0, 0, 0, 0}};
  MustSet(*session, "w", Floats({4}, model.w));
  const std::vector<float> x = {1, -1, 2, 0.5F};
  for (int step = 0; step < 3; ++step) {
    EXPECT_EQ(ElementsOf(MustRun(*session, id, {Floats({4}, x)})[0])[0], model.Step(x));
  }
  EXPECT_EQ(VariableOf(*session, "w"), model.w);
  EXPECT_EQ(VariableOf(*session, "m"), model.m);
  const std::string path = (folder.path() / "state").string();
  ASSERT_TRUE(session->variables().Save(path).ok());
  MustRun(*session, id, {Floats({4}, x)});
  ASSERT_TRUE(session->variables().Restore(path).ok());
  EXPECT_EQ(VariableOf(*session, "w"), model.w);
  const void* const address = session->variables().List()[0].address;
  EXPECT_DEATH((void)*static_cast<const volatile char*>(address), "");
}

// Adds inputs of these many floats to one another's sums.
Graph SumOfInputs(const std::vector<int64_t>& sizes) {
  GraphBuilder builder;
  ValueId total;
  for (size_t i = 0; i < sizes.size(); ++i) {
    const ValueId x = builder.Input("x" + std::to_string(i), compile::FloatTensor({sizes[i]}));
    const ValueId sum = builder.Node("ReduceSum", {x}, compile::With("keepdims", int64_t{0}));
    total = i == 0 ? sum : builder.Node("Add", {total, sum});
  }
  builder.Output(total);
  return builder.Build();
}

TEST(FarSessionTest, R120_R123_SmallInputsTravelInOneTransfer) {
  const std::vector<int64_t> sizes = {100, 101, 50, 200, 100, 300, 50, 150, 110, 120};
  std::vector<HostTensor> inputs;
  double expected = 0;
  for (size_t i = 0; i < sizes.size(); ++i) {
    inputs.push_back(Random({sizes[i]}, static_cast<uint32_t>(i)));
    for (const float element : ElementsOf(inputs.back())) expected += element;
  }
  for (const auto& [limit, transfers, fused] :
       std::vector<std::tuple<int64_t, int64_t, int64_t>>{{400, 7, 4}, {0, 10, 0}, {1200, 1, 10}}) {
    SessionOptions options = OnFar();
    const auto device = WatchedFar();
    options.device = device;
    options.config.input_fusion_size = limit;
    const auto session = MakeSession(options);
    const GraphId id = MustAdd(*session, SumOfInputs(sizes));
    MustRun(*session, id, inputs);
    const int64_t before = Calls(*device, DeviceCall::kCopy);
    const auto outputs = MustRun(*session, id, inputs);
    EXPECT_NEAR(ElementsOf(outputs[0])[0], expected, 1e-3);
    const InputTransfers record = session->LastRun(id)->transfers;
    EXPECT_EQ(record.transfers, transfers);
    EXPECT_EQ(record.fused_inputs, fused);
    EXPECT_EQ(record.inputs, 10);
    EXPECT_EQ(Calls(*device, DeviceCall::kCopy) - before, transfers + 1) << "and the output";
  }
}

TEST(FarSessionTest, TensorsOnTheDeviceAreUsedInPlace) {
  const auto device = WatchedFar();
  SessionOptions options;
  options.device = device;
  const auto session = MakeSession(options);
  const GraphId id = MustAdd(*session, AddOne({4}));
  const device::DeviceId first{0};
  const device::Address at =
      *device->memory().AllocatePlain(first, Bytes(1024), device::MemoryType::kDevice);
  const device::StreamId stream = *device->CreateStream(first);
  const HostTensor x = Floats({4}, {1, 2, 3, 4});
  const auto host = reinterpret_cast<device::Address>(x.data.get());
  ASSERT_TRUE(device->Copy(first, stream, at, host, Bytes(16)).ok());
  ASSERT_TRUE(device->SynchronizeStream(first, stream).ok());
  TensorView input = View(x);
  TensorView output = View(x);
  input.data = reinterpret_cast<void*>(at);
  output.data = reinterpret_cast<void*>(at + 512);
  input.on_device = output.on_device = true;
  ASSERT_TRUE(session->Compile(id, {{input}}).ok());
  const int64_t before = Calls(*device, DeviceCall::kCopy);
  const Status run = session->Run(id, {{input}}, {{output}});
  ASSERT_TRUE(run.ok()) << run.error().Text();
  EXPECT_EQ(Calls(*device, DeviceCall::kCopy), before);
  EXPECT_TRUE(session->LastRun(id)->ports.inputs[0].in_place());
  ASSERT_TRUE(device->Copy(first, stream, host, at + 512, Bytes(16)).ok());
  ASSERT_TRUE(device->SynchronizeStream(first, stream).ok());
  EXPECT_EQ(ElementsOf(x), (std::vector<float>{2, 3, 4, 5}));
  ASSERT_TRUE(device->memory().FreePlain(first, at).ok());
}

TEST(FarSessionTest, APoisonedRunLooksAtTheDevicesMemoryThroughCopies) {
  const auto session = MakeSession(OnFar());
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
  EXPECT_GT(run->actual_peak, Bytes(0));
  EXPECT_LE(run->actual_peak, session->Memory(id)->planned_peak);
}

TEST(FarSessionTest, PortsAreCountedByThemselves) {
  const auto session = MakeSession(OnFar());
  const GraphId id = MustAdd(*session, AddOne({1000}));
  EXPECT_EQ(session->Memory().device.ports, Bytes(0));
  MustRun(*session, id, {Random({1000}, 1)});
  EXPECT_EQ(session->Memory().device.ports, Bytes(2 * 4096)) << "an input and an output";
  EXPECT_EQ(session->LastRun(id)->ports.inputs[0].reason,
            "the host cannot reach the device's memory");
}

TEST(FarSessionTest, EachDeviceCallFailsOnceAndTheSessionGoesOn) {
  const std::vector<HostTensor> inputs = {Random({1, 3, 20, 20}, 1)};
  SessionOptions on_cpu;
  on_cpu.device_name = "cpu";
  const auto near = MakeSession(on_cpu);
  const auto expected = MustRun(*near, MustAdd(*near, ConvolutionalNetwork()), inputs);
  bool ended = false;
  int64_t reported = 0;
  for (int64_t call = 0; !ended && call < 10'000; ++call) {
    const auto device = WatchedFar();
    {
      SessionOptions options;
      options.device = device;
      const auto session = MakeSession(options);
      device->FailAfter(call, ErrorKind::kRunFailed);
      const auto id = session->Add(ConvolutionalNetwork());
      const Status ran = id.ok() ? session->RunValues(*id, Values(inputs)).status() : id.status();
      ended = device->total() <= call;
      device->FailNoMore();
      if (!ran.ok()) {
        ++reported;
        EXPECT_NE(ran.error().Text().find("told to fail"), std::string::npos) << call;
      }
      const GraphId again = MustAdd(*session, ConvolutionalNetwork());
      EXPECT_EQ(ElementsOf(MustRun(*session, again, inputs)[0]), ElementsOf(expected[0])) << call;
    }
    const auto info = *device->memory().Info(device::DeviceId{0});
    EXPECT_EQ(info.free, info.total) << "after call " << call;
  }
  EXPECT_TRUE(ended);
  EXPECT_GE(reported, 20);
}

}  // namespace far_session_test
}  // namespace plimsoll::engine
