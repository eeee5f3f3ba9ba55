#include "compile/trades.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/must_for_tests.h"
#include "compile/graph_for_tests.h"
#include "kernels/host_value.h"

namespace plimsoll::compile {
namespace trades_test {

using graph::Graph;
using graph::GraphBuilder;
using graph::ValueId;
using kernels::Trade;
using Ints = std::vector<int64_t>;
using Names = std::vector<std::string>;

// Node i reads constant constants[i] as its second input.
Graph Readers(const std::vector<int>& constants) {
  GraphBuilder builder;
  ValueId x = builder.Input("x", FloatTensor({4}));
  std::vector<ValueId> known;
  for (int i = 0; i <= *std::max_element(constants.begin(), constants.end()); ++i) {
    known.push_back(builder.Float32s("c" + std::to_string(i), {4}, {1, 2, 3, 4}));
  }
  for (const int constant : constants) {
    x = builder.Node("Mul", {x, known[static_cast<size_t>(constant)]});
  }
  builder.Output(x);
  return Inferred(builder);
}

Trade TradeFor(std::string name, int64_t packed, double saved, int64_t workspace = 0) {
  return {.name = std::move(name),
          .input = 1,
          .packed = Bytes(packed),
          .usual = Bytes(100),
          .workspace = Bytes(workspace),
          .saved = saved};
}

Names Chosen(const Graph& graph, const TradesByNode& trades, int64_t budget,
             const KeptTrades* kept = nullptr, int64_t room = 1000) {
  Names names;
  const std::vector<Bytes> rooms(graph.nodes.size(), Bytes(room));
  for (const KernelChoice& choice : ChooseTrades(graph, trades, rooms, Bytes(budget), kept)) {
    names.push_back(choice.alternative);
  }
  return names;
}

TEST(TradesTest, TakesWhatSavesMostForEachByteUntilTheBudgetIsSpent) {
  const Graph graph = Readers({0, 1, 2});
  const TradesByNode trades = {
      {TradeFor("a", 200, 50)}, {TradeFor("a", 200, 80)}, {TradeFor("a", 150, 45)}};
  EXPECT_EQ(Chosen(graph, trades, 49), Names({"", "", ""}));
  EXPECT_EQ(Chosen(graph, trades, 149), Names({"", "", "a"}));
  EXPECT_EQ(Chosen(graph, trades, 150), Names({"", "a", "a"}));
  EXPECT_EQ(Chosen(graph, trades, 250), Names({"a", "a", "a"}));
}

TEST(TradesTest, ALargerFormIsAStepFromTheSmallerOneOrLeavesItOut) {
  const Graph graph = Readers({0, 1});
  // The second step of the first is worth less than the first of the second; of the second the
  // smaller form is worth less than the larger one.
  const TradesByNode trades = {{TradeFor("small", 150, 100), TradeFor("large", 400, 130)},
                               {TradeFor("small", 150, 10), TradeFor("large", 200, 60)}};
  EXPECT_EQ(Chosen(graph, trades, 50), Names({"small", ""}));
  EXPECT_EQ(Chosen(graph, trades, 150), Names({"small", "large"}));
  EXPECT_EQ(Chosen(graph, trades, 399), Names({"small", "large"}));
  EXPECT_EQ(Chosen(graph, trades, 400), Names({"large", "large"}));
}

TEST(TradesTest, ReadersOfOneConstantTakeOneFormOfItOrNone) {
  const Graph graph = Readers({0, 1, 0});
  const TradesByNode both = {{TradeFor("a", 200, 50)}, {}, {TradeFor("a", 200, 1)}};
  EXPECT_EQ(Chosen(graph, both, 100), Names({"a", "", "a"}));
  const TradesByNode one = {{TradeFor("a", 200, 50)}, {}, {}};
  EXPECT_EQ(Chosen(graph, one, 1000), Names({"", "", ""}));
  const TradesByNode large = {{TradeFor("a", 200, 50)}, {}, {TradeFor("a", 200, 1, 2000)}};
  EXPECT_EQ(Chosen(graph, large, 1000), Names({"", "", ""}));
}

TEST(TradesTest, OtherShapesChooseAmongWhatTheFirstOnesTookAndCountTheWholeForm) {
  const Graph graph = Readers({0, 1});
  const TradesByNode trades = {{TradeFor("a", 200, 50)}, {TradeFor("a", 200, 80)}};
  KeptTrades kept;
  EXPECT_EQ(Chosen(graph, trades, 199, &kept), Names({"", ""}));
  EXPECT_EQ(Chosen(graph, trades, 200, &kept), Names({"", "a"}));
  Keep(graph, trades, {{}, {.alternative = "a"}}, kept);
  EXPECT_EQ(Chosen(graph, trades, 1000, &kept), Names({"", "a"}));
}

// Convolutions that Winograd's way makes faster, beside a large constant.
Graph Convolutions(int count, int64_t channels, int64_t size, int64_t rest) {
  GraphBuilder builder;
  ValueId y = builder.Input("x", FloatTensor({1, channels, size, size}));
  graph::Attributes same = With("pads", Ints{1, 1, 1, 1});
  same.Set("kernel_shape", Ints{3, 3});
  for (int i = 0; i < count; ++i) {
    const std::vector<float> weights(static_cast<size_t>(channels * channels * 9), 0.01F);
    y = builder.Node(
        "Conv", {y, builder.Float32s("w" + std::to_string(i), {channels, channels, 3, 3}, weights)},
        same);
    y = builder.Node("Relu", {y});
  }
  builder.Output(y);
  const ValueId other = builder.Input("other", FloatTensor({1, 16}));
  const std::vector<float> wide(static_cast<size_t>(16 * rest), 1.0F);
  builder.Output(builder.Node("MatMul", {other, builder.Float32s("rest", {16, rest}, wide)}));
  return Inferred(builder);
}

// Counts what would be packed beyond the plain forms.
class CountedPacking final : public kernels::PackedWeights {
 public:
  Result<const void*> Pack(const void*, Bytes plain, std::string_view, Bytes packed,
                           const Fill& fill) override {
    more += packed - plain;
    PLIMSOLL_ASSIGN(kernels::HostTensor form,
                    kernels::AllocateOnHeap(graph::DataType::kUint8, {packed.value()}));
    PLIMSOLL_TRY(fill(form.data.get()));
    memory_.push_back(form);
    return static_cast<const void*>(form.data.get());
  }
  void Forget(const void*, Bytes) override {}
  Bytes more;

