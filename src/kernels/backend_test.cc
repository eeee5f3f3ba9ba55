#include "kernels/backend.h"

#include <gtest/gtest.h>

#include "graph/builder.h"

namespace plimsoll::kernels {
namespace backend_test {

using graph::DataType;
using graph::Graph;
using graph::GraphBuilder;
using graph::NodeId;
using graph::ValueType;

// Knows Relu alone.
class ReluBackend final : public Backend {
 public:
  std::string_view name() const override { return "relu"; }
  bool HasOperator(std::string_view, std::string_view name, int) const override {
    return name == "Relu";
  }
  Result<KernelPointer> Prepare(KernelSite& site) const override {
    return HostBackend().Prepare(site);
  }
};

Graph OneNode(const std::string& op) {
  GraphBuilder builder;
  const ValueType type = ValueType::Tensor(DataType::kFloat32, graph::Shape{4});
  const graph::ValueId made = builder.Node(op, {builder.Input("x", type)});
  builder.Output(made);
  Graph graph = builder.Build();
  graph[made].type = type;
  return graph;
}

TEST(BackendTest, KindsWithoutABackendOfTheirOwnUseTheCpus) {
  for (const char* kind : {"cpu", "far", "fake", "somebody's"}) {
    EXPECT_EQ(&BackendFor(kind), &HostBackend()) << kind;
  }
  EXPECT_EQ(HostBackend().name(), "cpu");
  EXPECT_GT(HostBackend().channels_together(), 1);
}

TEST(BackendTest, AKindIsGivenOneBackend) {
  ASSERT_TRUE(RegisterBackend("backend_test", std::make_unique<ReluBackend>()).ok());
  EXPECT_EQ(BackendFor("backend_test").name(), "relu");
  for (const char* kind : {"backend_test", "cpu", "far", "fake", ""}) {
    const Status again = RegisterBackend(kind, std::make_unique<ReluBackend>());
    ASSERT_FALSE(again.ok()) << kind;
    EXPECT_EQ(again.error().code, "kernel.backend");
  }
  EXPECT_FALSE(RegisterBackend("backend_test_none", nullptr).ok());
}

TEST(BackendTest, WhatABackendDoesNotSayIsAsTheOperatorAllows) {
  const ReluBackend backend;
  EXPECT_TRUE(backend.Supports(OneNode("Relu"), NodeId(0)));
  EXPECT_FALSE(backend.Supports(OneNode("Neg"), NodeId(0)));
  EXPECT_EQ(backend.InPlacePairs(OneNode("Relu"), NodeId(0)).size(), 1u);
  EXPECT_EQ(backend.channels_together(), 1);
}

TEST(BackendTest, AMissingKernelNamesNodeOperatorAndBackend) {
  Graph graph = OneNode("Relu");
  graph.nodes[0].op = "Frobnicate";
  graph.nodes[0].name = "first";
  KernelSite site{.graph = graph, .id = NodeId(0), .inputs = {}, .outputs = {}};
  const auto made = HostBackend().Prepare(site);
  ASSERT_FALSE(made.ok());
  EXPECT_EQ(made.error().code, "kernel.unsupported");
  EXPECT_EQ(made.error().kind, ErrorKind::kUnsupported);
  for (const char* part : {"'first'", "Frobnicate", "backend \"cpu\"", "register a kernel"}) {
    EXPECT_NE(made.error().Text().find(part), std::string::npos) << made.error().Text();
  }
}

}  // namespace backend_test
}  // namespace plimsoll::kernels
