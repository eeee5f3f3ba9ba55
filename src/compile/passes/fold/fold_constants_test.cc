#include "compile/passes/fold/fold_constants.h"

#include <sys/mman.h>

#include <cstdio>

#include "compile/graph_for_tests.h"
#include "compile/passes/compact.h"
#include "compile/passes/dead_code.h"
#include "compile/passes/inline_branches.h"

namespace plimsoll::compile {
namespace fold_constants_test {

using graph::DataType;
using graph::Dim;
using graph::Graph;
using graph::GraphBuilder;
using graph::Shape;
using graph::ValueId;

const graph::ConstantTensor& ConstantOf(const Graph& graph, ValueId value) {
  return graph[graph[value].constant];
}

TEST(FoldConstantsTest, WorksOutNodesOverConstants) {
  GraphBuilder builder;
  const ValueId x = builder.Input("x", FloatTensor({3, 2}));
  const ValueId weights = builder.Float32s("w", {2, 3}, {1, 2, 3, 4, 5, 6});
  const ValueId turned =
      builder.Node("Transpose", {weights}, With("perm", std::vector<int64_t>{1, 0}));
  builder.Output(builder.Node("Add", {x, turned}));
  Graph graph = Inferred(builder);

  EXPECT_EQ(FoldConstants(graph).effects(), 1);
  EXPECT_EQ(OperatorsOf(graph), "Add");
  EXPECT_EQ(ConstantOf(graph, turned).Doubles(), (std::vector<double>{1, 4, 2, 5, 3, 6}));
  EXPECT_EQ(graph[turned].type, FloatTensor({3, 2}));
  EXPECT_EQ(Compact(graph).constants.size(), 1);
}

TEST(FoldConstantsTest, AConstantUnderAnotherShapeStaysWhereItLies) {
  GraphBuilder builder;
  const ValueId x = builder.Input("x", FloatTensor({3, 2}));
  const ValueId weights = builder.Float32s("w", {6}, {1, 2, 3, 4, 5, 6});
  const ValueId shaped = builder.Node("Reshape", {weights, builder.Int64s("shape", {3, 2})});
  builder.Output(builder.Node("Add", {x, shaped}));
  Graph graph = Inferred(builder);
  const std::byte* const place = ConstantOf(graph, weights).bytes.data();

  EXPECT_EQ(FoldConstants(graph).effects(), 1);
  EXPECT_EQ(ConstantOf(graph, shaped).bytes.data(), place);
  EXPECT_EQ(ConstantOf(graph, shaped).dims, (std::vector<int64_t>{3, 2}));
  EXPECT_EQ(ConstantOf(graph, shaped).Doubles(), (std::vector<double>{1, 2, 3, 4, 5, 6}));
}

// Large floats in a file, mapped as weights are.
class MappedFloats {
 public:
  explicit MappedFloats(size_t count) : size_(count * sizeof(float)) {
    std::vector<float> floats(count);
    for (size_t i = 0; i < count; ++i) floats[i] = static_cast<float>(i);
    EXPECT_EQ(std::fwrite(floats.data(), sizeof(float), count, file_), count);
    EXPECT_EQ(std::fflush(file_), 0);
    at_ = mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, fileno(file_), 0);
    EXPECT_NE(at_, MAP_FAILED);
  }
  ~MappedFloats() {
    munmap(at_, size_);
    std::fclose(file_);
  }
  std::span<const std::byte> bytes() const { return {static_cast<const std::byte*>(at_), size_}; }

