#include <gtest/gtest.h>

#include "graph/operators/operator_case.h"

namespace plimsoll::graph::operators {
namespace indexing_test {

TEST(IndexingTest, GatherPutsTheIndicesInPlaceOfTheAxis) {
  CheckAll({
      {"Gather", 1, {"float32[5,n]", "int64[2,3]"}, {}, {"float32[2,3,n]"}},
      {"Gather", 13, {"float32[5,n,7]", "int64[]"}, {{"axis", int64_t{-1}}}, {"float32[5,n]"}},
      {"Gather", 13, {"float32[...]", "int64[]"}, {}, {"float32[...]"}},
      {"Gather",
       13,
       {"float32[5]", "int64[]"},
       {{"axis", int64_t{1}}},
       {"fails: axis 1 is outside"}},
      {"Gather", 13, {"float32[]", "int64[]"}, {}, {"fails: axis 0 is outside"}},
  });
}

TEST(IndexingTest, GatherFollowsKnownElements) {
  CheckAll({
      {"Gather", 13, {"int64[3]{2,n,4}", "int64[]{1}"}, {}, {"int64[]{n}"}},
      {"Gather", 13, {"int64[3]{2,n,4}", "int64[2]{-1,0}"}, {}, {"int64[2]{4,2}"}},
      {"Gather",
       13,
       {"int64[2,2]{1,2,3,4}", "int64[1]{1}"},
       {{"axis", int64_t{1}}},
       {"int64[2,1]{2,4}"}},
      {"Gather", 13, {"int64[3]{2,n,4}", "int64[]{3}"}, {}, {"int64[]"}},
      {"Gather", 13, {"int64[3]{2,n,4}", "int64[]{n}"}, {}, {"int64[]"}},
      {"Gather",
       13,
       {"int64[4611686018427387904,0]{}", "int64[0]{}"},
       {{"axis", int64_t{1}}},
       {"int64[4611686018427387904,0]"}},
  });
}

TEST(IndexingTest, GatherElementsTakesTheShapeOfItsIndices) {
  CheckAll({
      {"GatherElements", 11, {"float32[5,n]", "int64[2,m]"}, {}, {"float32[2,m]"}},
      {"GatherElements", 13, {"float32[5,n]", "int64[2]"}, {}, {"fails: differ in rank"}},
      {"GatherElements", 13, {"float32[5]", "int64[2]"}, {{"axis", int64_t{1}}}, {"fails: axis 1"}},
  });
}

TEST(IndexingTest, GatherNdTakesSlicesByTuples) {
  CheckAll({
      {"GatherND", 11, {"float32[5,n,7]", "int64[3,2]"}, {}, {"float32[3,7]"}},
      {"GatherND",
       12,
       {"float32[b,5,n]", "int64[b,4,1]"},
       {{"batch_dims", int64_t{1}}},
       {"float32[b,4,n]"}},
      {"GatherND", 13, {"float32[5,n]", "int64[3,k]"}, {}, {"float32[...]"}},
      {"GatherND",
       13,
       {"float32[5]", "int64[3,2]"},
       {},
       {"fails: an index of 2 parts is too long"}},
      {"GatherND",
       13,
       {"float32[5]", "int64[1]"},
       {{"batch_dims", int64_t{1}}},
       {"fails: batch_dims 1"}},
      {"GatherND", 13, {"float32[5]", "int64[]"}, {}, {"fails: must each have an axis"}},
  });
}

}  // namespace indexing_test
}  // namespace plimsoll::graph::operators
