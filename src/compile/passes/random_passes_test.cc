#include <map>

#include "compile/passes/pass.h"
#include "compile/passes/pass_results_for_tests.h"

// Graphs drawn from what passes look for and from what only resembles it compute the same before
// and after.
namespace plimsoll::compile {
namespace random_passes_test {

using graph::Attributes;
using graph::Graph;
using graph::GraphBuilder;
using graph::Shape;
using graph::ValueId;

// Of a dozen operators one after the other.
constexpr double kPrecision = 2e-3;

class RandomNodes {
 public:
  explicit RandomNodes(uint32_t seed) : random_(seed) {}

  Graph Make() {
    const bool images = Chance(50);
    const Shape shape = images ? Shape{Between(1, 2), 6, 6, 6} : Shape{Between(1, 3), 4, 6};
    Keep(b_.Input("x", FloatTensor(shape)));
    if (Chance(50)) Keep(b_.Input("y", FloatTensor(shape)));
    const int nodes = Between(4, 12);
    for (int i = 0; i < nodes; ++i) images&& Chance(30) ? AddConvolution() : AddAny();
    b_.Output(b_.Node("Neg", {values_.back()}));
    if (Chance(40)) b_.Output(Node("Neg", {Some()}));
    if (Chance(20)) b_.Output(values_[values_.size() / 2]);
    return Inferred(b_);
  }

 private:
  int Between(int low, int high) {
    return low + static_cast<int>(random_() % static_cast<uint32_t>(high - low + 1));
  }
  bool Chance(int percent) { return Between(0, 99) < percent; }
  template <typename Choice>
  Choice OneOf(std::initializer_list<Choice> choices) {
    return choices.begin()[Between(0, static_cast<int>(choices.size()) - 1)];
  }

  const Shape& ShapeAt(ValueId value) { return *b_.graph()[value].type.shape; }
  Ints DimsAt(ValueId value) { return StaticDims(ShapeAt(value)); }
  std::string NewName() { return "c" + std::to_string(names_++); }

  ValueId Keep(ValueId value) {
    values_.push_back(value);
    return value;
  }
  ValueId Some() {
    const int last = static_cast<int>(values_.size()) - 1;
    return values_[static_cast<size_t>(Chance(80) ? last : Between(0, last))];
  }
  // With its shape known.
  ValueId Node(const std::string& op, const std::vector<ValueId>& inputs,
               const Attributes& attributes = {}) {
    const ValueId made = b_.Node(op, inputs, attributes);
    const Status inferred = InferNode(b_.graph(), b_.graph()[made].producer);
    EXPECT_TRUE(inferred.ok()) << (inferred.ok() ? "" : inferred.error().Text());
    return made;
  }

  // Of a shape that broadcasts to the value's, now and then with numbers that mean something.
  ValueId Constant(ValueId like) {
    Ints dims = DimsAt(like);
    for (int64_t& dim : dims) {
      if (Chance(55)) dim = 1;
    }
    dims.erase(dims.begin(), dims.begin() + Between(0, static_cast<int>(dims.size())));
    if (Chance(20)) dims.clear();
    const auto count = static_cast<size_t>(kernels::ElementCount(dims));
    std::vector<float> elements = RandomFloats(count, static_cast<uint32_t>(random_()));
    for (float& element : elements) element = element == 0 ? 1 : element;
    if (Chance(25)) {
      elements.assign(count, OneOf({0.0F, 1.0F, 0.5F, 2.0F, 3.0F, 1.41421356F}));
    }
    return b_.Float32s(NewName(), dims, elements);
  }
  ValueId NonZero(ValueId like) {
    return Node("Add", {Node("Abs", {Constant(like)}), Scalar(b_, NewName(), 0.5F)});
  }

  void AddConvolution() {
    const ValueId x = Some();
    const Shape& shape = ShapeAt(x);
    if (shape.size() != 4 || shape[1] != graph::Dim(6)) return AddAny();
    const int64_t groups = OneOf<int64_t>({1, 1, 2, 6});
    Attributes attributes = With("pads", Ints{1, 1, 1, 1});
    attributes.Set("group", groups);
    std::vector<ValueId> inputs = {x, Weights(b_, NewName(), {6, 6 / groups, 3, 3}, 0.2F)};
    if (Chance(40)) inputs.push_back(Weights(b_, NewName(), {6}));
    Keep(Node(Chance(25) ? "ConvTranspose" : "Conv", inputs, attributes));
    if (Chance(40)) {
      const ValueId variance = b_.Float32s(NewName(), {6}, {0.5F, 1, 2, 0.1F, 0.7F, 3});
      Keep(Node("BatchNormalization",
                {values_.back(), Weights(b_, NewName(), {6}), Weights(b_, NewName(), {6}),
                 Weights(b_, NewName(), {6}), variance}));
    }
  }

