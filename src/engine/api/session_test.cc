#include "plimsoll/engine/session.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>

#include "device/cuda/standin_for_tests.h"
#include "onnx/wire/temporary_folder_for_tests.h"
#include "plimsoll/base/text.h"
#include "plimsoll/device/cuda_device.h"
#include "plimsoll/device/fake_device.h"
#include "plimsoll/device/registry.h"
#include "plimsoll/device/watched_device.h"

namespace plimsoll {
namespace api_session_test {
namespace {

Model Example(const std::string& name) {
  auto model = Model::Open(StrCat(PLIMSOLL_SOURCE_DIR "/examples/", name, ".onnx"));
  EXPECT_TRUE(model.ok()) << model.error().Text();
  return *model;
}

struct Loaded {
  Session session;
  GraphId graph;
};

Loaded Load(const Model& model, const SessionOptions& options = {}) {
  auto session = Session::Create(options);
  EXPECT_TRUE(session.ok()) << session.error().Text();
  const auto graph = session->Add(model);
  EXPECT_TRUE(graph.ok()) << graph.error().Text();
  return {std::move(*session), *graph};
}

std::vector<Tensor> Inputs(const Loaded& loaded, int64_t batch) {
  auto inputs = loaded.session.MakeInputs(loaded.graph, {{"batch", {batch}}});
  EXPECT_TRUE(inputs.ok()) << inputs.error().Text();
  for (float& element : (*inputs)[0].Elements<float>()) element = 0.25F;
  return *inputs;
}

std::vector<float> FirstOf(const std::vector<Tensor>& tensors) {
  const auto elements = tensors.at(0).Elements<float>();
  return {elements.begin(), elements.end()};
}

TEST(ApiSession, RunsIntoTheCallersMemoryAndIntoItsOwn) {
  Loaded loaded = Load(Example("tiny_cnn"));
  const std::vector<Tensor> inputs = Inputs(loaded, 2);
  const auto read = ConstViewsOf(inputs);
  const auto outputs = loaded.session.MakeOutputs(loaded.graph, read);
  ASSERT_TRUE(outputs.ok()) << outputs.error().Text();
  const Status ran = loaded.session.Run(loaded.graph, read, ViewsOf(*outputs));
  ASSERT_TRUE(ran.ok()) << ran.error().Text();
  const auto made = loaded.session.Run(loaded.graph, inputs);
  ASSERT_TRUE(made.ok());
  EXPECT_EQ(FirstOf(*made), FirstOf(*outputs));
  EXPECT_EQ((*made)[0].dims, (*outputs)[0].dims);
  const auto ports = loaded.session.Outputs(loaded.graph);
  EXPECT_EQ(ports->size(), made->size());
  EXPECT_EQ(loaded.session.Inputs(loaded.graph)->at(0).type, DataType::kFloat32);
}

TEST(ApiSession, APlanTellsThePeakThatTheRunTakes) {
  Loaded loaded = Load(Example("tiny_cnn"));
  const std::vector<Tensor> inputs = Inputs(loaded, 3);
  const auto plan = loaded.session.Plan(loaded.graph, ConstViewsOf(inputs));
  ASSERT_TRUE(plan.ok());
  EXPECT_TRUE(plan->planned);
  EXPECT_GE(plan->peak, plan->lower_bound);
  EXPECT_GT(plan->weights, Bytes(0));
  EXPECT_EQ(plan->ports.size(), 2U);
  EXPECT_EQ(loaded.session.memory().feature_maps_reserved, Bytes(0)) << "nothing is taken yet";
  ASSERT_TRUE(loaded.session.Run(loaded.graph, inputs).ok());
  const auto report = loaded.session.LastRun(loaded.graph);
  ASSERT_TRUE(report.ok());
  EXPECT_EQ(report->planned_peak, plan->peak);
  EXPECT_EQ(report->plans, 1);
  ASSERT_EQ(report->ports.size(), 2U);
  EXPECT_EQ(report->ports[0].name, loaded.session.Inputs(loaded.graph)->at(0).name);
}

TEST(ApiSession, ASessionThatPlansTakesNumbersAlone) {
  Loaded loaded = Load(Example("tiny_cnn"), {.only_plan = true});
  const std::vector<Tensor> inputs = Inputs(loaded, 1);
  ASSERT_TRUE(loaded.session.Reserve(loaded.graph, ConstViewsOf(inputs)).ok());
  EXPECT_GT(loaded.session.memory().device.total(), Bytes(0));
  EXPECT_EQ(loaded.session.Run(loaded.graph, inputs).error().code, "run.only_plan");
}

TEST(ApiSession, OptionsReachTheEngine) {
  Loaded greedy = Load(Example("tiny_cnn"), {.assigner = "greedy_by_size"});
  const auto plan = greedy.session.Plan(greedy.graph, ConstViewsOf(Inputs(greedy, 1)));
  ASSERT_TRUE(plan.ok());
  EXPECT_EQ(plan->assigner, "greedy_by_size");
  const struct {
    SessionOptions options;
    const char* code;
  } refused[] = {
      {{.device_name = "cpo"}, "device.unknown_kind"},
      {{.config = {{"static_memory_polcy", "2"}}}, "config.unknown"},
      {{.config = {{"static_memory_policy", "9"}}}, "config.value"},
      {{.assigner = "hybird"}, "plan.unknown_assigner"},
      {{.threads = -1}, "session.threads"},
  };
  for (const auto& one : refused) {
    const auto session = Session::Create(one.options);
    ASSERT_FALSE(session.ok()) << one.code;
    EXPECT_EQ(session.error().code, one.code) << session.error().Text();
    EXPECT_EQ(session.error().kind, ErrorKind::kUsage);
  }
}

TEST(ApiSession, ADeviceOfTheCallersIsUsed) {
  const auto fake = std::make_shared<device::FakeDevice>();
  Loaded loaded = Load(Example("tiny_cnn"), {.device = fake, .only_plan = true});
  ASSERT_TRUE(loaded.session.Reserve(loaded.graph, ConstViewsOf(Inputs(loaded, 1))).ok());
  const auto info = fake->memory().Info({0});
  EXPECT_LT(info->free, info->total);
}

TEST(ApiSession, ADeviceIsChosenByItsName) {
  Loaded cpu = Load(Example("tiny_cnn"));
  Loaded far = Load(Example("tiny_cnn"), {.device_name = "far:0"});
  const std::vector<Tensor> inputs = Inputs(cpu, 2);
  const auto outputs = far.session.Run(far.graph, inputs);
  ASSERT_TRUE(outputs.ok()) << outputs.error().Text();
  EXPECT_EQ(FirstOf(*outputs), FirstOf(*cpu.session.Run(cpu.graph, inputs)));
  EXPECT_GT(far.session.LastRun(far.graph)->transferred, Bytes(0)) << "inputs travel to it";
  EXPECT_FALSE(far.session.LastRun(far.graph)->ports[0].in_place);
}

TEST(ApiSession, MistakesOfTheCallerAreNamed) {
  Loaded loaded = Load(Example("tiny_cnn"));
  Session& session = loaded.session;
  EXPECT_EQ(session.MakeInputs(loaded.graph).error().code, "input.shape");
  EXPECT_EQ(session.MakeInputs(loaded.graph, {{"bacth", {1}}}).error().kind, ErrorKind::kUsage);
  EXPECT_EQ(session.Run(loaded.graph, {}).error().code, "run.inputs");
  const std::vector<Tensor> wrong = {*Tensor::Allocate(DataType::kInt64, {1})};
  EXPECT_EQ(session.Run(loaded.graph, wrong).error().code, "run.type");
  EXPECT_EQ(session.Inputs(GraphId(77)).error().code, "session.graph");
  EXPECT_EQ(session.SetVariable("none", wrong[0].View()).error().kind, ErrorKind::kUsage);
  ASSERT_TRUE(session.Unload(loaded.graph).ok());
  EXPECT_EQ(session.Unload(loaded.graph).error().code, "session.graph");
}

TEST(ApiSession, MemoryOfTheCallersHoldsTheFeatureMap) {
  Loaded loaded = Load(Example("tiny_cnn"));
  const std::vector<Tensor> inputs = Inputs(loaded, 1);
  const std::vector<float> expected = FirstOf(*loaded.session.Run(loaded.graph, inputs));
  Loaded own = Load(Example("tiny_cnn"));
  const auto size = own.session.FeatureMapSize(own.graph, ConstViewsOf(inputs));
  ASSERT_TRUE(size.ok());
  const auto memory = AllocateBytes(*size + Bytes(512));
  auto* base = static_cast<std::byte*>(memory.get());
  base += 512 - reinterpret_cast<uintptr_t>(base) % 512;
  ASSERT_TRUE(own.session.SetFeatureMapBase(own.graph, base, *size).ok());
  EXPECT_EQ(FirstOf(*own.session.Run(own.graph, inputs)), expected);
  EXPECT_EQ(own.session.memory().feature_maps_reserved, Bytes(0));
}

TEST(ApiSession, RunsOfSeveralThreadsGiveTheSame) {
  Loaded loaded = Load(Example("tiny_cnn"));
  const std::vector<Tensor> inputs = Inputs(loaded, 2);
  const auto read = ConstViewsOf(inputs);
  const std::vector<float> expected = FirstOf(*loaded.session.Run(loaded.graph, inputs));
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int run = 0; run < 8; ++run) {
        const auto outputs = loaded.session.MakeOutputs(loaded.graph, read);
        EXPECT_TRUE(loaded.session.Run(loaded.graph, read, ViewsOf(*outputs)).ok());
        EXPECT_EQ(FirstOf(*outputs), expected);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(ApiSession, TrainsAndKeepsVariables) {
  const Model model = Example("tiny_train");
  Loaded loaded = Load(model, {.config = {{"graph_run_mode", "1"}}});
  Session& session = loaded.session;
  const std::vector<VariableInfo> variables = session.Variables();
  ASSERT_FALSE(variables.empty());
  for (const VariableInfo& variable : variables) {
    const Tensor start = *Tensor::Allocate(variable.type, variable.dims);
    for (float& element : start.Elements<float>()) element = 0.125F;
    ASSERT_TRUE(session.SetVariable(variable.name, start.View()).ok());
  }
  Session::Shapes shapes;
  for (const std::string& symbol : model.info().symbols) shapes[symbol] = {2};
  const auto inputs = session.MakeInputs(loaded.graph, shapes);
  ASSERT_TRUE(inputs.ok()) << inputs.error().Text();
  const auto stepped = session.Run(loaded.graph, *inputs);
  ASSERT_TRUE(stepped.ok()) << stepped.error().Text();
  EXPECT_EQ(session.steps(), 1);
  EXPECT_EQ(session.Updates(loaded.graph)->in_place + session.Updates(loaded.graph)->copied,
            variables.size());
  const onnx::TemporaryFolder folder;
  const std::string file = (folder.path() / "variables").string();
  ASSERT_TRUE(session.SaveVariables(file).ok());
  const Tensor saved = *Tensor::Allocate(variables[0].type, variables[0].dims);
  ASSERT_TRUE(session.GetVariable(variables[0].name, saved.View()).ok());
  ASSERT_TRUE(session.Run(loaded.graph, *inputs).ok());
  ASSERT_TRUE(session.RestoreVariables(file).ok());
  EXPECT_EQ(session.steps(), 1);
  const Tensor restored = *Tensor::Allocate(variables[0].type, variables[0].dims);
  ASSERT_TRUE(session.GetVariable(variables[0].name, restored.View()).ok());
  EXPECT_EQ(FirstOf({restored}), FirstOf({saved}));
}

TEST(ApiSession, FeedsEachStepOfALoop) {
  const Model model = Example("tiny_train");
  Loaded loaded = Load(model, {.config = {{"graph_run_mode", "1"}, {"iterations_per_loop", "3"}}});
  Session::Shapes shapes;
  for (const std::string& symbol : model.info().symbols) shapes[symbol] = {2};
  const auto inputs = loaded.session.MakeInputs(loaded.graph, shapes);
  ASSERT_TRUE(inputs.ok());
  std::vector<int64_t> fed;
  RunOptions options;
  options.feed = [&](int64_t step) -> Result<std::vector<ConstTensorView>> {
    fed.push_back(step);
    return ConstViewsOf(*inputs);
  };
  const auto read = ConstViewsOf(*inputs);
  const auto outputs = loaded.session.MakeOutputs(loaded.graph, read);
  ASSERT_TRUE(outputs.ok()) << outputs.error().Text();
  const Status ran = loaded.session.Run(loaded.graph, {}, ViewsOf(*outputs), options);
  ASSERT_TRUE(ran.ok()) << ran.error().Text();
  EXPECT_EQ(fed, (std::vector<int64_t>{0, 1, 2}));
  EXPECT_EQ(loaded.session.steps(), 3);
}

// On a device that the host cannot reach every weight is the device's, which counts them.
TEST(ApiSession, SessionsHoldTheirWeightsOnceOnRequest) {
  const onnx::TemporaryFolder work;
  const auto device =
      std::make_shared<device::WatchedDevice>(*device::MakeDevice("far", {.devices = 1}));
  SessionOptions own{
      .device = device,
      .config = {{"external_weight", "true"}, {"ASCEND_WORK_PATH", work.path().string()}}};
  SessionOptions sharing = own;
  sharing.shared_weights = std::make_shared<SharedWeights>();
  std::vector<Loaded> loaded;
  std::vector<Bytes> taken;
  for (const SessionOptions& options : {sharing, sharing, own}) {
    const Bytes before = device->taken(device::MemoryType::kDevice);
    loaded.push_back(Load(Example("tiny_cnn"), options));
    ASSERT_TRUE(loaded.back().session.Run(loaded.back().graph, Inputs(loaded.back(), 2)).ok());
    taken.push_back(device->taken(device::MemoryType::kDevice) - before);
  }
  EXPECT_EQ(taken[0] - taken[1], loaded[0].session.memory().weights);
  EXPECT_EQ(taken[2], taken[0]) << "a session that was given nothing to share";
}

TEST(ApiSession, PlacedBuffersLieInsideThePeakAndNeverShareBytes) {
  Loaded loaded = Load(Example("tiny_cnn"));
  const std::vector<Tensor> inputs = Inputs(loaded, 3);
  const auto plan = loaded.session.Plan(loaded.graph, ConstViewsOf(inputs));
  const auto placed = loaded.session.PlacedBuffers(loaded.graph, ConstViewsOf(inputs));
  ASSERT_TRUE(placed.ok()) << placed.error().Text();
  ASSERT_FALSE(placed->empty());
  Bytes highest;
  for (const PlacedBuffer& a : *placed) {
    EXPECT_LT(a.begin, a.end) << a.name;
    highest = std::max(highest, Bytes((a.offset + a.size).value()));
    for (const PlacedBuffer& b : *placed) {
      const bool together = a.begin < b.end && b.begin < a.end;
      const bool apart = a.offset + a.size <= b.offset || b.offset + b.size <= a.offset;
      EXPECT_TRUE(&a == &b || !together || apart) << a.name << " and " << b.name;
    }
  }
  EXPECT_LE(highest, plan->peak);
  EXPECT_EQ(highest.RoundUp(512), plan->peak);
}

TEST(ApiSession, FilesGoBeforeTheEnvironmentAndBehindThePrograms) {
  const onnx::TemporaryFolder folder;
  const std::string file = (folder.path() / "run.toml").string();
  std::ofstream(file) << "deterministic = 1\nstatic_memory_policy = 3\n";
  const auto in_force = [&](const SessionOptions& options, const std::string& name) {
    const auto text = Session::EffectiveConfigJson(options);
    EXPECT_TRUE(text.ok()) << text.error().Text();
    return nlohmann::json::parse(*text).at(name).at("value").get<std::string>();
  };
  const SessionOptions both{.config = {{"static_memory_policy", "2"}}, .config_files = {file}};
  EXPECT_EQ(in_force(both, "deterministic"), "1");
  EXPECT_EQ(in_force(both, "static_memory_policy"), "2");
  EXPECT_EQ(in_force({}, "graph_run_mode"), "0");
  EXPECT_EQ(in_force({.npu_run_config = true}, "graph_run_mode"), "1");
  EXPECT_TRUE(Session::Create(both).ok());
  EXPECT_EQ(Session::Create({.config_files = {file + ".none"}}).error().kind, ErrorKind::kBadFile);
  EXPECT_FALSE(Session::EffectiveConfigJson({.config = {{"nothing", "2"}}}).ok());
}

TEST(ApiSession, ADeviceThatCannotRunTheCpusKernelsIsRefused) {
  auto card = device::CudaDevice::Create({.driver = device::StandinLibrary()});
  ASSERT_TRUE(card.ok()) << card.error().Text();
  SessionOptions options;
  options.device = std::move(*card);
  const auto session = Session::Create(options);
  ASSERT_FALSE(session.ok());
  EXPECT_EQ(session.error().code, "session.no_kernels");
  EXPECT_EQ(session.error().kind, ErrorKind::kUnsupported);
}

}  // namespace
}  // namespace api_session_test
}  // namespace plimsoll
