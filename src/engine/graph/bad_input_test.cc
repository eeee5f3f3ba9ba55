#include <gtest/gtest.h>

#include <atomic>

#include "engine/session_for_tests.h"
#include "plimsoll/device/cpu_device.h"

// What callers and models can do wrong, each with its code; afterwards the session still works.
namespace plimsoll::engine {
namespace bad_input_test {

using compile::FloatTensor;
using compile::With;
using graph::DataType;
using graph::Dim;
using graph::Graph;
using graph::GraphBuilder;
using graph::ValueId;
using graph::ValueType;
using kernels::HostTensor;
using kernels::HostValue;

// y[n,3] = x[n,3] + 1 with an open n, and a session that holds it.
class BadInputTest : public testing::Test {
 protected:
  void TearDown() override {
    EXPECT_EQ(ElementsOf(MustRun(*session_, id_, {Floats({1, 3}, {1, 2, 3})})[0]),
              (std::vector<float>{2, 3, 4}))
        << "the session works on";
  }
  Status Run(const std::vector<TensorView>& inputs, const std::vector<TensorView>& outputs,
             const RunOptions& options = {}) {
    return session_->Run(id_, inputs, outputs, options);
  }

  const std::unique_ptr<Session> session_ = MakeSession();
  const GraphId id_ = MustAdd(*session_, AddOne({Dim::Symbol("n"), 3}));
  const HostTensor x_ = Random({2, 3}, 1);
  const HostTensor y_ = Random({2, 3}, 2);
};

TEST_F(BadInputTest, EachMistakeHasItsCode) {
  const TensorView x = View(x_);
  const TensorView y = View(y_);
  const auto changed = [](TensorView tensor, const auto& change) {
    change(tensor);
    return tensor;
  };
  const TensorView integers = changed(x, [](TensorView& t) { t.type = DataType::kInt64; });
  const TensorView untyped = changed(x, [](TensorView& t) { t.type = DataType::kUndefined; });
  const TensorView flat = changed(x, [](TensorView& t) { t.dims = {6}; });
  const TensorView narrow = changed(x, [](TensorView& t) { t.dims = {3, 2}; });
  const TensorView negative = changed(x, [](TensorView& t) { t.dims = {-1, 3}; });
  const TensorView nowhere = changed(x, [](TensorView& t) { t.data = nullptr; });
  const TensorView columns = changed(x, [](TensorView& t) { t.strides = Ints{1, 2}; });
  const TensorView gaps = changed(x, [](TensorView& t) { t.strides = Ints{4, 1}; });
  const TensorView one_stride = changed(x, [](TensorView& t) { t.strides = Ints{1}; });
  const TensorView short_rows = changed(y, [](TensorView& t) { t.dims = {1, 3}; });
  const TensorView bytes = changed(y, [](TensorView& t) { t.type = DataType::kUint8; });
  const TensorView no_result = changed(y, [](TensorView& t) { t.data = nullptr; });
  const TensorView result_columns = changed(y, [](TensorView& t) { t.strides = Ints{1, 2}; });
  struct Case {
    const char* code;
    std::vector<TensorView> inputs;
    std::vector<TensorView> outputs;
  };
  const std::vector<Case> cases = {
      {"run.inputs", {}, {y}},
      {"run.inputs", {x, x}, {y}},
      {"run.outputs", {x}, {}},
      {"run.outputs", {x}, {y, y}},
      {"run.type", {integers}, {y}},
      {"run.type", {untyped}, {y}},
      {"run.type", {x}, {bytes}},
      {"run.shape", {flat}, {y}},
      {"run.shape", {narrow}, {y}},
      {"run.shape", {negative}, {y}},
      {"run.shape", {x}, {short_rows}},
      {"run.memory", {nowhere}, {y}},
      {"run.memory", {x}, {no_result}},
      {"run.strides", {columns}, {y}},
      {"run.strides", {gaps}, {y}},
      {"run.strides", {one_stride}, {y}},
      {"run.strides", {x}, {result_columns}},
  };
  for (size_t i = 0; i < cases.size(); ++i) {
    const Status refused = Run(cases[i].inputs, cases[i].outputs);
    ASSERT_FALSE(refused.ok()) << "case " << i;
    EXPECT_EQ(refused.error().code, cases[i].code) << "case " << i;
    EXPECT_EQ(refused.error().kind, ErrorKind::kUsage) << "case " << i;
    EXPECT_FALSE(refused.error().where.empty()) << "case " << i;
    EXPECT_EQ(CodeOf(Run({x}, {y})), "") << "after case " << i;
  }
}

TEST_F(BadInputTest, ARefusalNamesThePortAndWhatWasGiven) {
  TensorView wrong = View(x_);
  wrong.dims = {2, 4};
  const Status refused = Run({wrong}, {View(y_)});
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().where.find("'x'"), std::string::npos);
  EXPECT_NE(refused.error().why.find("float32[n,3]"), std::string::npos);
  EXPECT_NE(refused.error().why.find("float32[2,4]"), std::string::npos);
}

TEST_F(BadInputTest, StridesThatSayRowMajorAreTaken) {
  TensorView x = View(x_);
  x.strides = Ints{3, 1};
  EXPECT_EQ(CodeOf(Run({x}, {View(y_)})), "");
  TensorView one_row = View(Floats({1, 3}, {1, 2, 3}));
  one_row.dims = {1, 3};
  one_row.data = x_.data.get();
  one_row.strides = Ints{77, 1};  // nobody steps along an axis of one
  TensorView result = View(y_);
  result.dims = {1, 3};
  EXPECT_EQ(CodeOf(Run({one_row}, {result})), "");
}

TEST_F(BadInputTest, MisalignedMemoryIsCopied) {
  std::vector<std::byte> from(6 * sizeof(float) + 64);
  std::vector<std::byte> to(6 * sizeof(float) + 64, std::byte{0x55});
  for (const size_t shift : {1, 2, 3, 4, 16}) {
    TensorView x = View(x_);
    x.data = from.data() + shift;
    std::memcpy(x.data, x_.data.get(), 6 * sizeof(float));
    TensorView y = View(y_);
    y.data = to.data() + shift;
    ASSERT_EQ(CodeOf(Run({x}, {y})), "") << shift;
    const std::vector<float> expected = ElementsOf(x_);
    for (size_t i = 0; i < expected.size(); ++i) {
      float got = 0;
      std::memcpy(&got, to.data() + shift + i * sizeof(float), sizeof(float));
      EXPECT_EQ(got, expected[i] + 1) << shift;
    }
    EXPECT_EQ(to[shift - 1], std::byte{0x55}) << shift;
    EXPECT_EQ(to[shift + 6 * sizeof(float)], std::byte{0x55}) << shift;
    std::fill(to.begin(), to.end(), std::byte{0x55});
  }
}

TEST_F(BadInputTest, ACancelledRunSaysSoAndTheNextOneRuns) {
  std::atomic<bool> cancelled = true;
  EXPECT_EQ(CodeOf(Run({View(x_)}, {View(y_)}, {.cancelled = &cancelled})), "run.cancelled");
  EXPECT_EQ(CodeOf(session_->RunValues(id_, Values({x_}), {.cancelled = &cancelled}).status()),
            "run.cancelled");
  cancelled = false;
  EXPECT_EQ(CodeOf(Run({View(x_)}, {View(y_)}, {.cancelled = &cancelled})), "");
}

TEST_F(BadInputTest, ValuesOfTheWrongKindTypeOrCountAreRefused) {
  EXPECT_EQ(CodeOf(session_->RunValues(id_, {}).status()), "run.inputs");
  EXPECT_EQ(CodeOf(session_->RunValues(id_, Values({x_, x_})).status()), "run.inputs");
  EXPECT_EQ(CodeOf(session_->RunValues(id_, Values({Random({2, 4}, 1)})).status()), "run.shape");
  EXPECT_EQ(
      CodeOf(session_->RunValues(id_, Values({Random({2, 3}, 1, DataType::kInt64)})).status()),
      "run.type");
}

TEST_F(BadInputTest, SequencesAndTensorsAreNotMistakenForEachOther) {
  EXPECT_EQ(CodeOf(session_->RunValues(id_, {HostValue()}).status()), "run.kind");
  EXPECT_EQ(CodeOf(session_->RunValues(id_, {HostValue::Sequence(Values({x_}))}).status()),
            "run.kind");
  GraphBuilder builder;
  const ValueId list = builder.Input("list", ValueType::Sequence(FloatTensor({2, 3})));
  builder.Output(builder.Node("SequenceAt", {list, builder.Int64("first", 0)}));
  const GraphId at = MustAdd(*session_, builder.Build());
  EXPECT_EQ(CodeOf(session_->RunValues(at, Values({x_})).status()), "run.kind");
  EXPECT_EQ(CodeOf(session_->Run(at, std::vector<TensorView>{View(x_)},
                                 std::vector<TensorView>{View(y_)})),
            "run.kind");
  const auto outputs = MustRunValues(*session_, at, {HostValue::Sequence(Values({x_}))});
  EXPECT_EQ(ElementsOf(outputs[0].tensor), ElementsOf(x_));
}

TEST_F(BadInputTest, CompilingAheadLooksAtEverythingButMemory) {
  const auto compile = [&](const std::vector<TensorView>& inputs) {
    return CodeOf(session_->Compile(id_, inputs).status());
  };
  TensorView x = View(x_);
  x.data = nullptr;
  EXPECT_EQ(compile({x}), "");
  EXPECT_EQ(compile({}), "run.inputs");
  EXPECT_EQ(compile({x, x}), "run.inputs");
  x.dims = {2};
  EXPECT_EQ(compile({x}), "run.shape");
  x.dims = {2, 3};
  x.type = DataType::kBool;
  EXPECT_EQ(compile({x}), "run.type");
}

TEST_F(BadInputTest, ShapesBeyondAllMemoryAreRefused) {
  TensorView x = View(x_);
  for (const int64_t rows : {int64_t{1} << 50, int64_t{1} << 60, int64_t{1} << 62}) {
    x.dims = {rows, 3};
    EXPECT_FALSE(session_->RunValues(id_, {HostValue::Of({x.type, x.dims, x_.data})}).ok());
  }
}

TEST_F(BadInputTest, WhatAKernelRefusesLeavesTheGraphUsable) {
  GraphBuilder builder;
  const ValueId table = builder.Float32s("table", {3, 2}, {1, 2, 3, 4, 5, 6});
  const ValueId at =
      builder.Input("at", ValueType::Tensor(DataType::kInt64, graph::Shape{Dim::Symbol("n")}));
  builder.Output(builder.Node("Gather", {table, at}));
  const GraphId gather = MustAdd(*session_, builder.Build());
  const auto indices = [](std::vector<int64_t> elements) {
    HostTensor tensor =
        *kernels::AllocateOnHeap(DataType::kInt64, {static_cast<int64_t>(elements.size())});
    std::memcpy(tensor.data.get(), elements.data(), elements.size() * sizeof(int64_t));
    return tensor;
  };
  for (int run = 0; run < 2; ++run) {
    EXPECT_EQ(CodeOf(session_->RunValues(gather, Values({indices({0, 3})})).status()),
              "kernel.input");
    EXPECT_EQ(CodeOf(session_->RunValues(gather, Values({indices({-4, 0})})).status()),
              "kernel.input");
    EXPECT_EQ(ElementsOf(MustRun(*session_, gather, {indices({2, -3})})[0]),
              (std::vector<float>{5, 6, 1, 2}));
  }
}

TEST_F(BadInputTest, AnOperatorWithoutKernelIsUnsupportedWhereverItIsFound) {
  GraphBuilder builder;
  const ValueId x = builder.Input("x", FloatTensor({2}));
  builder.Output(builder.Nodes("Conjure", {x}, 1, {}, "com.example")[0]);
  const auto added = session_->Add(builder.Build());
  const Status failed =
      added.ok() ? session_->RunValues(*added, Values({Random({2}, 1)})).status() : added.status();
  ASSERT_FALSE(failed.ok());
  EXPECT_EQ(failed.error().kind, ErrorKind::kUnsupported);
  EXPECT_EQ(failed.error().code, "kernel.unsupported");
  EXPECT_NE(failed.error().Text().find("Conjure"), std::string::npos) << failed.error().Text();
  if (!added.ok()) return;
  const Status again = session_->RunValues(*added, Values({Random({2}, 1)})).status();
  EXPECT_EQ(CodeOf(again), "kernel.unsupported") << "the reason does not get lost";
}

TEST_F(BadInputTest, AModelWithoutItsWeightsIsRefused) {
  GraphBuilder builder;
  const ValueId x = builder.Input("x", FloatTensor({2, 4}));
  const ValueId w = builder.Float32s("w", {4, 4}, std::vector<float>(16, 1));
  builder.Output(builder.Node("MatMul", {x, w}));
  Graph graph = builder.Build();
  graph.constants[0].missing = true;
  graph.constants[0].bytes = {};
  graph.constants[0].storage.reset();
  const auto added = session_->Add(std::move(graph));
  const Status failed = added.ok()
                            ? session_->RunValues(*added, Values({Random({2, 4}, 1)})).status()
                            : added.status();
  EXPECT_EQ(CodeOf(failed), "run.weights_missing");
}

// A convolution whose feature map takes 64 KiB for each image.
Graph ImagesGraph() {
  GraphBuilder builder;
  const ValueId x = builder.Input("x", FloatTensor({Dim::Symbol("n"), 4, 32, 32}));
  ValueId y = x;
  for (int i = 0; i < 3; ++i) {
    y = builder.Node(
        "Conv",
        {y, builder.Float32s("w" + std::to_string(i), {4, 4, 3, 3}, std::vector<float>(144, 0.1F))},
        With("pads", Ints{1, 1, 1, 1}));
  }
  builder.Output(y);
  return builder.Build();
}

TEST_F(BadInputTest, APlanThatDoesNotFitTheDeviceIsRefusedAndASmallerOneRuns) {
  const auto device = std::make_shared<device::CpuDevice>(device::CpuOptions{.capacity = MiB(1)});
  const auto memory = std::make_shared<FeatureMemory>(device, device->Current(),
                                                      config::StaticMemoryPolicy::kByGraph);
  const auto weights =
      std::make_shared<SessionWeights>(config::RunConfig(), device, device->Current());
  const auto loaded = LoadedGraph::Load(ImagesGraph(), {}, {memory, weights});
  ASSERT_TRUE(loaded.ok()) << loaded.error().Text();
  for (int run = 0; run < 2; ++run) {
    const auto large = (*loaded)->RunValues(Values({Random({64, 4, 32, 32}, 1)}), {});
    ASSERT_FALSE(large.ok());
    EXPECT_EQ(large.error().code, "memory.out_of_memory");
    EXPECT_EQ(large.error().kind, ErrorKind::kDoesNotFit);
    EXPECT_EQ(memory->reserved(), Bytes(0));
    const auto small = (*loaded)->RunValues(Values({Random({1, 4, 32, 32}, 1)}), {});
    EXPECT_TRUE(small.ok()) << (small.ok() ? "" : small.error().Text());
  }
}

}  // namespace bad_input_test
}  // namespace plimsoll::engine