  void AddAny() {
    const ValueId x = Some();
    const Shape shape = ShapeAt(x);
    const auto rank = static_cast<int>(shape.size());
    switch (Between(0, 13)) {
      case 0:
      case 1:
        return (void)Keep(Chance(50) ? Node(OneOf({"Add", "Mul", "Sub"}), {x, Constant(x)})
                                     : Node(OneOf({"Add", "Mul", "Sub"}), {Constant(x), x}));
      case 2:
        return (void)Keep(Node("Div", {x, NonZero(x)}));
      case 3: {
        const ValueId y = Some();
        return (void)Keep(
            Node(OneOf({"Add", "Mul"}), {x, ShapeAt(y) == shape ? y : Node("Sigmoid", {x})}));
      }
      case 4: {
        Attributes hard = With("alpha", OneOf({1.0 / 6, 0.2, 0.3}));
        hard.Set("beta", OneOf({0.5, 0.4}));
        const ValueId gate = Chance(50) ? Node("Sigmoid", {x}) : Node("HardSigmoid", {x}, hard);
        return (void)Keep(Node("Mul", {Chance(80) ? x : gate, gate}));
      }
      case 5:
        return (void)Keep(
            Node(OneOf({"Relu", "Tanh", "Sigmoid", "Gelu", "Abs", "HardSwish"}), {x}));
      case 6:
        return (void)Keep(Node(OneOf({"LeakyRelu", "Elu"}), {x}, With("alpha", OneOf({0.3, 0.7}))));
      case 7: {
        Ints perm;
        for (int i = 0; i < rank; ++i) perm.push_back(i);
        std::swap(perm[static_cast<size_t>(Between(0, rank - 1))],
                  perm[static_cast<size_t>(Between(0, rank - 1))]);
        return (void)Keep(Node("Transpose", {x}, With("perm", perm)));
      }
      case 8: {
        Ints dims = DimsAt(x);
        if (Chance(50) && rank > 2) {
          dims[1] *= dims[0];
          dims.erase(dims.begin());
        } else {
          dims.insert(dims.begin() + Between(0, rank), 1);
        }
        return (void)Keep(Node("Reshape", {x, b_.Int64s(NewName(), dims)}));
      }
      case 9: {
        if (rank < 2 || !shape.back().is_number()) return;
        const int64_t width = shape.back().number();
        const ValueId right = Chance(50)
                                  ? Weights(b_, NewName(), {width, 6}, 0.4F)
                                  : Node("Transpose", {Weights(b_, NewName(), {6, width}, 0.4F)},
                                         With("perm", Ints{1, 0}));
        return (void)Keep(Node("MatMul", {x, right}));
      }
      case 10: {
        if (rank != 2) return;
        Attributes attributes = With("alpha", OneOf({1.0, 0.5}));
        attributes.Set("transB", int64_t{1});
        attributes.Set("beta", OneOf({1.0, 0.5}));
        std::vector<ValueId> inputs = {x, Weights(b_, NewName(), {6, shape[1].number()}, 0.4F)};
        if (Chance(60)) inputs.push_back(Weights(b_, NewName(), {6}));
        return (void)Keep(Node("Gemm", inputs, attributes));
      }
      case 11: {
        const ValueId axes = b_.Int64s(NewName(), {Chance(70) ? rank - 1 : 0});
        const ValueId mean = Node("ReduceMean", {x, axes});
        const ValueId d = Chance(70) ? Node("Sub", {x, mean}) : x;
        const ValueId square =
            Node("Pow", {d, Scalar(b_, NewName(), static_cast<float>(OneOf({2, 2, 4})))});
        const ValueId sum =
            Node("Add", {Node("ReduceMean", {square, axes}), Scalar(b_, NewName(), 0.01F)});
        const ValueId divided = Node("Div", {d, Node("Sqrt", {sum})});
        const Ints scale = Chance(80) ? Ints{DimsAt(x).back()} : Ints{1};
        return (void)Keep(Node("Mul", {divided, Weights(b_, NewName(), scale)}));
      }
      case 12: {
        const float half = OneOf({0.5F, 0.5F, 0.25F});
        const ValueId scaled = Node("Div", {x, Scalar(b_, NewName(), 1.41421356F)});
        const ValueId lifted = Node("Add", {Node("Erf", {scaled}), Scalar(b_, NewName(), 1)});
        return (void)Keep(Node("Mul", {Node("Mul", {x, lifted}), Scalar(b_, NewName(), half)}));
      }
      default:
        return (void)Keep(Chance(50)
                              ? Node("Identity", {x})
                              : Node("Softmax", {x}, With("axis", int64_t{Chance(70) ? -1 : 0})));
    }
  }

