#include "cli/reports/plan/plan_page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "compile/shapes/shapes.h"
#include "graph/builder.h"
#include "profile/report_page.h"

// What `plimsoll plan --html` shows of a plan.
namespace plimsoll::cli {
namespace plan_page_test {

using graph::Graph;
using graph::GraphBuilder;
using graph::ValueId;
using profile::ReportPlan;
using profile::ReportTensor;
using profile::TensorKind;
using testing::HasSubstr;

constexpr int64_t kSide = 64;
constexpr int64_t kSquare = kSide * kSide * 4;

// x * w, twice, with a Relu that may work in place between.
Graph Chain() {
  GraphBuilder builder;
  const auto square =
      graph::ValueType::Tensor(graph::DataType::kFloat32, graph::Shape{kSide, kSide});
  const ValueId x = builder.Input("x", square);
  const ValueId w = builder.Input("w", square);
  const ValueId product = builder.Node("MatMul", {x, w});
  const ValueId positive = builder.Node("Relu", {product});
  builder.Output(builder.Node("MatMul", {positive, w}));
  Graph graph = builder.Build();
  EXPECT_TRUE(compile::InferShapes(graph).ok());
  return graph;
}

ReportPlan PageOf(const Graph& graph) {
  const auto planned = compile::PlanModel(graph, {});
  EXPECT_TRUE(planned.ok());
  PlanReport report = MakePlanReport(graph, *planned);
  report.file = "chain.onnx";
  report.subject = PlanReport::Subject::kFile;
  return MakeReportPlan(graph, *planned, report);
}

const ReportTensor* Find(const ReportPlan& plan, TensorKind kind) {
  for (const ReportTensor& tensor : plan.tensors) {
    if (tensor.kind == kind) return &tensor;
  }
  return nullptr;
}

TEST(PlanPageTest, ATensorTellsItsLifeItsMakerItsReadersAndWhoSharesItsBytes) {
  const ReportPlan plan = PageOf(Chain());
  ASSERT_EQ(plan.steps.size(), 3u);
  EXPECT_EQ(plan.steps[1].type, "Relu");
  const ReportTensor* tensor = Find(plan, TensorKind::kActivation);
  ASSERT_NE(tensor, nullptr);
  EXPECT_EQ(tensor->bytes, Bytes(kSquare));
  EXPECT_EQ(tensor->type, "float32");
  EXPECT_EQ(tensor->shape, "[64,64]");
  EXPECT_EQ(tensor->producer, 0);
  EXPECT_EQ(tensor->begin, 0);
  EXPECT_EQ(tensor->end, 3);
  EXPECT_EQ(tensor->readers, (std::vector<int64_t>{1, 2}));
  ASSERT_EQ(tensor->members.size(), 1u);  // the Relu works in place
  EXPECT_EQ(tensor->members[0].begin, 1);
}

TEST(PlanPageTest, InputsAndOutputsAreTheCallersMemory) {
  const ReportPlan plan = PageOf(Chain());
  const ReportTensor* input = Find(plan, TensorKind::kInput);
  const ReportTensor* output = Find(plan, TensorKind::kOutput);
  ASSERT_TRUE(input != nullptr && output != nullptr);
  EXPECT_NE(input->region, plan.main_region);
  EXPECT_FALSE(plan.regions[static_cast<size_t>(input->region)].from_device);
  EXPECT_THAT(output->rule, HasSubstr("the caller's memory"));
}

TEST(PlanPageTest, TheWaterlineIsTheSumOfItsOwners) {
  const ReportPlan plan = PageOf(Chain());
  ASSERT_EQ(plan.live.size(), plan.steps.size());
  for (size_t step = 0; step < plan.steps.size(); ++step) {
    Bytes sum;
    for (const auto& owner : OwnersAt(plan, static_cast<int64_t>(step))) sum += owner.bytes;
    EXPECT_EQ(sum, plan.live[step]) << step;
  }
}

TEST(PlanPageTest, ThePageOfAPlanReadsBack) {
  const auto read =
      profile::ReadReportPage(profile::ReportPage({"t", "m", {PageOf(Chain())}}), "f.html");
  ASSERT_TRUE(read.ok()) << read.error().Text();
  EXPECT_EQ(read->plans[0].name, "chain.onnx");
}

TEST(PlanPageTest, PiecesOfAConcatenationAreTheValuesWrittenIntoIt) {
  GraphBuilder builder;
  const auto square =
      graph::ValueType::Tensor(graph::DataType::kFloat32, graph::Shape{kSide, kSide});
  const ValueId x = builder.Input("x", square);
  const ValueId first = builder.Node("MatMul", {x, x});
  const ValueId second = builder.Node("MatMul", {first, x});
  graph::Attributes axis;
  axis.Set("axis", int64_t{0});
  const ValueId both = builder.Node("Concat", {first, second}, axis);
  builder.Output(builder.Node("MatMul", {both, x}));
  Graph graph = builder.Build();
  ASSERT_TRUE(compile::InferShapes(graph).ok());
  const ReportPlan plan = PageOf(graph);
  size_t pieces = 0;
  for (const ReportTensor& tensor : plan.tensors) {
    if (tensor.kind != TensorKind::kActivation) continue;
    ++pieces;
    EXPECT_EQ(tensor.shape, "[64,64]") << tensor.name;
    EXPECT_GE(tensor.producer, 0) << tensor.name;
    ASSERT_EQ(tensor.members.size(), 1u) << tensor.name;
    EXPECT_EQ(tensor.members[0].shape, "[128,64]");
    EXPECT_THAT(tensor.rule, HasSubstr("side by side with 1 others"));
  }
  EXPECT_EQ(pieces, 2u);
}

}  // namespace plan_page_test
}  // namespace plimsoll::cli
