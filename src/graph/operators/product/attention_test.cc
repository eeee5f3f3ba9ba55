#include <gtest/gtest.h>

#include "graph/builder.h"
#include "graph/operators/operator_case.h"

namespace plimsoll::graph::operators {
namespace attention_test {

TEST(AttentionTest, ReadsHeadsThatStandAloneOrArePacked) {
  CheckAll({
      {"Attention",
       23,
       {"float32[b,8,q,64]", "float32[b,2,s,64]", "float32[b,2,s,32]", "", "float32[b,2,p,64]",
        "float32[b,2,p,32]"},
       {},
       {"float32[b,8,q,32]", "float32[b,2,p + s,64]", "float32[b,2,p + s,32]",
        "float32[b,8,q,p + s]"}},
      {"Attention",
       24,
       {"float16[b,q,512]", "float16[b,s,128]", "float16[b,s,64]"},
       {{"q_num_heads", int64_t{8}}, {"kv_num_heads", int64_t{2}}},
       {"float16[b,q,256]"}},
      {"Attention",
       23,
       {"float32[...]", "float32[b,2,s,64]", "float32[b,2,s,32]"},
       {},
       {"float32[...]", "float32[...]"}},
      {"Attention",
       23,
       {"float32[1,2,512]", "float32[1,2,512]", "float32[1,2,512]"},
       {},
       {"fails: number of heads"}},
      {"Attention",
       23,
       {"float32[1,2,4,8]", "float32[1,2,4,9]", "float32[1,2,4,8]"},
       {},
       {"fails: widths of query and key"}},
  });
}

TEST(AttentionTest, KeepsARecurrentState) {
  CheckAll({
      {"LinearAttention",
       27,
       {"float16[b,t,64]", "float16[b,t,32]", "float16[b,t,16]"},
       {{"q_num_heads", int64_t{4}}, {"kv_num_heads", int64_t{2}}},
       {"float16[b,t,32]", "float16[b,2,16,8]"}},
      {"LinearAttention",
       27,
       {"float16[b,t,64]", "float16[b,t,32]", "float16[b,t,16]", "float32[b,2,16,8]"},
       {{"q_num_heads", int64_t{4}}, {"kv_num_heads", int64_t{2}}},
       {"float16[b,t,32]", "float32[b,2,16,8]"}},
      {"LinearAttention",
       27,
       {"float16[b,t,64]", "float16[b,t,32]", "float16[b,t,16]"},
       {},
       {"fails: 0 query heads", ""}},
  });
}

TEST(AttentionTest, RotatesWithoutReshaping) {
  CheckAll({
      {"RotaryEmbedding",
       23,
       {"float32[b,h,s,64]", "float32[s,32]", "float32[s,32]"},
       {},
       {"float32[b,h,s,64]"}},
      {"RotaryEmbedding",
       23,
       {"float32[b,h]", "float32[s,32]", "float32[s,32]"},
       {},
       {"fails: 3 or 4 dimensions"}},
  });
}

TEST(AttentionTest, GivesScoresToABodyThatMayRewriteThem) {
  GraphBuilder builder(25);
  const ValueType type = ParseType("float16[b,8,q,64]");
  const ValueId query = builder.Input("q", type);
  const ValueId key = builder.Input("k", ParseType("float16[b,2,s,64]"));
  const SubgraphId body = builder.BeginBody("score_mod");
  const ValueId scores = builder.BodyInput("scores", {});
  builder.EndBody({builder.Node("Identity", {scores})});
  Attributes attributes;
  attributes.Set("score_mod", body);
  const ValueId out =
      builder.Nodes("FlexAttention", {query, key, key}, 1, attributes, "ai.onnx.preview")[0];
  Graph graph = builder.Build();
  graph[graph[out].producer].version = 1;
  ASSERT_TRUE(InferAll(graph).ok());
  EXPECT_EQ(TextOf(graph[out]), "float16[b,8,q,64]");
  EXPECT_EQ(TextOf(graph[scores]), "float32[b,8,q,s]");
}

}  // namespace attention_test
}  // namespace plimsoll::graph::operators
