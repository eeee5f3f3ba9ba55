#include "compile/passes/layout/channel_groups.h"

#include <set>

#include "compile/passes/pass_results_for_tests.h"
#include "kernels/blocking.h"
#include "plimsoll/base/text.h"

namespace plimsoll::compile {
namespace channel_groups_test {

using graph::Graph;
using graph::GraphBuilder;
using graph::ValueId;

// What a graph holds: convolutions by the forms that they take and give, P plain and G grouped.
std::multiset<std::string> Forms(const Graph& graph) {
  std::multiset<std::string> forms;
  const auto form = [](const graph::Node& node, const char* side) {
    return node.attributes.Int(side, 0) != 0 ? "G" : "P";
  };
  for (const graph::Node& node : graph.nodes) {
    if (!node.home.valid()) continue;
    forms.insert(node.op != "FusedConv"
                     ? node.op
                     : StrCat(form(node, "input_blocked"), form(node, "output_blocked")));
  }
  return forms;
}

ValueId Convolved(GraphBuilder& b, ValueId x, const std::string& name, std::vector<int64_t> weights,
                  int64_t group = 1) {
  graph::Attributes attributes;
  attributes.Set("group", group);
  return b.Node("Conv", {x, Weights(b, name, std::move(weights))}, std::move(attributes));
}

// Between tensors that fill no groups: widened, filtered channel by channel, narrowed.
Graph Bottleneck(bool narrow_output) {
  const int64_t wide = 2 * kernels::BlockSize();
  GraphBuilder b;
  ValueId y = Convolved(b, b.Input("x", FloatTensor({1, 5, 6, 7})), "up", {wide, 5, 1, 1});
  y = Convolved(b, y, "each", {wide, 1, 3, 3}, wide);
  if (narrow_output) y = Convolved(b, y, "down", {5, wide, 1, 1});
  b.Output(y);
  return Inferred(b);
}

TEST(ChannelGroupsTest, ConvolutionsBesideFilledGroupsGiveAndTakeThem) {
  Graph graph = Bottleneck(true);
  const Graph before = graph;
  EXPECT_EQ(GroupFilledChannels(graph).effects(), 3);
  ASSERT_TRUE(InferShapes(graph).ok());
  EXPECT_EQ(Forms(graph), (std::multiset<std::string>{"PG", "GG", "GP"}));
  ExpectSameResults(before, graph, 1e-5);
}

TEST(ChannelGroupsTest, ALastConvolutionGivesThePlainForm) {
  Graph graph = Bottleneck(false);
  const Graph before = graph;
  GroupFilledChannels(graph);
  ASSERT_TRUE(InferShapes(graph).ok());
  EXPECT_EQ(Forms(graph), (std::multiset<std::string>{"PG", "GP"}));
  ExpectSameResults(before, graph, 1e-5);
}

// One channel would be a group of zeros but for itself: several times the work.
TEST(ChannelGroupsTest, AConvolutionBetweenFewChannelsStaysPlain) {
  const int64_t wide = kernels::BlockSize();
  GraphBuilder b;
  ValueId y = Convolved(b, b.Input("x", FloatTensor({1, 1, 9, 9})), "one", {1, 1, 3, 3});
  y = Convolved(b, y, "up", {wide, 1, 1, 1});
  y = Convolved(b, y, "each", {wide, 1, 3, 3}, wide);
  b.Output(Convolved(b, y, "down", {1, wide, 1, 1}));
  Graph graph = Inferred(b);
  const Graph before = graph;
  EXPECT_EQ(GroupChannels(graph).effects(), 3) << "what reads grouped channels still does";
  ASSERT_TRUE(InferShapes(graph).ok());
  EXPECT_TRUE(Forms(graph).contains("Conv"));
  ExpectSameResults(before, graph, 1e-5);
}

// Readers that work on plain tensors: the result would be made plain again.
TEST(ChannelGroupsTest, AConvolutionThatFeedsNoGroupedOneStaysPlain) {
  const int64_t wide = kernels::BlockSize();
  GraphBuilder b;
  const ValueId y = Convolved(b, b.Input("x", FloatTensor({1, 5, 6, 7})), "up", {wide, 5, 1, 1});
  b.Output(Convolved(b, y, "left", {5, wide, 1, 1}));
  b.Output(Convolved(b, y, "right", {5, wide, 3, 3}));
  Graph graph = Inferred(b);
  EXPECT_EQ(GroupFilledChannels(graph).effects(), 0);
}

}  // namespace channel_groups_test
}  // namespace plimsoll::compile
