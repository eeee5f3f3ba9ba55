#include <gtest/gtest.h>

#include "graph/operators/operator_case.h"

namespace plimsoll::graph::operators {
namespace logic_test {

TEST(LogicTest, ComparisonsAnswerInBool) {
  for (const std::string op : {"Equal", "Less", "Greater", "LessOrEqual", "GreaterOrEqual"}) {
    CheckAll({
        {op, 16, {"float32[2,1]", "float32[n]"}, {}, {"bool[2,n]"}},
        {op, 16, {"float32[2]", "int32[2]"}, {}, {"fails: they must have one type"}},
        {op, 16, {"float32[2]", "float32[3]"}, {}, {"fails: do not broadcast"}},
    });
  }
  for (const std::string op : {"And", "Or", "Xor"}) {
    Check({op, 7, {"bool[2,1]", "bool[n]"}, {}, {"bool[2,n]"}});
  }
  for (const std::string op : {"IsNaN", "IsInf"}) {
    Check({op, 10, {"float32[2,n]"}, {}, {"bool[2,n]"}});
  }
}

TEST(LogicTest, SizesCompareWhereTheSymbolsDoNotMatter) {
  CheckAll({
      {"Equal", 13, {"int64[2]{n,3}", "int64[1]{-1}"}, {}, {"bool[2]{0,0}"}},
      {"Equal", 13, {"int64[2]{n,3}", "int64[2]{n,3}"}, {}, {"bool[2]{1,1}"}},
      {"Equal", 13, {"int64[2]{n,3}", "int64[1]{4}"}, {}, {"bool[2]"}},
      {"Less", 13, {"int64[]{n}", "int64[]{n + 1}"}, {}, {"bool[]{1}"}},
      {"LessOrEqual", 12, {"int64[]{4}", "int64[]{4}"}, {}, {"bool[]{1}"}},
      {"GreaterOrEqual", 12, {"int64[]{n}", "int64[]{0}"}, {}, {"bool[]{1}"}},
      {"Greater", 9, {"float32[]{2}", "float32[]{1}"}, {}, {"bool[]{1}"}},
      {"Not", 1, {"bool[2]{1,0}"}, {}, {"bool[2]{0,1}"}},
      {"And", 7, {"bool[2]{1,0}", "bool[]{1}"}, {}, {"bool[2]{1,0}"}},
      {"Or", 7, {"bool[2]{1,0}", "bool[]{1}"}, {}, {"bool[2]{1,1}"}},
      {"Xor", 7, {"bool[2]{1,0}", "bool[]{1}"}, {}, {"bool[2]{0,1}"}},
  });
}

TEST(LogicTest, WhereNeedsToKnowOnlyTheSideItTakes) {
  CheckAll({
      {"Where", 9, {"bool[2]{0,1}", "int64[]{1}", "int64[2]{n,9}"}, {}, {"int64[2]{n,1}"}},
      {"Where", 9, {"bool[1]{1}", "int64[1]{5}", "int64[1]"}, {}, {"int64[1]{5}"}},
      {"Where", 9, {"bool[1]{0}", "int64[1]{5}", "int64[1]"}, {}, {"int64[1]"}},
      {"Where", 16, {"bool[2,1]", "float32[3]", "float32[]"}, {}, {"float32[2,3]"}},
      {"Where", 16, {"float32[1]", "float32[2]", "float32[2]"}, {}, {"fails: is not bool"}},
      {"Where", 16, {"bool[1]", "float32[2]", "int64[2]"}, {}, {"fails: must have one type"}},
  });
}

TEST(LogicTest, BitsBroadcast) {
  for (const std::string op : {"BitwiseAnd", "BitwiseOr", "BitwiseXor", "BitShift"}) {
    Check({op, 18, {"uint8[2,1]", "uint8[3]"}, {}, {"uint8[2,3]"}});
  }
  Check({"BitwiseNot", 18, {"int32[n]"}, {}, {"int32[n]"}});
}

}  // namespace logic_test
}  // namespace plimsoll::graph::operators
