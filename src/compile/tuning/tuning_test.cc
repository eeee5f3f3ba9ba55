#include "compile/tuning/tuning.h"

#include <gmock/gmock.h>

#include <map>

#include "compile/compile_model.h"
#include "compile/passes/pass_results_for_tests.h"
#include "compile/tuning/operator_tuning.h"
#include "compile/tuning/subgraph_tuning.h"
#include "kernels/parallel.h"

namespace plimsoll::compile {
namespace tuning_test {

using graph::Graph;
using graph::GraphBuilder;
using graph::ValueId;
using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Not;

// A store in memory that counts.
class MemoryStore : public TuningStore {
 public:
  std::optional<std::string> Find(const std::string& signature) override {
    const auto found = choices.find(signature);
    if (found == choices.end()) return std::nullopt;
    ++hits;
    return found->second.choice;
  }
  void Keep(const std::vector<TunedChoice>& kept) override {
    for (const TunedChoice& choice : kept) choices[choice.signature] = choice;
  }
  std::vector<std::string> Choices() const {
    std::vector<std::string> list;
    for (const auto& [signature, choice] : choices) list.push_back(choice.choice);
    return list;
  }

  std::map<std::string, TunedChoice> choices;
  int hits = 0;
};

// Runs every candidate once; the named one is said to be that many times as fast as the others.
Stopwatch Favouring(const std::string& name, double times, int* asked = nullptr) {
  return [=](std::span<const Candidate> candidates) -> Result<std::vector<double>> {
    if (asked != nullptr) ++*asked;
    std::vector<double> seconds;
    for (const Candidate& candidate : candidates) {
      PLIMSOLL_TRY(candidate.run());
      seconds.push_back(candidate.name == name ? 1 / times : 1);
    }
    return seconds;
  };
}

// A product with constant weights and an activation, on 12 rows.
Graph ProductGraph() {
  GraphBuilder b;
  const ValueId x = b.Input("x", FloatTensor({12, 64}));
  const ValueId y = b.Node("MatMul", {x, Weights(b, "w", {64, 48})});
  b.Output(b.Node("Relu", {b.Node("Add", {y, Weights(b, "bias", {48})})}));
  return Inferred(b);
}

struct Compiled {
  std::shared_ptr<MemoryStore> store = std::make_shared<MemoryStore>();
  TemporaryPacking packing;
  CompileOptions options;