 private:
  std::vector<kernels::HostTensor> memory_;
};

struct Compiled {
  int64_t winograd = 0;
  Bytes more;
  Bytes peak;
  CompiledModel model;
};

Compiled CompiledWith(const Graph& graph, CompileOptions options) {
  CountedPacking packing;
  options.packed_weights = &packing;
  options.plan.lifetimes.one_shape = true;
  options.plain_peak = PlainPeak(graph);
  CompiledModel model = Must(CompileModel(graph, options));
  const auto count = std::ranges::count_if(model.kernels, [](const auto& kernel) {
    return kernel != nullptr && kernel->implementation() == "ours:winograd";
  });
  const Bytes peak = FeatureMapPeak(model.planned);
  return {count, packing.more, peak, std::move(model)};
}

TEST(TradesTest, ConvolutionsTakeLargerWeightsWithinTheBudgetAndBelowThePeak) {
  const Graph graph = Convolutions(6, 64, 40, 1 << 14);
  CompileOptions never;
  never.trades_memory = false;
  const Compiled plain = CompiledWith(graph, never);
  EXPECT_EQ(plain.winograd, 0);
  const Compiled traded = CompiledWith(graph, {});
  EXPECT_GT(traded.winograd, 0);
  EXPECT_GT(traded.more, plain.more);
  EXPECT_LE(traded.more - plain.more, TradeBudget(traded.model, plain.peak));
  EXPECT_LE(traded.peak, plain.peak);
}

// A model of two constants that a kernel reads, of which it packs the first; no bytes are there.
CompiledModel TwoConstants(int64_t packed, int64_t plain) {
  GraphBuilder builder;
  const ValueId x = builder.Input("x", FloatTensor({1}));
  const ValueId sum = builder.Node("Add", {builder.Float32s("packed", {1}, {1}), x});
  builder.Output(builder.Node("Add", {sum, builder.Float32s("plain", {1}, {2})}));
  CompiledModel model;
  model.graph = builder.Build();
  for (graph::ConstantTensor& constant : model.graph.constants) {
    const int64_t size = &constant == model.graph.constants.data() ? packed : plain;
    constant.dims = {size << 18};
  }
  model.packed_inputs = {1, 0};
  return model;
}

TEST(TradesTest, LoadingALargeModelTakesATenthMoreThanItsConstants) {
  const auto budget = [](int64_t packed, int64_t plain) {
    return TradeBudget(TwoConstants(packed, plain), Bytes()).value() >> 20;
  };
  EXPECT_EQ(budget(32, 0), 2) << "a sixteenth";
  EXPECT_EQ(budget(128, 0), 3) << "a tenth less what else is resident";
  EXPECT_EQ(budget(100, 28), 8) << "a sixteenth: what stays plain is not resident yet";
  EXPECT_EQ(budget(80, 0), 2) << "a 40th";
  EXPECT_EQ(budget(1024, 0), 64) << "a sixteenth";
}

TEST(TradesTest, WeightsThatWouldTakeTooMuchKeepTheirForm) {
  const Compiled traded = CompiledWith(Convolutions(2, 256, 24, 16), {});
  EXPECT_EQ(traded.winograd, 0);
}

TEST(TradesTest, NothingIsTradedWhereMemoryComesFirst) {
  const Graph graph = Convolutions(6, 64, 40, 1 << 14);
  CompileOptions priority;
  priority.plan.memory_priority = true;
  CompileOptions smaller;
  smaller.weight_forms = WeightForms::kSmaller;
  CompileOptions plain;
  plain.weight_forms = WeightForms::kPlain;
  for (const CompileOptions& options : {priority, smaller, plain}) {
    EXPECT_EQ(CompiledWith(graph, options).winograd, 0);
  }
}

}  // namespace trades_test
}  // namespace plimsoll::compile
