#include "cli/reports/clearing_report.h"

#include <gtest/gtest.h>

#include "compile/shapes/shapes.h"
#include "engine/graph/compile_request.h"
#include "graph/builder.h"

// What `plimsoll plan` tells of cleared memory and of the caller's.
namespace plimsoll::cli {
namespace clearing_report_test {

PlanReports Alone(const PlanReport& report) {
  PlanReports reports;
  reports.models.push_back(report);
  return reports;
}

using graph::Graph;
using graph::GraphBuilder;
using graph::ValueId;

constexpr int64_t kSide = 64;
constexpr int64_t kProduct = kSide * kSide * 4;

// A chain of products, each of which needs zeroed memory.
Graph ClearedProducts(int count) {
  GraphBuilder builder;
  const auto square =
      graph::ValueType::Tensor(graph::DataType::kFloat32, graph::Shape{kSide, kSide});
  const ValueId x = builder.Input("x", square);
  const ValueId w = builder.Input("w", square);
  ValueId y = builder.Node("MatMul", {x, w});
  for (int i = 0; i < count; ++i) y = builder.Node("MatMul", {y, w});
  builder.Output(builder.Node("MatMul", {y, w}));
  builder.Output(x);
  Graph graph = builder.Build();
  for (size_t i = 1; i + 1 < graph.nodes.size(); ++i) graph.nodes[i].memory.needs_clearing = {0};
  EXPECT_TRUE(compile::InferShapes(graph).ok());
  return graph;
}

PlanReport ReportOf(const Graph& graph, const compile::PlanOptions& options) {
  const auto planned = compile::PlanModel(graph, options);
  if (!planned.ok()) {
    ADD_FAILURE() << planned.error().Text();
    return {};
  }
  PlanReport report = MakePlanReport(graph, *planned);
  report.clearing = *CompareClearing(graph, *planned, options);
  return report;
}

TEST(ClearingReportTest, R7_TheReportShowsWhatBothPoliciesTake) {
  const Graph graph = ClearedProducts(8);
  for (const bool together : {true, false}) {
    compile::PlanOptions options;
    options.lifetimes.clear_together = together;
    const PlanReport report = ReportOf(graph, options);
    ASSERT_TRUE(report.clearing);
    EXPECT_EQ(report.clearing->policy, together ? 0 : 1);
    EXPECT_EQ(report.clearing->nodes, 8);
    EXPECT_EQ(report.clearing->cleared, Bytes(8 * kProduct));
    EXPECT_EQ(report.clearing->area, Bytes(8 * kProduct));
    EXPECT_LT(report.clearing->peak_separate, report.clearing->peak_together);
    EXPECT_EQ(report.peak,
              together ? report.clearing->peak_together : report.clearing->peak_separate);
    const Json json = PlanJson(Alone(report))["models"][0];
    EXPECT_EQ(json["clearing"]["peak_bytes_policy_0"], report.clearing->peak_together.value());
    EXPECT_EQ(json["clearing"]["peak_bytes_policy_1"], report.clearing->peak_separate.value());
    EXPECT_EQ(json["clearing"]["area_cost_bytes"],
              (report.clearing->peak_together - report.clearing->peak_separate).value());
    const std::string text = PlanText(Alone(report), false);
    EXPECT_NE(text.find("policy 0 takes"), std::string::npos);
    EXPECT_NE(text.find("policy 1 takes"), std::string::npos);
    EXPECT_NE(text.find("the common area costs"), std::string::npos);
  }
}

TEST(ClearingReportTest, R7_OfACompiledModelItIsWhatItsRunsTake) {
  for (const bool separately : {false, true}) {
    config::RunConfig config;
    config.memory_config.clear_separately = separately;
    compile::CompileOptions options;
    options.plan = engine::PlanOptionsFor(config, {});
    const auto model = compile::CompileModel(ClearedProducts(8), options);
    ASSERT_TRUE(model.ok());
    const auto clearing = CompareClearing(*model);
    ASSERT_TRUE(clearing.ok() && *clearing);
    EXPECT_EQ((*clearing)->policy, separately ? 1 : 0);
    EXPECT_EQ((*clearing)->area, Bytes(8 * kProduct));
    EXPECT_EQ(compile::FeatureMapPeak(model->planned),
              separately ? (*clearing)->peak_separate : (*clearing)->peak_together);
    EXPECT_LT((*clearing)->peak_separate, (*clearing)->peak_together);
  }
}

TEST(ClearingReportTest, NothingIsToldWhereNothingIsCleared) {
  const PlanReport report = ReportOf(ClearedProducts(0), {});
  EXPECT_FALSE(report.clearing);
  EXPECT_FALSE(PlanJson(Alone(report))["models"][0].contains("clearing"));
}

TEST(ClearingReportTest, EachInputAndOutputIsSaidToBeInPlaceOrCopiedAndWhy) {
  const PlanReport report = ReportOf(ClearedProducts(1), {});
  const Json ports = PlanJson(Alone(report))["models"][0]["ports"];
  ASSERT_EQ(ports.size(), 4U);
  EXPECT_EQ(ports[0]["name"], "x");
  EXPECT_EQ(ports[0]["in_place"], true);
  EXPECT_EQ(ports[2]["in_place"], true);
  EXPECT_EQ(ports[3]["in_place"], false);
  EXPECT_EQ(ports[3]["reason"], "it is the input 'x' as it is");
  EXPECT_NE(PlanText(Alone(report), false).find("Zero copy: 3 of 4"), std::string::npos);
}

}  // namespace clearing_report_test
}  // namespace plimsoll::cli