  std::mt19937 random_;
  GraphBuilder b_;
  std::vector<ValueId> values_;
  int names_ = 0;
};

using Changes = std::map<std::string, int>;

void Add(const FusionCounts& counts, Changes& changes) {
  for (const FusionPatternRow& row : FusionPatternTable()) {
    if (!counts.looked_for(row.pattern)) continue;
    changes[std::string(row.name)] += counts[row.pattern].effects;
  }
}

FusionSwitches RandomSwitches(uint32_t seed) {
  std::mt19937 random(seed);
  FusionSwitches switches;
  for (const FusionPatternRow& row : FusionPatternTable()) {
    if (row.always_on_because.empty() && random() % 2 == 0) switches.SwitchOff(row.pattern);
  }
  return switches;
}

TEST(RandomPassesTest, SimplifiedGraphsComputeTheSame) {
  Changes changes;
  for (uint32_t seed = 0; seed < 200; ++seed) {
    const Graph before = RandomNodes(seed).Make();
    Graph after = before;
    FusionCounts counts;
    ASSERT_TRUE(Simplify(after, counts).ok()) << seed;
    ExpectSameResults(before, after, kPrecision);
    ASSERT_FALSE(HasFailure()) << "seed " << seed << ": " << OperatorsOf(before) << " became "
                               << OperatorsOf(after);
    Add(counts, changes);
  }
  // A pass that finds less than it did, or more, shows here.
  EXPECT_EQ(changes, (Changes{{"AttentionFusionPass", 0},
                              {"BranchInlinePass", 0},
                              {"CommonSubexpressionPass", 149},
                              {"ConstantFoldPass", 233},
                              {"ConvActivationFusionPass", 28},
                              {"ConvAddFusionPass", 2},
                              {"ConvBatchnormFusionPass", 71},
                              {"ConvCutPass", 0},
                              {"ConvTurnPass", 40},
                              {"DeadCodePass", 731},
                              {"DeadTapPass", 4},
                              {"GeluFusionPass", 49},
                              {"HalfWidenPass", 0},
                              {"HardSwishFusionPass", 5},
                              {"LayerNormFusionPass", 22},
                              {"LoopInvariantPass", 0},
                              {"MatMulActivationFusionPass", 15},
                              {"MatMulAddFusionPass", 1},
                              {"MatMulBiasAddFusionPass", 0},
                              {"MatMulReshapePass", 11},
                              {"MatMulScaleFusionPass", 10},
                              {"MatMulSplitPass", 0},
                              {"MatMulTransposeFusionPass", 2},
                              {"NoOpRemovePass", 86},
                              {"QuantizedFusionPass", 0},
                              {"RmsNormFusionPass", 9},
                              {"ScaleShiftFusionPass", 7},
                              {"SwishFusionPass", 34},
                              {"TransposeSinkPass", 25},
                              {"ViewMergePass", 26},
                              {"WindowPadFusionPass", 0}}));
}

TEST(RandomPassesTest, R203_R205_AnyPatternsSwitchedOffLeaveTheSameResults) {
  for (uint32_t seed = 0; seed < 150; ++seed) {
    const Graph before = RandomNodes(seed).Make();
    Graph after = before;
    FusionCounts counts;
    const FusionSwitches switches = RandomSwitches(seed);
    ASSERT_TRUE(Simplify(after, counts, switches).ok()) << seed;
    ASSERT_TRUE(ChooseLayouts(after, GroupedChannels::kWherePossible, counts, switches).ok());
    ExpectSameResults(before, after, kPrecision);
    ASSERT_FALSE(HasFailure()) << "seed " << seed << ": " << OperatorsOf(before) << " became "
                               << OperatorsOf(after);
    for (const FusionPatternRow& row : FusionPatternTable()) {
      if (switches.IsOn(row.pattern)) continue;
      EXPECT_FALSE(counts.looked_for(row.pattern)) << row.name;
      EXPECT_EQ(counts[row.pattern], PatternCount()) << row.name;
    }
  }
}

TEST(RandomPassesTest, GraphsWithGroupedChannelsComputeTheSame) {
  int grouped = 0;
  for (uint32_t seed = 0; seed < 100; ++seed) {
    const Graph before = RandomNodes(seed + 100'000).Make();
    Graph after = before;
    FusionCounts counts;
    ASSERT_TRUE(Simplify(after, counts).ok()) << seed;
    const auto where =
        seed % 2 == 0 ? GroupedChannels::kWherePossible : GroupedChannels::kWhereFilled;
    ASSERT_TRUE(ChooseLayouts(after, where, counts).ok()) << seed;
    ExpectSameResults(before, after, kPrecision);
    ASSERT_FALSE(HasFailure()) << "seed " << seed << ": " << OperatorsOf(before) << " became "
                               << OperatorsOf(after);
    grouped += counts[FusionPattern::kChannelGroup].effects;
  }
  EXPECT_GT(grouped, 20);
}

}  // namespace random_passes_test
}  // namespace plimsoll::compile