  Compiled() {
    options.packed_weights = &packing;
    options.tuning.store = store;
    options.tuning.operators = true;
    options.tuning.deeper = true;
    options.tuning.stopwatch = Favouring("unpacked", 2);
  }
  CompiledModel Model(const Graph& graph) const {
    auto model = CompileModel(graph, options);
    EXPECT_TRUE(model.ok()) << (model.ok() ? "" : model.error().Text());
    return *std::move(model);
  }
};

uint64_t PackedInputs(const CompiledModel& model) {
  uint64_t all = 0;
  for (const uint64_t inputs : model.packed_inputs) all |= inputs;
  return all;
}

TEST(OperatorTuningTest, R236_AFasterAlternativeIsTakenKeptAndUsedLater) {
  Compiled tuned;
  const CompiledModel first = tuned.Model(ProductGraph());
  EXPECT_EQ(PackedInputs(first), 0) << "the alternative reads weights as they are";
  EXPECT_THAT(tuned.store->Choices(), ElementsAre("unpacked"));
  EXPECT_DOUBLE_EQ(tuned.store->choices.begin()->second.gain, 2);
  EXPECT_EQ(first.fusion[FusionPattern::kMatMulActivation].repository_hits, 0);

  int asked = 0;
  tuned.options.tuning.operators = false;
  tuned.options.tuning.stopwatch = Favouring("unpacked", 2, &asked);
  const CompiledModel later = tuned.Model(ProductGraph());
  EXPECT_EQ(PackedInputs(later), 0);
  EXPECT_EQ(asked, 0) << "nothing is measured again";
  EXPECT_EQ(later.fusion[FusionPattern::kMatMulActivation].repository_hits, 1);
}

TEST(OperatorTuningTest, WithoutTuningTheMakersOwnWayIsTaken) {
  Compiled tuned;
  tuned.options.tuning = {};
  EXPECT_NE(PackedInputs(tuned.Model(ProductGraph())), 0);
}

TEST(OperatorTuningTest, WhatIsNotClearlyFasterIsNotTaken) {
  for (const double times : {1.0, 1.02, 0.5}) {
    Compiled tuned;
    tuned.options.tuning.stopwatch = Favouring("unpacked", times);
    EXPECT_NE(PackedInputs(tuned.Model(ProductGraph())), 0) << times;
    EXPECT_THAT(tuned.store->Choices(), ElementsAre("")) << "and is not measured again";
  }
}

TEST(OperatorTuningTest, AWinnerMustWinTwice) {
  int rounds = 0;
  const Stopwatch once = [&](std::span<const Candidate> candidates) -> Result<std::vector<double>> {
    std::vector<double> seconds(candidates.size(), 1);
    if (rounds++ == 0) seconds.back() = 0.5;
    return seconds;
  };
  double gain = 0;
  const std::vector<Candidate> candidates = {{"", [] { return Status(); }},
                                             {"other", [] { return Status(); }}};
  EXPECT_EQ(*ClearlyFastest(once, candidates, &gain), 0);
  EXPECT_EQ(rounds, 2);
  EXPECT_EQ(gain, 1);
}

TEST(OperatorTuningTest, TheRealStopwatchRunsCandidatesInTurns) {
  std::string order;
  const auto candidate = [&](char name) {
    return Candidate{std::string(1, name), [&order, name] {
                       order += name;
                       return Status();
                     }};
  };
  const auto seconds = StopwatchFor(false)(std::vector<Candidate>{candidate('a'), candidate('b')});
  ASSERT_TRUE(seconds.ok());
  EXPECT_EQ(seconds->size(), 2);
  EXPECT_GT(order.find('a', order.find("ab") + 4), order.find('b'));
}

TEST(OperatorTuningTest, AStoredNameThatNoLongerExistsIsTheMakersOwnWay) {
  Compiled tuned;
  tuned.Model(ProductGraph());
  for (auto& [signature, choice] : tuned.store->choices) choice.choice = "of another version";
  EXPECT_NE(PackedInputs(tuned.Model(ProductGraph())), 0);
}

TEST(OperatorTuningTest, AnAlternativeThatLiftsThePeakIsNotTaken) {
  // Read as it is, each run packs pieces of the matrix into a workspace, which 12 rows of nothing
  // else leave no room for.
  Compiled tuned;
  const Bytes peak = FeatureMapPeak(tuned.Model(ProductGraph()).planned);
  Compiled plain;
  plain.options.tuning = {};
  EXPECT_LE(peak, FeatureMapPeak(plain.Model(ProductGraph()).planned));
}

TEST(OperatorTuningTest, R242_R243_R244_ListsSelectByWholeNameByTypeAndByWhatWasFused) {
  Graph graph = ProductGraph();
  FusionCounts counts;
  Must(Simplify(graph, counts));
  ASSERT_EQ(OperatorsOf(graph), "plimsoll::FusedMatMul");
  const graph::NodeId node = graph.root().nodes[0];
  graph[node].name = "layer/product";
  const auto selected = [&](std::vector<std::string> names, std::vector<std::string> types) {
    TuningOptions options;
    options.names = std::move(names);
    options.types = std::move(types);
    return IsSelected(options, graph, node);
  };
  EXPECT_TRUE(selected({}, {}));
  EXPECT_TRUE(selected({"layer/product"}, {}));
  EXPECT_FALSE(selected({"layer"}, {}));
  EXPECT_FALSE(selected({"layer/product/2"}, {}));
  for (const char* type : {"FusedMatMul", "MatMul", "Add", "Relu"}) {
    EXPECT_TRUE(selected({}, {type})) << type;
  }
  EXPECT_FALSE(selected({}, {"Mul"}));
  EXPECT_FALSE(selected({}, {"Mat"}));
  EXPECT_TRUE(selected({"other"}, {"Relu"})) << "the union";
  EXPECT_TRUE(selected({"layer/product"}, {"Conv"})) << "the union";
}

TEST(OperatorTuningTest, R242_OnlySelectedOperatorsAreMeasured) {
  Compiled tuned;
  tuned.options.tuning.types = {"Conv"};
  EXPECT_NE(PackedInputs(tuned.Model(ProductGraph())), 0);
  EXPECT_THAT(tuned.store->Choices(), IsEmpty());
}

TEST(OperatorTuningTest, R246_DeeperTuningTriesEveryAlternative) {
  const auto tried = [](bool deeper) {
    Compiled tuned;
    size_t most = 0;
    tuned.options.tuning.deeper = deeper;
    tuned.options.tuning.stopwatch =
        [&](std::span<const Candidate> candidates) -> Result<std::vector<double>> {
      most = std::max(most, candidates.size());
      return std::vector<double>(candidates.size(), 1);
    };
    GraphBuilder b;
    const ValueId x = b.Input("x", FloatTensor({256, 64}));
    b.Output(b.Node("MatMul", {x, Weights(b, "w", {64, 1024})}));
    tuned.options.threads = 2;
    tuned.Model(Inferred(b));
    return most;
  };
  EXPECT_GT(tried(true), tried(false));
}

TEST(OperatorTuningTest, SignaturesTellShapesTypesAttributesAndThreadsApart) {
  const kernels::ThreadScope one_thread(1);
  const auto signature = [](int64_t rows, const std::string& op, bool constant) {
    GraphBuilder b;
    const ValueId x = b.Input("x", FloatTensor({rows, 8}));
    const ValueId w = constant ? Weights(b, "w", {8, 8}) : b.Input("w", FloatTensor({8, 8}));
    b.Output(b.Node(op, {x, w}));
    const Graph graph = Inferred(b);
    return SignatureOf(graph, graph.root().nodes[0]);
  };
  const std::string plain = signature(8, "MatMul", true);
  EXPECT_EQ(plain, signature(8, "MatMul", true));
  EXPECT_NE(plain, signature(9, "MatMul", true));
  EXPECT_NE(plain, signature(8, "MatMul", false));
  EXPECT_NE(plain, signature(8, "Add", true));
  const kernels::ThreadScope threads(kernels::Threads() + 1);
  EXPECT_NE(plain, signature(8, "MatMul", true));
}

TEST(OperatorTuningTest, ResultsThatDifferDoNotAgree) {
  const auto tensor = [](std::vector<float> elements) {
    auto made = *kernels::AllocateOnHeap(graph::DataType::kFloat32, {3});
    std::copy(elements.begin(), elements.end(), static_cast<float*>(made.data.get()));
    return made;
  };
  EXPECT_TRUE(Agree(tensor({1, 2, 3}), tensor({1, 2, 3}), true));
  EXPECT_TRUE(Agree(tensor({1.0005F, 2, 3}), tensor({1, 2, 3}), false));
  EXPECT_FALSE(Agree(tensor({1.0005F, 2, 3}), tensor({1, 2, 3}), true));
  EXPECT_FALSE(Agree(tensor({1.01F, 2, 3}), tensor({1, 2, 3}), false));
  EXPECT_FALSE(Agree(tensor({NAN, 2, 3}), tensor({1, 2, 3}), false));
  EXPECT_TRUE(Agree(tensor({1e-6F, 2, 3}), tensor({0, 2, 3}), false)) << "against the largest";
}

// Every alternative of a site computes what the maker's own way does.
void ExpectAlternativesAgree(const Graph& graph, size_t least) {
  const graph::NodeId id = graph.root().nodes.back();
  Compiled tuned;
  std::vector<std::string> names;
  tuned.options.tuning.stopwatch =
      [&](std::span<const Candidate> candidates) -> Result<std::vector<double>> {
    for (const Candidate& candidate : candidates) names.push_back(candidate.name);
    return std::vector<double>(candidates.size(), 1);
  };
  tuned.options.tuning.high_performance = true;
  tuned.options.plain_peak = Bytes(int64_t{1} << 40);  // no alternative takes too much
  tuned.options.optimise = false;
  tuned.options.threads = 2;
  tuned.Model(graph);
  EXPECT_GE(names.size(), least + 1) << SignatureOf(graph, id);
}

TEST(OperatorTuningTest, AlternativesOfProductsAndConvolutionsGiveTheSameResults) {
  for (const int64_t rows : {3, 40, 300}) {
    GraphBuilder b;
    const ValueId x = b.Input("x", FloatTensor({rows, 70}));
    b.Output(b.Node("MatMul", {x, Weights(b, "w", {70, 600})}));
    ExpectAlternativesAgree(Inferred(b), 2);
  }
  GraphBuilder b;
  const ValueId x = b.Input("x", FloatTensor({2, 16, 20, 20}));
  b.Output(b.Node("Conv", {x, Weights(b, "w", {64, 16, 3, 3})}));
  ExpectAlternativesAgree(Inferred(b), 1);
}

// Convolutions whose channels fill groups of 16.
Graph ConvolutionGraph() {
  GraphBuilder b;
  ValueId x = b.Input("x", FloatTensor({1, 16, 12, 12}));
  for (int i = 0; i < 3; ++i) {
    x = b.Node("Relu", {b.Node("Conv", {x, Weights(b, "w" + std::to_string(i), {16, 16, 1, 1})})});
  }
  b.Output(x);
  return Inferred(b);
}

// Stands in for a model in memory: runs nothing, and tells what it was made of.
MakeRunnable Described(std::vector<int>& made) {
  return [&made](CompiledModel model, std::shared_ptr<const void>) -> Result<RunnableModel> {
    made.push_back(static_cast<int>(model.graph.root().nodes.size()));
    return RunnableModel{[] { return Status(); }, {}};
  };
}

TEST(SubgraphTuningTest, R236_TheFastestVariantOfTheGraphIsTakenKeptAndUsedLater) {
  Compiled tuned;
  std::vector<int> made;
  tuned.options.tuning.operators = false;
  tuned.options.tuning.subgraphs = true;
  tuned.options.tuning.make_runnable = Described(made);
  tuned.options.tuning.high_performance = true;
  tuned.options.plain_peak = MiB(1);
  tuned.options.tuning.stopwatch = Favouring("plain", 2);
  const auto grouped = [](const CompiledModel& model) {
    return OperatorsOf(model.graph).find("BlockChannels") != std::string::npos ||
           std::ranges::any_of(model.graph.nodes, [](const graph::Node& node) {
             return node.attributes.Int("output_blocked", 0) != 0;
           });
  };
  Compiled plain;
  plain.options.tuning = {};
  ASSERT_TRUE(grouped(plain.Model(ConvolutionGraph())));
  EXPECT_FALSE(grouped(tuned.Model(ConvolutionGraph())));
  EXPECT_GE(made.size(), 2);
  EXPECT_THAT(tuned.store->Choices(), ElementsAre("plain"));

  made.clear();
  tuned.options.tuning.subgraphs = false;
  const CompiledModel later = tuned.Model(ConvolutionGraph());
  EXPECT_FALSE(grouped(later));
  EXPECT_THAT(made, IsEmpty());
  const PatternCount& channels = later.fusion[FusionPattern::kChannelGroup];
  EXPECT_EQ(channels.repository_hits, 1);
  EXPECT_EQ(channels.effects, 0);
  EXPECT_GT(channels.declined, 0) << "it was found, and is slower";
}

TEST(SubgraphTuningTest, R245_OnlyHighPerformanceMayLiftThePeakUpToPlainLives) {
  for (const bool high_performance : {false, true}) {
    Compiled tuned;
    std::vector<int> made;
    tuned.options.tuning.operators = false;
    tuned.options.tuning.subgraphs = true;
    tuned.options.tuning.make_runnable = Described(made);
    tuned.options.tuning.high_performance = high_performance;
    tuned.options.tuning.stopwatch = Favouring("plain", 2);
    tuned.options.plain_peak = MiB(1);
    Compiled untuned;
    untuned.options.tuning = {};
    untuned.options.plain_peak = MiB(1);
    const Bytes before = FeatureMapPeak(untuned.Model(ConvolutionGraph()).planned);
    const Bytes after = FeatureMapPeak(tuned.Model(ConvolutionGraph()).planned);
    EXPECT_LE(after, high_performance ? MiB(1) : before);
  }
}

TEST(SubgraphTuningTest, R246_GraphsWithoutSlicesAreTriedOnlyWithUnevenSplit) {
  for (const bool uneven : {false, true}) {
    std::vector<std::string> names;
    for (const GraphVariant& variant : kGraphVariants) {
      if (variant.slices || uneven) names.emplace_back(variant.name);
    }
    EXPECT_EQ(names.size(), uneven ? 6 : 3);
  }
  EXPECT_EQ(FindVariant("plain, whole")->slices, false);
  EXPECT_EQ(FindVariant("of another version"), nullptr);
}

TEST(SubgraphTuningTest, AVariantWithOtherResultsDoesNotCount) {
  const auto maker = [](float element) {
    return [element]() -> Result<RunnableModel> {
      auto tensor = *kernels::AllocateOnHeap(graph::DataType::kFloat32, {1});
      *static_cast<float*>(tensor.data.get()) = element;
      return RunnableModel{[] { return Status(); }, {tensor}};
    };
  };
  TuningOptions options;
  options.stopwatch = Favouring("other", 2);
  double gain = 0;
  EXPECT_EQ(*FastestModel(options, {maker(1), maker(1)}, {"", "other"}, false, &gain), 1);
  EXPECT_EQ(gain, 2);
  EXPECT_EQ(*FastestModel(options, {maker(1), maker(2)}, {"", "other"}, false, &gain), 0);
  EXPECT_EQ(gain, 1);
}

}  // namespace tuning_test
}  // namespace plimsoll::compile
