#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>

#include "engine/models_for_tests.h"
#include "engine/noted_kernels_for_tests.h"
#include "engine/random/configured_runs_for_tests.h"
#include "kernels/parallel.h"

// deterministic=1: the same bytes for the same input, run after run and with any number of threads.
namespace plimsoll::engine {
namespace deterministic_test {

using compile::FloatTensor;
using compile::With;
using graph::Graph;
using graph::GraphBuilder;
using graph::Shape;
using graph::ValueId;
using kernels::HostTensor;

SessionOptions OptionsOf(int threads, bool deterministic) {
  config::RunConfig config;
  config.deterministic = deterministic;
  SessionOptions options = Under(config);
  options.threads = threads;
  return options;
}

std::vector<std::vector<std::byte>> RunWith(const Graph& graph,
                                            const std::vector<HostTensor>& inputs, int threads,
                                            bool deterministic) {
  const auto session = MakeSession(OptionsOf(threads, deterministic));
  const GraphId id = MustAdd(*session, graph);
  std::vector<std::vector<std::byte>> bytes;
  for (int run = 0; run < 2; ++run) {
    std::vector<std::vector<std::byte>> now;
    for (const HostTensor& output : MustRun(*session, id, inputs)) now.push_back(BytesOf(output));
    EXPECT_TRUE(run == 0 || now == bytes) << threads << " threads, run again";
    bytes = std::move(now);
  }
  return bytes;
}

void ExpectOneAnswer(const std::string& what, const Graph& graph,
                     const std::vector<HostTensor>& inputs) {
  const auto one = RunWith(graph, inputs, 1, true);
  ASSERT_FALSE(one.empty()) << what;
  for (const int threads : {2, 3, 4}) {
    EXPECT_TRUE(RunWith(graph, inputs, threads, true) == one) << what << ", " << threads;
  }
}

Graph OneNode(const std::string& op, Shape shape, graph::Attributes attributes = {}) {
  GraphBuilder builder;
  const ValueId x = builder.Input("x", FloatTensor(std::move(shape)));
  builder.Output(builder.Node(op, {x}, std::move(attributes)));
  return builder.Build();
}

// Sizes that no number of threads and no vector width divides.
constexpr int64_t kMany = 100'003;

TEST(DeterministicTest, R112_ElementwiseFunctions) {
  for (const char* op : {"Exp", "Tanh", "Erf", "Sigmoid", "Gelu", "Softplus", "Sin", "Mish", "Elu",
                         "HardSwish", "Sqrt", "Reciprocal"}) {
    ExpectOneAnswer(op, OneNode(op, {kMany}), {Random({kMany}, 1)});
  }
}

TEST(DeterministicTest, R112_Reductions) {
  for (const char* op : {"ReduceSum", "ReduceMean", "ReduceL2", "ReduceLogSumExp", "ReduceProd"}) {
    for (const Ints& axes : {Ints{0}, Ints{1}, Ints{0, 1}}) {
      GraphBuilder builder;
      const ValueId x = builder.Input("x", FloatTensor({317, 411}));
      builder.Output(builder.Node(op, {x, builder.Int64s("axes", axes)}));
      ExpectOneAnswer(op, builder.Build(), {Random({317, 411}, 2)});
    }
  }
  ExpectOneAnswer("Softmax", OneNode("Softmax", {317, 411}, With("axis", int64_t{-1})),
                  {Random({317, 411}, 3)});
  ExpectOneAnswer("Softmax of columns", OneNode("Softmax", {317, 411}, With("axis", int64_t{0})),
                  {Random({317, 411}, 3)});
  GraphBuilder builder;
  const ValueId x = builder.Input("x", FloatTensor({301, 77}));
  builder.Output(builder.Node("LayerNormalization", {x, RandomWeights(builder, "scale", {77}, 4),
                                                     RandomWeights(builder, "bias", {77}, 5)}));
  ExpectOneAnswer("LayerNormalization", builder.Build(), {Random({301, 77}, 6)});
}

TEST(DeterministicTest, R112_Products) {
  struct Case {
    int64_t rows, inner, columns;
  };
  for (const Case& size : {Case{1, 2049, 515}, Case{3, 1025, 67}, Case{7, 4099, 5},
                           Case{65, 257, 129}, Case{130, 33, 1}, Case{257, 1031, 259}}) {
    GraphBuilder builder;
    const ValueId x = builder.Input("x", FloatTensor({size.rows, size.inner}));
    const ValueId w = RandomWeights(builder, "w", {size.inner, size.columns}, 7);
    builder.Output(builder.Node("MatMul", {x, w}));
    ExpectOneAnswer("MatMul with a constant", builder.Build(),
                    {Random({size.rows, size.inner}, 8)});

    GraphBuilder free;
    const ValueId a = free.Input("a", FloatTensor({2, size.rows, size.inner}));
    const ValueId b = free.Input("b", FloatTensor({2, size.inner, size.columns}));
    free.Output(free.Node("MatMul", {a, b}));
    ExpectOneAnswer(
        "MatMul of inputs", free.Build(),
        {Random({2, size.rows, size.inner}, 9), Random({2, size.inner, size.columns}, 10)});
  }
}

TEST(DeterministicTest, R112_ConvolutionsOfEveryShape) {
  struct Case {
    Ints input, weights;
    int64_t groups;
    int64_t stride = 1;
  };
  for (const Case& size :
       {Case{{1, 3, 33, 35}, {16, 3, 3, 3}, 1}, Case{{2, 64, 7, 7}, {96, 64, 1, 1}, 1},
        Case{{1, 256, 5, 5}, {40, 256, 3, 3}, 1}, Case{{1, 32, 19, 21}, {32, 1, 3, 3}, 32},
        Case{{3, 24, 9, 9}, {48, 12, 3, 3}, 2}, Case{{1, 512, 2, 2}, {512, 512, 3, 3}, 1},
        Case{{1, 1, 8}, {1, 1, 2}, 1, 2}, Case{{2, 5, 16}, {5, 5, 2}, 1, 2},
        Case{{2, 8, 9}, {8, 8, 2}, 1}, Case{{1, 4, 8, 8}, {1, 4, 2, 2}, 1, 2},
        // Sums of rows that are worth it in stripes of several rows, which four threads cut short.
        Case{{1, 16, 9, 9}, {3, 16, 3, 3}, 1}}) {
    GraphBuilder builder;
    const ValueId x = builder.Input("x", FloatTensor(graph::ShapeOf(kernels::Dims(size.input))));
    graph::Attributes attributes = With("group", size.groups);
    const int64_t pad = size.weights[2] / 2;
    attributes.Set("pads", Ints(2 * (size.weights.size() - 2), pad));
    attributes.Set("strides", Ints(size.weights.size() - 2, size.stride));
    builder.Output(builder.Node("Conv", {x, RandomWeights(builder, "w", size.weights, 11)},
                                std::move(attributes)));
    ExpectOneAnswer("Conv", builder.Build(), {Random(size.input, 12)});
  }
  GraphBuilder builder;
  const ValueId x = builder.Input("x", FloatTensor({1, 24, 13, 11}));
  builder.Output(builder.Node("ConvTranspose", {x, RandomWeights(builder, "w", {24, 17, 3, 3}, 13)},
                              With("strides", Ints{2, 2})));
  ExpectOneAnswer("ConvTranspose", builder.Build(), {Random({1, 24, 13, 11}, 14)});
}

TEST(DeterministicTest, R112_RecurrentAndScatteredSums) {
  GraphBuilder builder;
  const ValueId x = builder.Input("x", FloatTensor({9, 5, 31}));
  const std::vector<ValueId> made =
      builder.Nodes("LSTM",
                    {x, RandomWeights(builder, "w", {1, 4 * 43, 31}, 1),
                     RandomWeights(builder, "r", {1, 4 * 43, 43}, 2)},
                    1, With("hidden_size", int64_t{43}));
  builder.Output(made[0]);
  ExpectOneAnswer("LSTM", builder.Build(), {Random({9, 5, 31}, 15)});

  GraphBuilder scatter;
  const ValueId data = scatter.Input("data", FloatTensor({64}));
  std::vector<int64_t> indices;
  for (int64_t i = 0; i < 5000; ++i) indices.push_back(i * 7 % 64);
  graph::Attributes attributes = With("axis", int64_t{0});
  attributes.Set("reduction", std::string("add"));
  scatter.Output(scatter.Node(
      "ScatterElements",
      {data, scatter.Int64s("indices", indices), RandomWeights(scatter, "updates", {5000}, 16)},
      std::move(attributes)));
  ExpectOneAnswer("ScatterElements", scatter.Build(), {Random({64}, 17)});
}

TEST(DeterministicTest, R112_WholeNetworks) {
  ExpectOneAnswer("convolutions", ConvolutionalNetwork(), {Random({1, 3, 20, 20}, 4)});
  for (const int64_t rows : {1, 33, 190}) {
    ExpectOneAnswer("attention", TransformerLayer(3, rows), {Random({3, rows, kModelWidth}, 4)});
  }
}

// An MLP whose wide layer makes the peak.
Graph WideLayer() {
  GraphBuilder builder;
  const ValueId x = builder.Input("x", FloatTensor({96, 128}));
  const ValueId wide = builder.Node("MatMul", {x, RandomWeights(builder, "up", {128, 2048}, 18)});
  builder.Output(builder.Node(
      "MatMul", {builder.Node("Relu", {wide}), RandomWeights(builder, "down", {2048, 128}, 19)}));
  return builder.Build();
}

// What `count` finds in a graph as a session of so many threads compiles it.
int64_t CountedIn(const Graph& graph, const HostTensor& input, int threads, bool deterministic,
                  const std::function<int64_t(const compile::CompiledModel&)>& count) {
  const auto session = MakeSession(OptionsOf(threads, deterministic));
  const auto executable = session->Compile(MustAdd(*session, graph), Views({input}));
  EXPECT_TRUE(executable.ok() && *executable != nullptr);
  return count((*executable)->model());
}

// Nodes that multiply with some rows of their weights, and add to the sum of others.
int64_t SumSlicesIn(int threads, bool deterministic) {
  return CountedIn(WideLayer(), Random({96, 128}, 20), threads, deterministic,
                   [](const compile::CompiledModel& model) {
                     const auto& nodes = model.graph.root().nodes;
                     return std::count_if(nodes.begin(), nodes.end(), [&](auto id) {
                       return model.graph[id].attributes.Int("first_depth", 0) > 0;
                     });
                   });
}

// What is between two products comes in slices where the peak falls by it, and threads decide how
// many: a plan that must not depend on them has none.
TEST(DeterministicTest, R112_SumsAreNotCutIntoSlices) {
  EXPECT_GT(SumSlicesIn(1, false), 0);
  EXPECT_NE(SumSlicesIn(1, false), SumSlicesIn(5, false));
  const std::vector<HostTensor> input = {Random({96, 128}, 20)};
  const auto one = RunWith(WideLayer(), input, 1, true);
  for (const int threads : {1, 2, 5}) {
    EXPECT_EQ(SumSlicesIn(threads, true), 0) << threads;
    EXPECT_TRUE(RunWith(WideLayer(), input, threads, true) == one) << threads;
  }
}

Graph WindowsOfNine() {
  GraphBuilder builder;
  ValueId x = builder.Input("x", FloatTensor({1, 64, 56, 56}));
  for (int i = 0; i < 3; ++i) {
    const ValueId w = RandomWeights(builder, "w" + std::to_string(i), {64, 64, 3, 3}, 21 + i);
    x = builder.Node("Conv", {x, w}, With("pads", Ints{1, 1, 1, 1}));
  }
  builder.Output(x);
  return builder.Build();
}

int64_t WinogradKernelsIn(int threads, bool deterministic) {
  return CountedIn(WindowsOfNine(), Random({1, 64, 56, 56}, 24), threads, deterministic,
                   [](const compile::CompiledModel& model) {
                     const auto& kernels = model.kernels;
                     return std::count_if(kernels.begin(), kernels.end(), [](const auto& kernel) {
                       return kernel != nullptr && kernel->implementation() == "ours:winograd";
                     });
                   });
}

// Which convolutions get larger weights for less time depends on threads too.
TEST(DeterministicTest, R112_NoMemoryIsTradedForTime) {
  EXPECT_GT(WinogradKernelsIn(1, false), 0);
  const std::vector<HostTensor> input = {Random({1, 64, 56, 56}, 24)};
  const auto one = RunWith(WindowsOfNine(), input, 1, true);
  for (const int threads : {1, 2, 5, 16}) {
    EXPECT_EQ(WinogradKernelsIn(threads, true), 0) << threads;
    EXPECT_TRUE(RunWith(WindowsOfNine(), input, threads, true) == one) << threads;
  }
}

// Off, results may differ in their last bits, and nothing else.
TEST(DeterministicTest, R111_OffIsTheDefaultAndBothRun) {
  EXPECT_FALSE(config::RunConfig().deterministic);
  const std::vector<HostTensor> image = {Random({1, 3, 20, 20}, 4)};
  EXPECT_EQ(RunWith(ConvolutionalNetwork(), image, 1, false)[0].size(),
            RunWith(ConvolutionalNetwork(), image, 1, true)[0].size());
}

// Random numbers follow their seed, and not this option.
TEST(DeterministicTest, R113_RandomNumbersNeedASeed) {
  const auto noise = [](std::optional<float> seed, bool deterministic) {
    GraphBuilder builder;
    const ValueId x = builder.Input("x", FloatTensor({64}));
    graph::Attributes attributes;
    if (seed) attributes.Set("seed", *seed);
    builder.Output(builder.Node("Add", {x, builder.Node("RandomNormalLike", {x}, attributes)}));
    config::RunConfig config;
    config.deterministic = deterministic;
    const auto session = MakeSession(Under(config));
    const GraphId id = MustAdd(*session, builder.Build());
    return BytesOf(MustRun(*session, id, {Random({64}, 1)})[0]);
  };
  EXPECT_EQ(noise(3.0F, true), noise(3.0F, true));
  EXPECT_NE(noise(3.0F, true), noise(4.0F, true));
  for (const std::optional<float> seed : {std::optional<float>(3.0F), std::optional<float>()}) {
    EXPECT_EQ(noise(seed, true), noise(seed, false));
  }
}

// The session's threads and determinism, as kernels of one call of it saw them.
void ExpectNotesOf(const SessionOptions& options, const std::string& call, bool ran) {
  const std::vector<KernelNote> notes = KernelNotes::Of().Take();
  ASSERT_FALSE(notes.empty()) << call;
  EXPECT_EQ(notes.back().ran, ran) << call;
  for (const KernelNote& note : notes) {
    EXPECT_EQ(note.threads, options.threads) << call;
    EXPECT_EQ(note.deterministic, options.config.deterministic) << call;
  }
}

// Calls of two sessions take turns in one thread: each prepares and runs kernels as its own says,
// and leaves the thread as the caller had it.
TEST(DeterministicTest, EveryCallPreparesAndRunsKernelsAsItsSessionSays) {
  const std::map<std::string, std::function<Status(Session&, GraphId)>> calls = {
      {"Compile", [](auto& session,
                     GraphId id) { return session.Compile(id, Views({Random({4}, 1)})).status(); }},
      {"Reserve",
       [](auto& session, GraphId id) { return session.Reserve(id, Views({Random({4}, 1)})); }},
      {"RunValues",
       [](auto& session, GraphId id) {
         return session.RunValues(id, Values({Random({4}, 1)})).status();
       }},
  };
  SessionOptions exact;
  exact.threads = 3;
  exact.config.deterministic = true;
  const kernels::ThreadScope callers(5);
  for (const auto& [name, call] : calls) {
    for (const SessionOptions& options : {exact, SessionOptions()}) {
      const auto session = MakeSession(options);
      const GraphId id = MustAdd(*session, NotedCopies());
      EXPECT_EQ(kernels::Threads(), 5) << "Add";
      EXPECT_EQ(CodeOf(call(*session, id)), "") << name;
      EXPECT_EQ(kernels::Threads(), 5) << name;
      ExpectNotesOf(options, name, name == "RunValues");
    }
  }
}

// The same where kernels are prepared as the walk reaches their nodes.
TEST(DeterministicTest, NodeByNodeRunsPrepareKernelsAsTheirSessionSays) {
  SessionOptions exact;
  exact.threads = 3;
  exact.config.deterministic = true;
  for (const SessionOptions& options : {exact, SessionOptions()}) {
    const auto session = MakeSession(options);
    MustRun(*session, MustAdd(*session, NotedCopies(1, true)), {Random({4}, 1)});
    ExpectNotesOf(options, "RunValues", true);
  }
}

// A compiled graph that is run without its session.
TEST(DeterministicTest, AnExecutableRunsWithTheThreadsThatItWasPreparedFor) {
  SessionOptions options;
  options.threads = 3;
  const auto session = MakeSession(options);
  const HostTensor x = Random({4}, 1);
  const HostTensor made = Random({4}, 2);
  const auto executable = session->Compile(MustAdd(*session, NotedCopies()), Views({x}));
  ASSERT_TRUE(executable.ok() && *executable != nullptr);
  const std::vector<const void*> from = {x.data.get()};
  const std::vector<void*> to = {made.data.get()};
  const kernels::ThreadScope callers(5);
  ASSERT_TRUE(RunPoisoned(**executable, {.inputs = from, .outputs = to}).ok());
  ExpectNotesOf(options, "RunPoisoned", true);
}

}  // namespace deterministic_test
}  // namespace plimsoll::engine
