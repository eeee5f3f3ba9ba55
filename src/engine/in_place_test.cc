#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <random>

#include "engine/configured_runs_for_tests.h"
#include "engine/interpreter.h"
#include "graph/text_form.h"
#include "plimsoll/base/text.h"

// Nodes that write over what they read, beside views of the same memory: a plan gives what the
// graph gives node by node, where every value has memory of its own.
namespace plimsoll::engine {
namespace {

using compile::FloatTensor;
using compile::With;
using graph::Graph;
using graph::GraphBuilder;
using graph::ValueId;
using kernels::HostTensor;

constexpr int64_t kColumns = 5;

// PLIMSOLL_GRAPH_CASES says how many graphs are drawn.
int Cases() {
  const char* text = std::getenv("PLIMSOLL_GRAPH_CASES");
  return text == nullptr ? 300 : std::atoi(text);
}

void ExpectAsNodeByNode(const Graph& graph, const std::vector<HostTensor>& inputs,
                        const std::string& which) {
  const auto expected = Interpreter(graph).Run(Values(inputs), {});
  ASSERT_TRUE(expected.ok()) << which << ": " << expected.error().Text();
  const auto session = MakeSession();
  const std::vector<HostTensor> got = MustRun(*session, MustAdd(*session, graph), inputs);
  ASSERT_EQ(got.size(), expected->size()) << which;
  for (size_t i = 0; i < got.size(); ++i) {
    const std::vector<float> right = ElementsOf((*expected)[i].tensor);
    const std::vector<float> made = ElementsOf(got[i]);
    ASSERT_EQ(made.size(), right.size()) << which;
    for (size_t k = 0; k < made.size(); ++k) {
      ASSERT_NEAR(made[k], right[k], 1e-5) << which << ", output " << i << " at " << k << " of\n"
                                           << graph::TextForm(graph);
    }
  }
}

ValueId Rows(GraphBuilder& builder, ValueId x, int64_t begin, int64_t end,
             const std::string& name) {
  return builder.Node(
      "Slice", {x, builder.Int64s(name + ".from", {begin}), builder.Int64s(name + ".to", {end}),
                builder.Int64s(name + ".axis", {0})});
}

TEST(InPlaceTest, ARowThatEveryRowNeedsIsNotWrittenOver) {
  for (const char* op : {"Sub", "Add", "Mul"}) {
    for (const bool first : {false, true}) {
      GraphBuilder builder;
      const ValueId x = builder.Node("Tanh", {builder.Input("x", FloatTensor({4, kColumns}))});
      const ValueId row = Rows(builder, x, 0, 1, "row");
      const ValueId made = builder.Node(op, first ? std::vector{row, x} : std::vector{x, row});
      builder.Output(builder.Node("Transpose", {made}));
      ExpectAsNodeByNode(compile::Inferred(builder), {Random({4, kColumns}, 1)}, op);
    }
  }
}

TEST(InPlaceTest, UpdatesThatLieInTheTensorThatTheyChange) {
  GraphBuilder builder;
  const ValueId x = builder.Node("Tanh", {builder.Input("x", FloatTensor({4, kColumns}))});
  const ValueId places =
      builder.Node("Reshape", {builder.Int64s("p", {1, 2, 3, 0, 1, 2, 3, 0, 1, 2}),
                               builder.Int64s("shape", {2, kColumns})});
  const ValueId made = builder.Node("ScatterElements", {x, places, Rows(builder, x, 0, 2, "rows")});
  builder.Output(builder.Node("Transpose", {made}));
  ExpectAsNodeByNode(compile::Inferred(builder), {Random({4, kColumns}, 1)}, "scatter");
}

TEST(InPlaceTest, ATensorTwiceUnderTwoShapesIsStillWrittenOver) {
  GraphBuilder builder;
  const ValueId x = builder.Node("Tanh", {builder.Input("x", FloatTensor({4, kColumns}))});
  const ValueId flat = builder.Node("Reshape", {x, builder.Int64s("flat", {4 * kColumns})});
  const ValueId again = builder.Node("Sigmoid", {flat});
  const ValueId back = builder.Node("Reshape", {flat, builder.Int64s("back", {4, kColumns})});
  const ValueId square = builder.Node("Mul", {x, back});
  const ValueId sum = builder.Node(
      "Add", {square, builder.Node("Reshape", {again, builder.Int64s("too", {4, kColumns})})});
  builder.Output(builder.Node("Transpose", {sum}));
  ExpectAsNodeByNode(compile::Inferred(builder), {Random({4, kColumns}, 1)}, "twice");
}

// The rows take as many pages of 512 bytes as the tensor that they are cut from.
TEST(InPlaceTest, RowsInTheMiddleOfATensorAreNotTakenForAllOfIt) {
  GraphBuilder builder;
  const ValueId x = builder.Node("Sin", {builder.Input("x", FloatTensor({6, kColumns}))});
  const ValueId y = builder.Node("Sin", {builder.Input("y", FloatTensor({3, kColumns}))});
  const ValueId middle = builder.Node("Sigmoid", {Rows(builder, x, 1, 5, "rows")});
  const ValueId joined = builder.Node("Concat", {middle, y}, With("axis", int64_t{0}));
  builder.Output(builder.Node("Sin", {y}));
  builder.Output(builder.Node("Transpose", {joined}));
  ExpectAsNodeByNode(compile::Inferred(builder),
                     {Random({6, kColumns}, 1), Random({3, kColumns}, 2)}, "rows");
}

// A graph of some twenty nodes over tensors of a few rows: operators that overwrite, that are views
// of rows, that join rows, and that read a row for all.
class RandomGraph {
 public:
  RandomGraph(uint32_t seed, int64_t columns) : random_(seed), columns_(columns) {}

