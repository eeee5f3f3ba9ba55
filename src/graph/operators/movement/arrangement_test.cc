#include <gtest/gtest.h>

#include "graph/operators/operator_case.h"

namespace plimsoll::graph::operators {
namespace arrangement_test {

const std::pair<std::string, Attribute> kAxis0{"axis", int64_t{0}};
const std::pair<std::string, Attribute> kLast{"axis", int64_t{-1}};

TEST(ArrangementTest, ConcatAddsUpOneAxis) {
  CheckAll({
      {"Concat", 13, {"float32[2,n]", "float32[2,3]"}, {kLast}, {"float32[2,n + 3]"}},
      {"Concat", 4, {"float32[n,3]", "float32[1,m]"}, {kAxis0}, {"float32[n + 1,3]"}},
      {"Concat", 13, {"float32[2,3]", "float32[...]"}, {kAxis0}, {"float32[?,3]"}},
      {"Concat", 13, {"float32[...]", "float32[...]"}, {kAxis0}, {"float32[...]"}},
      {"Concat", 13, {"float32[2,3]", "float32[2,4]"}, {kAxis0}, {"fails: differ on axis 1"}},
      {"Concat", 13, {"float32[2,3]", "float32[2]"}, {kAxis0}, {"fails: has another rank"}},
      {"Concat", 13, {"float32[2]", "int64[2]"}, {kAxis0}, {"fails: must have one type"}},
      {"Concat", 13, {"float32[2]"}, {{"axis", int64_t{1}}}, {"fails: axis 1 is outside"}},
      {"Concat", 13, {"float32[]"}, {kAxis0}, {"fails: axis 0 is outside"}},
      {"Concat", 13, {"float32[2]"}, {}, {"fails: names no axis"}},
  });
}

TEST(ArrangementTest, ConcatJoinsKnownElements) {
  CheckAll({
      {"Concat",
       13,
       {"int64[1]{n}", "int64[0]{}", "int64[2]{3,-1}"},
       {kAxis0},
       {"int64[3]{n,3,-1}"}},
      {"Concat",
       13,
       {"int64[2,1]{1,2}", "int64[2,2]{3,4,5,6}"},
       {kLast},
       {"int64[2,3]{1,3,4,2,5,6}"}},
      {"Concat", 13, {"float32[1]{0.5}", "float32[1]{2}"}, {kAxis0}, {"float32[2]{0.5,2}"}},
      {"Concat", 13, {"int64[1]{n}", "int64[1]"}, {kAxis0}, {"int64[2]"}},
      {"Concat",
       13,
       {"int64[4611686018427387904,0]{}"},
       {kLast},
       {"int64[4611686018427387904,0]{}"}},
  });
}

TEST(ArrangementTest, ExpandBroadcastsBothWays) {
  CheckAll({
      {"Expand", 8, {"float32[3,1]", "int64[3]{2,1,n}"}, {}, {"float32[2,3,n]"}},
      {"Expand", 13, {"float32[3,1]", "int64[1]{1}"}, {}, {"float32[3,1]"}},
      {"Expand", 13, {"float32[3,1]", "int64[3]"}, {}, {"float32[?,3,?]"}},
      {"Expand", 13, {"float32[3,1]", "int64[n]"}, {}, {"float32[...]"}},
      {"Expand", 13, {"int64[1]{n}", "int64[1]{3}"}, {}, {"int64[3]{n,n,n}"}},
      {"Expand", 13, {"float32[3]", "int64[1]{2}"}, {}, {"fails: [3] does not broadcast to [2]"}},
      {"Expand", 13, {"float32[3]", "int64[1]{-1}"}, {}, {"fails: negative dimension"}},
  });
}

TEST(ArrangementTest, TileRepeats) {
  CheckAll({
      {"Tile", 6, {"float32[2,n]", "int64[2]{3,2}"}, {}, {"float32[6,2*n]"}},
      {"Tile", 13, {"float32[2,n]", "int64[2]"}, {}, {"float32[?,?]"}},
      {"Tile", 13, {"float32[...]", "int64[2]"}, {}, {"float32[?,?]"}},
      {"Tile", 13, {"int64[2]{n,3}", "int64[1]{2}"}, {}, {"int64[4]{n,3,n,3}"}},
      {"Tile", 13, {"float32[2,n]", "int64[1]{3}"}, {}, {"fails: there are 1 repeats"}},
      {"Tile", 13, {"float32[2]", "int64[1]{-3}"}, {}, {"fails: repeated -3 times"}},
  });
}

TEST(ArrangementTest, BlocksMoveBetweenDepthAndSpace) {
  const std::pair<std::string, Attribute> two{"blocksize", int64_t{2}};
  const std::pair<std::string, Attribute> huge{"blocksize", int64_t{1} << 62};
  CheckAll({
      {"DepthToSpace", 1, {"float32[n,8,3,w]"}, {two}, {"float32[n,2,6,2*w]"}},
      {"DepthToSpace", 13, {"float32[...]"}, {two}, {"float32[?,?,?,?]"}},
      {"DepthToSpace",
       13,
       {"float32[1,6,3,3]"},
       {two},
       {"fails: 6 of [1,6,3,3] is no multiple of 4"}},
      {"DepthToSpace", 13, {"float32[1,8,3,3]"}, {}, {"fails: blocksize is 0"}},
      {"DepthToSpace", 13, {"float32[1,8,3,3]"}, {huge}, {"fails: is no multiple"}},
      {"DepthToSpace", 13, {"float32[8,3,3]"}, {two}, {"fails: is not of rank 4"}},
      {"SpaceToDepth", 13, {"float32[n,2,6,2*w]"}, {two}, {"float32[n,8,3,w]"}},
      {"SpaceToDepth", 13, {"float32[1,2,5,4]"}, {two}, {"fails: 5 of [1,2,5,4]"}},
  });
}

TEST(ArrangementTest, InsideAMatrixTheShapeStays) {
  CheckAll({
      {"ReverseSequence", 10, {"float32[4,n]", "int64[n]"}, {}, {"float32[4,n]"}},
      {"ReverseSequence", 10, {"float32[4]", "int64[4]"}, {}, {"fails: fewer than two axes"}},
      {"Trilu", 14, {"float32[b,4,n]", "int64[]"}, {}, {"float32[b,4,n]"}},
      {"Trilu", 14, {"float32[4]"}, {}, {"fails: fewer than two axes"}},
  });
}

}  // namespace arrangement_test
}  // namespace plimsoll::graph::operators
