#include "compile/kernel_looks.h"

#include <gtest/gtest.h>

#include "base/must_for_tests.h"
#include "compile/graph_for_tests.h"
#include "compile/node_site.h"

namespace plimsoll::compile {
namespace kernel_looks_test {

using graph::Graph;
using graph::GraphBuilder;
using graph::NodeId;
using graph::ValueId;

// Two products with weights of one size, and two reshapes to different shapes of one size.
Graph Layers() {
  GraphBuilder builder;
  ValueId y = builder.Input("x", FloatTensor({4, 4}));
  y = builder.Node("MatMul", {y, builder.Float32s("w0", {4, 4}, std::vector<float>(16, 1.0F))});
  y = builder.Node("MatMul", {y, builder.Float32s("w1", {4, 4}, std::vector<float>(16, 2.0F))});
  builder.Output(builder.Node("Expand", {y, builder.Int64s("s0", {2, 4, 4})}));
  builder.Output(builder.Node("Expand", {y, builder.Int64s("s1", {3, 4, 4})}));
  return Inferred(builder);
}

class KernelLooksTest : public testing::Test {
 protected:
  // Whether the kernel had to be prepared.
  bool IsNew(size_t node, Bytes most = Bytes(kSaturated), std::string_view context = "") {
    NodeSite known(graph_, NodeId(node));
    known.site().most_workspace = most;
    bool prepared = false;
    const KernelLook look = Must(looks_.At(known.site(), context, [&]() -> Result<KernelLook> {
      prepared = true;
      return KernelLook{.workspace = Bytes(static_cast<int64_t>(node)), .trades = {}};
    }));
    EXPECT_LE(look.workspace, Bytes(static_cast<int64_t>(node)));
    return prepared;
  }

  const Graph graph_ = Layers();
  KernelLooks looks_;
};

TEST_F(KernelLooksTest, EqualLayersArePreparedOnce) {
  EXPECT_TRUE(IsNew(0));
  EXPECT_FALSE(IsNew(0));
  EXPECT_FALSE(IsNew(1));
}

TEST_F(KernelLooksTest, WhatTheHostReadsTellsNodesApart) {
  EXPECT_TRUE(IsNew(2));
  EXPECT_TRUE(IsNew(3));
}

TEST_F(KernelLooksTest, WorkspaceAndContextTellNodesApart) {
  EXPECT_TRUE(IsNew(0));
  EXPECT_TRUE(IsNew(0, Bytes(0)));
  EXPECT_TRUE(IsNew(0, Bytes(kSaturated), "alone"));
}

TEST_F(KernelLooksTest, NothingIsKnownOnceCleared) {
  EXPECT_TRUE(IsNew(0));
  looks_.Clear();
  EXPECT_TRUE(IsNew(0));
}

}  // namespace kernel_looks_test
}  // namespace plimsoll::compile