 private:
  const size_t size_;
  std::FILE* const file_ = std::tmpfile();
  void* at_ = nullptr;
};

TEST(FoldConstantsTest, ALargePieceOfAFileStaysWhereItLiesAndAPieceOfTheHeapIsCopied) {
  constexpr int64_t kRows = 1024;
  constexpr int64_t kHalf = kRows / 2;
  const MappedFloats file(kRows * kRows);
  for (const bool in_file : {true, false}) {
    GraphBuilder builder;
    const ValueId x = builder.Input("x", FloatTensor({kHalf, kRows}));
    const ValueId weights =
        builder.Float32s("w", {kRows, kRows}, std::vector<float>(kRows * kRows, 1));
    const ValueId lower =
        builder.Node("Slice", {weights, builder.Int64s("from", {kHalf}),
                               builder.Int64s("to", {kRows}), builder.Int64s("axes", {0})});
    builder.Output(builder.Node("Add", {x, lower}));
    Graph graph = Inferred(builder);
    graph::ConstantTensor& whole = graph.constants[graph[weights].constant.index()];
    if (in_file) whole.bytes = file.bytes();
    const std::byte* const middle = whole.bytes.data() + kHalf * kRows * sizeof(float);
    const std::shared_ptr<const void> storage = whole.storage;

    EXPECT_EQ(FoldConstants(graph).effects(), 1);
    const graph::ConstantTensor& part = ConstantOf(graph, lower);
    EXPECT_EQ(part.bytes.data() == middle, in_file);
    EXPECT_EQ(part.dims, (std::vector<int64_t>{kHalf, kRows}));
    EXPECT_EQ(part.Doubles().front(), in_file ? static_cast<double>(kHalf * kRows) : 1.0);
    EXPECT_EQ(part.Doubles().back(), in_file ? static_cast<double>(kRows * kRows - 1) : 1.0);
  }
}

TEST(FoldConstantsTest, ShapeArithmeticThatIsNumbersBecomesAConstant) {
  GraphBuilder builder;
  const ValueId x = builder.Input("x", FloatTensor({Dim::Symbol("n"), 4, 6}));
  const ValueId shape = builder.Node("Shape", {x});
  const ValueId last = builder.Node("Gather", {shape, builder.Int64s("i", {2})});
  const ValueId target =
      builder.Node("Concat", {builder.Int64s("m", {-1}), last}, With("axis", int64_t{0}));
  builder.Output(builder.Node("Reshape", {x, target}));
  Graph graph = Inferred(builder);

  EXPECT_GT(FoldConstants(graph).effects(), 0);
  EXPECT_EQ(ConstantOf(graph, target).Integers(), (std::vector<int64_t>{-1, 6}));
  RemoveDeadCode(graph);
  EXPECT_EQ(OperatorsOf(graph), "Reshape");
}

TEST(FoldConstantsTest, AShapeThatASymbolDecidesStays) {
  GraphBuilder builder;
  const ValueId x = builder.Input("x", FloatTensor({Dim::Symbol("n")}));
  builder.Output(builder.Node("Shape", {x}));
  Graph graph = Inferred(builder);
  EXPECT_EQ(FoldConstants(graph).effects(), 0);
  EXPECT_EQ(OperatorsOf(graph), "Shape");
}

TEST(FoldConstantsTest, LeavesWhatWouldMakeAModelLarge) {
  GraphBuilder builder;
  const ValueId x = builder.Input("x", FloatTensor({1024, 1024}));
  const ValueId small = builder.Float32s("s", {1, 1024}, std::vector<float>(1024, 1));
  const ValueId large = builder.Node("Expand", {small, builder.Int64s("to", {1024, 1024})});
  builder.Output(builder.Node("Add", {x, large}));
  Graph graph = Inferred(builder);
  EXPECT_EQ(FoldConstants(graph).effects(), 0);
  EXPECT_EQ(OperatorsOf(graph), "Expand Add");
}

TEST(FoldConstantsTest, LeavesRandomNumbersMissingWeightsAndSpecialMemory) {
  GraphBuilder builder;
  const ValueId drawn = builder.Node("RandomNormal", {}, With("shape", std::vector<int64_t>{2}));
  const ValueId missing = builder.Float32s("missing", {2}, {1, 2});
  const ValueId present = builder.Float32s("present", {2}, {1, 2});
  builder.Output(drawn);
  builder.Output(builder.Node("Neg", {missing}));
  builder.Output(builder.Node("Abs", {present}));
  Graph graph = Inferred(builder);
  graph.constants[0].missing = true;
  graph.constants[0].bytes = {};
  graph.constants[0].storage.reset();
  graph.nodes.back().memory.fixed_address = true;
  EXPECT_EQ(FoldConstants(graph).effects(), 0);
  EXPECT_EQ(OperatorsOf(graph), "RandomNormal Neg Abs");
}

// A constant of these rows, expanded to 1024 columns from `from` of them.
int Expanded(int64_t rows, int64_t from) {
  constexpr int64_t kColumns = 1024;
  GraphBuilder builder;
  const ValueId x = builder.Input("x", FloatTensor({rows, kColumns}));
  const auto count = static_cast<size_t>(rows * from);
  const ValueId few = builder.Float32s("few", {rows, from}, std::vector<float>(count, 1));
  const ValueId many = builder.Node("Expand", {few, builder.Int64s("to", {rows, kColumns})});
  builder.Output(builder.Node("Add", {x, many}));
  Graph graph = Inferred(builder);
  return FoldConstants(graph).effects();
}

TEST(FoldConstantsTest, GrowthIsMeasuredFromOneMebibyteOn) {
  EXPECT_EQ(Expanded(256, 1), 1) << "just one mebibyte";
  EXPECT_EQ(Expanded(257, 1), 0) << "a row more, a thousand times what is read";
}

// A large constant, transposed for `readers`: what FoldBeforeFusing leaves of it.
template <typename Readers>
std::string LeftForProducts(int64_t rows, const Readers& readers) {
  GraphBuilder builder;
  const ValueId w =
      builder.Float32s("w", {rows, 512}, std::vector<float>(static_cast<size_t>(rows * 512), 1));
  const ValueId turned = builder.Node("Transpose", {w}, With("perm", std::vector<int64_t>{1, 0}));
  readers(builder, turned);
  Graph graph = Inferred(builder);
  FoldBeforeFusing(graph);
  return OperatorsOf(graph);
}

TEST(FoldConstantsTest, ALargeTransposeIsLeftToTheProductsThatCanTakeItIn) {
  constexpr int64_t kLarge = 513;
  const auto product = [](GraphBuilder& b, ValueId turned, const char* name) {
    const ValueId x = b.Input(name, FloatTensor({2, 512}));
    b.Output(b.Node("MatMul", {x, turned}));
  };
  EXPECT_EQ(LeftForProducts(kLarge, [&](GraphBuilder& b, ValueId t) { product(b, t, "x"); }),
            "Transpose MatMul");
  EXPECT_EQ(LeftForProducts(512, [&](GraphBuilder& b, ValueId t) { product(b, t, "x"); }), "MatMul")
      << "one mebibyte is always worked out";
  EXPECT_EQ(LeftForProducts(kLarge,
                            [&](GraphBuilder& b, ValueId t) {
                              product(b, t, "x");
                              product(b, t, "y");
                            }),
            "Transpose MatMul MatMul");
  EXPECT_EQ(LeftForProducts(kLarge,
                            [&](GraphBuilder& b, ValueId t) {
                              product(b, t, "x");
                              b.Output(b.Node("Neg", {t}));
                            }),
            "MatMul")
      << "another reader needs it worked out, and is worked out too";
  EXPECT_EQ(LeftForProducts(kLarge,
                            [&](GraphBuilder& b, ValueId t) {
                              const ValueId x = b.Input("x", FloatTensor({kLarge, 2}));
                              b.Output(b.Node("MatMul", {t, x}));
                            }),
            "MatMul")
      << "on the left";
  EXPECT_EQ(LeftForProducts(kLarge,
                            [&](GraphBuilder& b, ValueId t) {
                              product(b, t, "x");
                              b.Output(t);
                            }),
            "MatMul")
      << "the model returns it";
}

TEST(FoldConstantsTest, NumbersOfEveryTypeThatShapesAreMadeOf) {
  GraphBuilder builder;
  const ValueId x = builder.Input("x", FloatTensor({3, 4}));
  const ValueId shape = builder.Node("Shape", {x});
  const ValueId narrow = builder.Node("Cast", {shape}, With("to", int64_t{6}));
  const ValueId truth = builder.Node("Equal", {shape, builder.Int64s("three", {3, 3})});
  for (const ValueId value : {shape, narrow, truth}) builder.Output(value);
  Graph graph = Inferred(builder);
  FoldConstants(graph);
  EXPECT_EQ(OperatorsOf(graph), "");
  EXPECT_EQ(ConstantOf(graph, shape).Integers(), (std::vector<int64_t>{3, 4}));
  EXPECT_EQ(ConstantOf(graph, narrow).type, DataType::kInt32);
  EXPECT_EQ(ConstantOf(graph, narrow).Integers(), (std::vector<int64_t>{3, 4}));
  EXPECT_EQ(ConstantOf(graph, truth).type, DataType::kBool);
  EXPECT_EQ(ConstantOf(graph, truth).Integers(), (std::vector<int64_t>{1, 0}));
}

TEST(FoldConstantsTest, WhatIsKnownInsideALoopIsTrueOfOneIterationOnly) {
  GraphBuilder builder;
  const ValueId trips = builder.Int64("trips", 3);
  const ValueId start = builder.Int64("start", 0);
  const graph::SubgraphId body = builder.BeginBody("body");
  builder.BodyInput("i", graph::ValueType::Tensor(DataType::kInt64, Shape{}));
  const ValueId condition =
      builder.BodyInput("c", graph::ValueType::Tensor(DataType::kBool, Shape{}));
  const ValueId state = builder.BodyInput("s", graph::ValueType::Tensor(DataType::kInt64, Shape{}));
  const ValueId next = builder.Node("Add", {state, builder.Int64("one", 1)});
  builder.EndBody({builder.Node("Identity", {condition}), next});
  builder.Output(builder.Node("Loop", {trips, ValueId(), start}, With("body", body)));
  Graph graph = Inferred(builder);
  FoldConstants(graph);
  EXPECT_EQ(OperatorsOf(graph, body), "Add Identity");
}

TEST(InlineBranchesTest, TheBranchThatIsAlwaysTakenTakesThePlaceOfItsIf) {
  for (const bool taken : {false, true}) {
    GraphBuilder builder;
    const ValueId x = builder.Input("x", FloatTensor({2}));
    const ValueId condition =
        builder.Node("Greater", {builder.Int64("one", 1), builder.Int64("limit", taken ? 0 : 2)});
    const graph::SubgraphId then_body = builder.BeginBody("then");
    builder.EndBody({builder.Node("Relu", {builder.Node("Abs", {x})})});
    const graph::SubgraphId else_body = builder.BeginBody("else");
    builder.EndBody({builder.Node("Neg", {x})});
    graph::Attributes branches = With("then_branch", then_body);
    branches.Set("else_branch", else_body);
    const ValueId y = builder.Node("If", {condition}, branches);
    builder.Output(y);
    Graph graph = Inferred(builder);

    FoldConstants(graph);
    ASSERT_TRUE(graph[condition].constant.valid());
    EXPECT_EQ(InlineBranches(graph).effects(), 1);
    EXPECT_EQ(OperatorsOf(graph), taken ? "Abs Relu" : "Neg");
    EXPECT_EQ(graph.root().outputs[0], y);
    EXPECT_EQ(Compact(graph).subgraphs.size(), 1);
    EXPECT_TRUE(InferShapes(graph).ok());
  }
}

TEST(DeadCodeTest, NodesThatNoOutputNeedsGoUnlessNobodyKnowsWhatTheyDo) {
  GraphBuilder builder;
  const ValueId x = builder.Input("x", FloatTensor({2}));
  builder.Node("Exp", {builder.Node("Neg", {x})});
  builder.Nodes("print", {x}, 1, {}, "somebody.else");
  builder.Output(builder.Node("Relu", {x}));
  Graph graph = Inferred(builder);
  EXPECT_EQ(RemoveDeadCode(graph).effects(), 2);
  EXPECT_EQ(OperatorsOf(graph), "somebody.else::print Relu");
}

}  // namespace fold_constants_test
}  // namespace plimsoll::compile