  Graph Draw() {
    for (const int64_t rows : {6, 3, 1}) {
      Add(builder_.Input(StrCat("x", rows), FloatTensor({rows, columns_})), rows);
    }
    const int nodes = 8 + Below(16);
    for (int i = 0; i < nodes; ++i) DrawNode();
    const int outputs = 1 + Below(3);
    for (int i = 0; i < outputs && made_.size() > 3; ++i) {
      const auto chosen = made_.begin() + 3 + Below(static_cast<int>(made_.size()) - 3);
      builder_.Output(chosen->value);
      made_.erase(chosen);
    }
    builder_.Output(builder_.Node("Tanh", {made_.back().value}));
    return compile::Inferred(builder_);
  }

 private:
  struct Made {
    ValueId value;
    int64_t rows = 0;
  };

  int Below(int count) { return static_cast<int>(random_() % static_cast<uint32_t>(count)); }
  void Add(ValueId value, int64_t rows) { made_.push_back({value, rows}); }
  // Recent ones more often, so that memory is free again soon.
  Made Any() {
    const int last = static_cast<int>(made_.size());
    return made_[static_cast<size_t>(last - 1 - Below(std::min(last, 2 + Below(last))))];
  }
  std::string Fresh() { return StrCat("c", ++names_); }

  void DrawNode() {
    const Made x = Any();
    switch (Below(8)) {
      case 0:
      case 1:
        return Unary(x);
      case 2:
      case 3:
        return Binary(x);
      case 4:
        return Window(x);
      case 5:
        return Join(x);
      case 6:
        return Scatter(x);
      default:
        return Add(builder_.Node("Reshape", {builder_.Node("Reshape", {x.value, Ints64({-1})}),
                                             Ints64({x.rows, columns_})}),
                   x.rows);
    }
  }

  ValueId Ints64(const Ints& elements) { return builder_.Int64s(Fresh(), elements); }

  void Unary(const Made& x) {
    constexpr const char* kOperators[] = {"Tanh", "Sigmoid", "Neg", "Softmax", "Sin"};
    Add(builder_.Node(kOperators[Below(5)], {x.value}), x.rows);
  }

  void Binary(const Made& x) {
    constexpr const char* kOperators[] = {"Add", "Sub", "Mul", "Max"};
    const Made y = Any();
    const bool fit = x.rows == y.rows || x.rows == 1 || y.rows == 1;
    const ValueId other = fit ? y.value : x.value;
    const ValueId made = builder_.Node(kOperators[Below(4)], {x.value, other});
    Add(builder_.Node("Sin", {made}), fit ? std::max(x.rows, y.rows) : x.rows);
  }

  void Window(const Made& x) {
    const int64_t begin = Below(static_cast<int>(x.rows));
    const int64_t end = begin + 1 + Below(static_cast<int>(x.rows - begin));
    Add(Rows(builder_, x.value, begin, end, Fresh()), end - begin);
  }

  void Join(const Made& x) {
    const Made y = Any();
    if (x.rows + y.rows > 12) return Unary(x);
    Add(builder_.Node("Concat", {x.value, y.value}, With("axis", int64_t{0})), x.rows + y.rows);
  }

  void Scatter(const Made& x) {
    const Made updates = Any();
    if (updates.rows > x.rows) return Unary(x);
    Ints order(static_cast<size_t>(x.rows));
    for (size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int64_t>(i);
    std::shuffle(order.begin(), order.end(), random_);
    Ints places;
    for (int64_t i = 0; i < updates.rows * columns_; ++i) {
      places.push_back(order[static_cast<size_t>(i / columns_)]);
    }
    const ValueId indices =
        builder_.Node("Reshape", {Ints64(places), Ints64({updates.rows, columns_})});
    Add(builder_.Node("ScatterElements", {x.value, indices, updates.value}), x.rows);
  }

  std::mt19937 random_;
  const int64_t columns_;
  GraphBuilder builder_;
  std::vector<Made> made_;
  int names_ = 0;
};

// One of several ways to plan the same graph.
config::RunConfig ConfigOf(uint32_t seed) {
  config::RunConfig config;
  switch (seed % 8) {
    case 0:
    case 1:
    case 2:
    case 3:
      config.topo_sorting_mode = static_cast<int>(seed % 8);
      break;
    case 4:
      config.memory_config.memory_optimization_policy =
          config::MemoryOptimizationPolicy::kMemoryPriority;
      break;
    case 5:
      config.input_reuse_mem_indexes = {0, 1, 2};
      break;
    case 6:
      config.input_reuse_mem_indexes = {1};
      config.output_reuse_mem_indexes = {0};
      break;
    default:
      config.disable_reuse_memory = true;
  }
  return config;
}

TEST(InPlaceTest, RandomGraphsGiveWhatTheyGiveNodeByNodeHoweverTheyArePlanned) {
  constexpr int64_t kWidths[] = {5, 70, 300};
  for (int i = 0; i < Cases(); ++i) {
    const auto seed = static_cast<uint32_t>(i + 1);
    const int64_t columns = kWidths[seed % 3];
    const Graph graph = RandomGraph(seed, columns).Draw();
    const std::vector<HostTensor> inputs = {Random({6, columns}, seed), Random({3, columns}, seed),
                                            Random({1, columns}, seed)};
    ExpectAsNodeByNode(graph, inputs, StrCat("seed ", seed));
    ExpectSameBytes(graph, inputs, Under(ConfigOf(seed)));
    ASSERT_FALSE(HasFailure()) << "seed " << seed;
  }
}

}  // namespace
}  // namespace plimsoll::engine
