#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "engine/run/poisoned_run.h"
#include "engine/session_for_tests.h"

// Loop and Scan inside a plan.
namespace plimsoll::engine {
namespace loops_test {

using compile::FloatTensor;
using compile::With;
using graph::Attributes;
using graph::DataType;
using graph::Dim;
using graph::Graph;
using graph::GraphBuilder;
using graph::Shape;
using graph::SubgraphId;
using graph::ValueId;
using graph::ValueType;
using kernels::HostTensor;

ValueType Scalar(DataType type) { return ValueType::Tensor(type, Shape{}); }

// The values that a body is given: the number, the condition, and what is carried.
struct Given {
  ValueId number;
  ValueId running;
  std::vector<ValueId> carried;
};
using MakeBody = std::function<std::vector<ValueId>(GraphBuilder&, const Given&)>;

// A Loop over `carried` whose body gives what `make` does.
std::vector<ValueId> AddLoop(GraphBuilder& builder, ValueId trips, ValueId condition,
                             const std::vector<ValueId>& carried, size_t outputs,
                             const std::string& name, const MakeBody& make) {
  const SubgraphId body = builder.BeginBody(name);
  Given given;
  given.number = builder.BodyInput(name + "_i", {});
  given.running = builder.BodyInput(name + "_go", {});
  for (size_t i = 0; i < carried.size(); ++i) {
    given.carried.push_back(builder.BodyInput(StrCat(name, "_in", i), {}));
  }
  builder.EndBody(make(builder, given));
  std::vector<ValueId> inputs = {trips, condition};
  inputs.insert(inputs.end(), carried.begin(), carried.end());
  return builder.Nodes("Loop", inputs, outputs, With("body", body));
}

std::shared_ptr<const Executable> MustPlan(Session& session, GraphId id,
                                           const std::vector<HostTensor>& inputs) {
  std::string reason;
  const auto compiled = session.Compile(id, Views(inputs), &reason);
  EXPECT_TRUE(compiled.ok()) << compiled.error().Text();
  if (!compiled.ok()) return nullptr;
  EXPECT_NE(*compiled, nullptr) << reason;
  return *compiled;
}

// Runs inside the plan, twice, and once over poison: all give the same, and the plan's peak is not
// exceeded; it is reached where every body runs.
std::vector<HostTensor> MustRunPlanned(const Graph& graph, const std::vector<HostTensor>& inputs,
                                       bool optimise = true, bool bodies_run = true) {
  SessionOptions options;
  options.load.optimise = optimise;
  const auto session = MakeSession(options);
  const GraphId id = MustAdd(*session, graph);
  const auto executable = MustPlan(*session, id, inputs);
  std::vector<HostTensor> made = MustRun(*session, id, inputs);
  if (executable == nullptr) return made;
  const std::vector<HostTensor> again = MustRun(*session, id, inputs);
  std::vector<HostTensor> over_poison;
  std::vector<const void*> read;
  std::vector<void*> written;
  for (const HostTensor& input : inputs) read.push_back(input.data.get());
  for (const HostTensor& output : made) {
    over_poison.push_back(*kernels::AllocateOnHeap(output.type, output.dims));
    written.push_back(over_poison.back().data.get());
  }
  const auto seen = RunPoisoned(*executable, {.inputs = read, .outputs = written});
  EXPECT_TRUE(seen.ok()) << seen.error().Text();
  EXPECT_FALSE(seen->wrote_outside);
  const Bytes planned = compile::FeatureMapPeak(executable->model().planned);
  EXPECT_LE(seen->actual_peak, planned);
  EXPECT_TRUE(seen->actual_peak == planned || !bodies_run) << FormatBytes(seen->actual_peak);
  for (size_t i = 0; i < made.size(); ++i) {
    EXPECT_EQ(ElementsOf(again[i]), ElementsOf(made[i]));
    EXPECT_EQ(ElementsOf(over_poison[i]), ElementsOf(made[i]));
  }
  return made;
}

// sum += x * i, collected; what follows reads both.
Graph Summing(const Dim& rows) {
  GraphBuilder builder;
  const ValueId x = builder.Input("x", FloatTensor({rows, 3}));
  const ValueId start = builder.Node("Neg", {x});
  const auto made =
      AddLoop(builder, builder.Int64("trips", 4), ValueId(), {start}, 2, "sum",
              [&](GraphBuilder& b, const Given& given) {
                const ValueId factor = b.Node("Cast", {given.number},
                                              With("to", static_cast<int64_t>(DataType::kFloat32)));
                const ValueId sum = b.Node("Add", {given.carried[0], b.Node("Mul", {x, factor})});
                return std::vector<ValueId>{b.Node("Identity", {given.running}), sum,
                                            b.Node("Relu", {sum})};
              });
  builder.Output(builder.Node("Abs", {made[0]}));
  builder.Output(made[1]);
  return builder.Build();
}

TEST(LoopsTest, CarriedAndCollectedValuesHaveTheirPlacesInThePlan) {
  const HostTensor x = Floats({1, 3}, {1, -2, 0});
  for (const Dim& rows : {Dim(1), Dim::Symbol("rows")}) {
    for (const bool optimise : {true, false}) {
      const auto made = MustRunPlanned(Summing(rows), {x}, optimise);
      ASSERT_EQ(made.size(), 2U);
      EXPECT_EQ(ElementsOf(made[0]), (std::vector<float>{5, 10, 0}));
      EXPECT_EQ(made[1].dims, (kernels::Dims{4, 1, 3}));
      EXPECT_EQ(ElementsOf(made[1]), (std::vector<float>{0, 2, 0, 0, 0, 0, 2, 0, 0, 5, 0, 0}));
    }
  }
}

// More iterations than their numbers are sent ahead, again and again.
TEST(LoopsTest, EveryIterationOfALongLoopHasItsNumber) {
  GraphBuilder builder;
  const ValueId start = builder.Input("start", FloatTensor({}));
  const auto made =
      AddLoop(builder, builder.Int64("rounds", 3), ValueId(), {start}, 2, "outer",
              [&](GraphBuilder& b, const Given& given) {
                const auto inner =
                    AddLoop(b, b.Int64("trips", 200), ValueId(), {given.carried[0]}, 2, "inner",
                            [](GraphBuilder& c, const Given& more) {
                              const ValueId number =
                                  c.Node("Cast", {more.number},
                                         With("to", static_cast<int64_t>(DataType::kFloat32)));
                              return std::vector<ValueId>{
                                  more.running, c.Node("Add", {more.carried[0], number}), number};
                            });
                return std::vector<ValueId>{given.running, inner[0], inner[1]};
              });
  for (const ValueId one : made) builder.Output(one);
  const auto outputs = MustRunPlanned(builder.Build(), {Floats({}, {0})});
  EXPECT_EQ(ElementsOf(outputs[0]), (std::vector<float>{3 * 199 * 100}));
  const std::vector<float> numbers = ElementsOf(outputs[1]);
  ASSERT_EQ(numbers.size(), 600U);
  for (size_t i = 0; i < numbers.size(); ++i) ASSERT_EQ(numbers[i], static_cast<float>(i % 200));
}

// Trips that only data tells, none of them too.
TEST(LoopsTest, DataTellsHowOftenABodyRuns) {
  GraphBuilder builder;
  const ValueId trips = builder.Input("trips", Scalar(DataType::kInt64));
  const ValueId condition = builder.Input("condition", Scalar(DataType::kBool));
  const ValueId start = builder.Input("start", FloatTensor({2}));
  const auto made = AddLoop(
      builder, trips, condition, {start}, 1, "double", [](GraphBuilder& b, const Given& given) {
        const ValueId next = b.Node("Add", {given.carried[0], given.carried[0]});
        const ValueId largest = b.Node("ReduceMax", {next}, With("keepdims", int64_t{0}));
        return std::vector<ValueId>{b.Node("Less", {largest, b.Float32s("bound", {}, {100})}),
                                    next};
      });
  builder.Output(made[0]);
  const Graph graph = builder.Build();
  const HostTensor start_given = Floats({2}, {1, 3});
  const auto run = [&](int64_t most, bool first) {
    const bool runs = most > 0 && first;
    return ElementsOf(
        MustRunPlanned(graph, {Integer(most), Bool(first), start_given}, true, runs)[0]);
  };
  EXPECT_EQ(run(3, true), (std::vector<float>{8, 24}));
  EXPECT_EQ(run(1000, true), (std::vector<float>{64, 192})) << "the condition ends it";
  EXPECT_EQ(run(0, true), (std::vector<float>{1, 3}));
  EXPECT_EQ(run(-5, true), (std::vector<float>{1, 3}));
  EXPECT_EQ(run(3, false), (std::vector<float>{1, 3}));
}

TEST(LoopsTest, CarriedValuesMayChangePlaces) {
  for (const int64_t trips : {1, 2, 5}) {
    GraphBuilder builder;
    const ValueId a = builder.Input("a", FloatTensor({2}));
    const ValueId b = builder.Input("b", FloatTensor({2}));
    const ValueId c = builder.Input("c", FloatTensor({2}));
    const auto made =
        AddLoop(builder, builder.Int64("trips", trips), ValueId(), {a, b, c}, 3, "turn",
                [](GraphBuilder& inner, const Given& given) {
                  const ValueId flat =
                      inner.Node("Unsqueeze", {given.carried[2], inner.Int64s("zero", {0})});
                  return std::vector<ValueId>{
                      given.running, given.carried[1],
                      inner.Node("Squeeze", {flat, inner.Int64s("first", {0})}), given.carried[0]};
                });
    for (const ValueId one : made) builder.Output(one);
    const Graph graph = builder.Build();
    const std::vector<HostTensor> inputs = {Floats({2}, {1, 2}), Floats({2}, {3, 4}),
                                            Floats({2}, {5, 6})};
    for (const bool optimise : {true, false}) {
      const auto outputs = MustRunPlanned(graph, inputs, optimise);
      for (size_t i = 0; i < 3; ++i) {
        EXPECT_EQ(ElementsOf(outputs[i]), ElementsOf(inputs[(i + static_cast<size_t>(trips)) % 3]))
            << trips;
      }
    }
  }
}

// The condition is the old value of something that the same iteration replaces.
TEST(LoopsTest, TheConditionIsLookedAtBeforeItIsReplaced) {
  GraphBuilder builder;
  const ValueId flag = builder.Input("flag", Scalar(DataType::kBool));
  const ValueId start = builder.Input("start", FloatTensor({}));
  const auto made = AddLoop(
      builder, builder.Int64("trips", 10), builder.Node("Not", {builder.Node("Not", {flag})}),
      {flag, start}, 2, "once", [](GraphBuilder& b, const Given& given) {
        const ValueId one = b.Float32s("one", {}, {1});
        return std::vector<ValueId>{given.carried[0], b.Node("Not", {given.carried[0]}),
                                    b.Node("Add", {given.carried[1], one})};
      });
  for (const ValueId one : made) builder.Output(one);
  const auto outputs = MustRunPlanned(builder.Build(), {Bool(true), Floats({}, {0})});
  EXPECT_EQ(ElementsOf(outputs[1]), (std::vector<float>{2}));
}

// A result takes the place of what it replaces, unless that is still read.
TEST(LoopsTest, AResultIsNotWrittenOverWhatIsStillRead) {
  for (const bool read_later : {true, false}) {
    GraphBuilder builder;
    const ValueId x = builder.Input("x", FloatTensor({600}));
    const ValueId start = builder.Node("Neg", {x});
    const auto made = AddLoop(builder, builder.Int64("trips", 3), ValueId(), {start}, 2, "turn",
                              [&](GraphBuilder& b, const Given& given) {
                                const ValueId next = b.Node("Sin", {given.carried[0]});
                                const ValueId last = read_later ? given.carried[0] : next;
                                const ValueId sum =
                                    b.Node("ReduceSum", {b.Node("Mul", {next, last})},
                                           With("keepdims", int64_t{0}));
                                return std::vector<ValueId>{given.running, next, sum};
                              });
    builder.Output(builder.Node("Abs", {made[0]}));
    builder.Output(made[1]);
    const Graph graph = builder.Build();
    const auto outputs = MustRunPlanned(graph, {Random({600}, 1)});
    double value = 0;
    std::vector<double> states;
    for (const float element : ElementsOf(Random({600}, 1))) states.push_back(-element);
    for (size_t trip = 0; trip < 3; ++trip) {
      double sum = 0;
      for (double& state : states) {
        const double next = std::sin(state);
        sum += next * (read_later ? state : next);
        state = next;
      }
      value = sum;
      EXPECT_NEAR(ElementsOf(outputs[1])[trip], sum, 1e-3 * sum) << read_later;
    }
    EXPECT_GT(value, 0);
    const auto session = MakeSession();
    const GraphId id = MustAdd(*session, graph);
    const auto executable = MustPlan(*session, id, {Random({600}, 1)});
    ASSERT_NE(executable, nullptr);
    const auto copies = std::ranges::count_if(executable->program().tasks, [](const Task& task) {
      return task.kind == Task::Kind::kCopy && task.bytes == 2400 && task.after_bodies;
    });
    EXPECT_EQ(copies, read_later ? 1 : 0) << "from the result's place to the next input's";
  }
}

TEST(LoopsTest, ABodyReadsWhatIsAroundItInEveryIterationOfEveryLoop) {
  GraphBuilder builder;
  const ValueId x = builder.Input("x", FloatTensor({2}));
  const ValueId outside = builder.Node("Neg", {x});
  const auto made = AddLoop(
      builder, builder.Int64("outer_trips", 3), ValueId(), {x}, 2, "outer",
      [&](GraphBuilder& b, const Given& given) {
        const ValueId here = b.Node("Add", {given.carried[0], outside});
        const auto inner = AddLoop(
            b, b.Int64("inner_trips", 2), ValueId(), {given.carried[0]}, 2, "inner",
            [&](GraphBuilder& c, const Given& more) {
              const ValueId sum = c.Node("Sub", {c.Node("Add", {more.carried[0], here}), outside});
              return std::vector<ValueId>{more.running, sum, c.Node("Neg", {sum})};
            });
        const ValueId all =
            b.Node("ReduceSum", {inner[1], b.Int64s("axis", {0})}, With("keepdims", int64_t{0}));
        return std::vector<ValueId>{given.running, inner[0], all};
      });
  for (const ValueId one : made) builder.Output(one);
  // s: 1, 3, 9, 27: each inner loop adds the outer value twice.
  const auto outputs = MustRunPlanned(builder.Build(), {Floats({2}, {1, 10})});
  EXPECT_EQ(ElementsOf(outputs[0]), (std::vector<float>{27, 270}));
  EXPECT_EQ(ElementsOf(outputs[1]), (std::vector<float>{-5, -50, -15, -150, -45, -450}));
}

Graph Walking(std::vector<int64_t> axes, std::vector<int64_t> directions, int64_t output_axis,
              int64_t output_direction) {
  GraphBuilder builder;
  const ValueId start = builder.Input("start", FloatTensor({2}));
  const ValueId x = builder.Input("x", axes[0] == 0 ? FloatTensor({3, 2}) : FloatTensor({2, 3}));
  const SubgraphId body = builder.BeginBody("step");
  const ValueId state = builder.BodyInput("state", {});
  const ValueId slice = builder.BodyInput("slice", {});
  const ValueId sum = builder.Node("Add", {state, slice});
  builder.EndBody({sum, builder.Node("Neg", {sum})});
  Attributes attributes = With("body", body);
  attributes.Set("num_scan_inputs", int64_t{1});
  attributes.Set("scan_input_axes", std::move(axes));
  attributes.Set("scan_input_directions", std::move(directions));
  attributes.Set("scan_output_axes", std::vector<int64_t>{output_axis});
  attributes.Set("scan_output_directions", std::vector<int64_t>{output_direction});
  for (const ValueId one : builder.Nodes("Scan", {start, x}, 2, attributes)) builder.Output(one);
  return builder.Build();
}

TEST(LoopsTest, ScansWalkAlongAnyAxisInEitherDirection) {
  const HostTensor start = Floats({2}, {100, 0});
  const auto forward =
      MustRunPlanned(Walking({0}, {0}, 0, 0), {start, Floats({3, 2}, {1, 2, 3, 4, 5, 6})});
  EXPECT_EQ(ElementsOf(forward[0]), (std::vector<float>{109, 12}));
  EXPECT_EQ(ElementsOf(forward[1]), (std::vector<float>{-101, -2, -104, -6, -109, -12}));
  const auto across =
      MustRunPlanned(Walking({-1}, {1}, -1, 1), {start, Floats({2, 3}, {1, 3, 5, 2, 4, 6})});
  EXPECT_EQ(ElementsOf(across[0]), (std::vector<float>{109, 12}));
  EXPECT_EQ(across[1].dims, (kernels::Dims{2, 3}));
  EXPECT_EQ(ElementsOf(across[1]), (std::vector<float>{-109, -108, -105, -12, -10, -6}));
}

// What must be zero is zeroed in each iteration, not once before the run.
TEST(LoopsTest, EachIterationFindsItsMemoryCleared) {
  GraphBuilder builder;
  const ValueId x = builder.Input("x", FloatTensor({1, 1, 1, 2}));
  const auto made = AddLoop(
      builder, builder.Int64("trips", 3), ValueId(), {x}, 2, "unpool",
      [](GraphBuilder& b, const Given& given) {
        const ValueId place = b.Node(
            "Add", {b.Node("Reshape", {given.number, b.Int64s("four", {1, 1, 1, 1})}),
                    b.Node("Reshape", {b.Int64s("pair", {0, 3}), b.Int64s("as", {1, 1, 1, 2})})});
        Attributes attributes;
        attributes.Set("kernel_shape", std::vector<int64_t>{1, 3});
        attributes.Set("strides", std::vector<int64_t>{1, 3});
        return std::vector<ValueId>{given.running, given.carried[0],
                                    b.Node("MaxUnpool", {given.carried[0], place}, attributes)};
      });
  builder.Output(made[1]);
  const auto outputs = MustRunPlanned(builder.Build(), {Floats({1, 1, 1, 2}, {7, 8})});
  EXPECT_EQ(ElementsOf(outputs[0]),
            (std::vector<float>{7, 0, 0, 8, 0, 0, 0, 7, 0, 0, 8, 0, 0, 0, 7, 0, 0, 8}));
}

// A branch that cannot be: the model loads, runs where the other one is taken, and says why where
// it is not.
TEST(LoopsTest, AnImpossibleBranchFailsOnlyWhereItIsTaken) {
  GraphBuilder builder;
  const ValueId condition = builder.Input("condition", Scalar(DataType::kBool));
  const ValueId x = builder.Input("x", FloatTensor({Dim::Symbol("rows"), 4}));
  Attributes attributes;
  const SubgraphId then_branch = builder.BeginBody("then");
  builder.EndBody({builder.Node("Relu", {x})});
  attributes.Set("then_branch", then_branch);
  const SubgraphId else_branch = builder.BeginBody("else");
  builder.EndBody({builder.Node("Reshape", {x, builder.Int64s("two_rows", {2, 4})})});
  attributes.Set("else_branch", else_branch);
  builder.Output(builder.Node("Neg", {builder.Node("If", {condition}, attributes)}));
  const Graph graph = builder.Build();
  for (const bool optimise : {true, false}) {
    SessionOptions options;
    options.load.optimise = optimise;
    const auto session = MakeSession(options);
    const GraphId id = MustAdd(*session, graph);
    const HostTensor one_row = Floats({1, 4}, {1, -2, 3, -4});
    ASSERT_NE(MustPlan(*session, id, {Bool(true), one_row}), nullptr);
    EXPECT_EQ(ElementsOf(MustRun(*session, id, {Bool(true), one_row})[0]),
              (std::vector<float>{-1, 0, -3, 0}));
    const auto taken = session->RunValues(id, Values({Bool(false), one_row}));
    ASSERT_FALSE(taken.ok());
    EXPECT_EQ(taken.error().code, "graph.shape");
    EXPECT_NE(taken.error().Text().find("Reshape"), std::string::npos) << taken.error().Text();
    EXPECT_EQ(ElementsOf(MustRun(*session, id, {Bool(true), one_row})[0]),
              (std::vector<float>{-1, 0, -3, 0}))
        << "after a failed run";
    EXPECT_EQ(ElementsOf(MustRun(*session, id,
                                 {Bool(false), Floats({2, 4}, std::vector<float>(8, 1))})[0]),
              std::vector<float>(8, -1));
  }
}

}  // namespace loops_test
}  // namespace plimsoll::engine
