#include <gtest/gtest.h>

#include "graph/operators/operator_case.h"

namespace plimsoll::graph::operators {
namespace elementwise_test {

TEST(ElementwiseTest, PairsBroadcastAndKeepTheirType) {
  for (const std::string op :
       {"Add", "Sub", "Mul", "Div", "Mod", "Pow", "Max", "Min", "Sum", "Mean"}) {
    CheckAll({
        {op, 20, {"float32[2,1,n]", "float32[3,1]"}, {}, {"float32[2,3,n]"}},
        {op, 20, {"float32[2]", "float32[...]"}, {}, {"float32[...]"}},
        {op, 20, {"float32[2]", "float32[3]"}, {}, {"fails: [2] and [3] do not broadcast"}},
    });
  }
}

TEST(ElementwiseTest, ManyInputsFold) {
  CheckAll({
      {"Max", 13, {"int64[1]{3}", "int64[1]{9}", "int64[1]{5}"}, {}, {"int64[1]{9}"}},
      {"Min", 8, {"int64[1]{3}", "int64[1]{9}", "int64[1]{5}"}, {}, {"int64[1]{3}"}},
      {"Sum", 8, {"float32[1]", "float32[2]", "float32[3,1]"}, {}, {"float32[3,2]"}},
      {"Mean", 6, {"float32[2,n]"}, {}, {"float32[2,n]"}},
  });
}

TEST(ElementwiseTest, InputsOfTwoTypesAreRefusedExceptForAnExponent) {
  CheckAll({
      {"Add",
       14,
       {"float32[2]", "int64[2]"},
       {},
       {"fails: input 0 is float32 and input 1 is int64"}},
      {"Add", 14, {"seq(float32[2])", "float32[2]"}, {}, {"fails: input 0 is no tensor"}},
      {"Pow", 12, {"float32[2]", "int64[2]"}, {}, {"float32[2]"}},
      {"Pow", 7, {"float32[2]", "int64[2]"}, {}, {"fails: they must have one type"}},
      {"Add", 6, {"float32[2]", "float32[2]"}, {}, {"fails: no row"}},
  });
}

TEST(ElementwiseTest, OneInputKeepsItsShape) {
  for (const std::string op :
       {"Abs",  "Acos", "Acosh", "Asin", "Asinh", "Atan", "Atanh", "Ceil",
        "Cos",  "Cosh", "Erf",   "Exp",  "Floor", "Log",  "Neg",   "Reciprocal",
        "Sign", "Sin",  "Sinh",  "Sqrt", "Tan",   "Tanh", "Round"}) {
    CheckAll({
        {op, 22, {"float32[2,n]"}, {}, {"float32[2,n]"}},
        {op, 22, {"float32[...]"}, {}, {"float32[...]"}},
        {op, 22, {"seq(float32[2])"}, {}, {"fails: input 0 is no tensor"}},
    });
  }
}

TEST(ElementwiseTest, SizesFlowThroughArithmetic) {
  CheckAll({
      {"Add", 13, {"int64[2]{2,n}", "int64[1]{3}"}, {}, {"int64[2]{5,n + 3}"}},
      {"Sub", 13, {"int64[2]{n,7}", "int64[]{n}"}, {}, {"int64[2]{0,-n + 7}"}},
      {"Mul", 13, {"int64[1]{n}", "int64[2]{2,m}"}, {}, {"int64[2]{2*n,m*n}"}},
      {"Div", 13, {"int64[2]{12,4*n}", "int64[]{4}"}, {}, {"int64[2]{3,n}"}},
      {"Div", 13, {"int64[2]{-7,7}", "int64[2]{2,-2}"}, {}, {"int64[2]{-3,-3}"}},
      {"Div", 13, {"int64[]{n}", "int64[]{2}"}, {}, {"int64[]{n//2}"}},
      {"Mod", 13, {"int64[2]{-7,n}", "int64[]{3}"}, {}, {"int64[2]{2,n%3}"}},
      {"Mod", 13, {"int64[]{-7}", "int64[]{3}"}, {{"fmod", int64_t{1}}}, {"int64[]{-1}"}},
      {"Max", 13, {"int64[2]{n + 1,3}", "int64[2]{1,9}"}, {}, {"int64[2]{n + 1,9}"}},
      {"Min", 13, {"int64[2]{n + 1,3}", "int64[2]{1,9}"}, {}, {"int64[2]{1,3}"}},
      {"Pow", 13, {"int64[2]{2,n}", "int64[2]{3,2}"}, {}, {"int64[2]{8,n*n}"}},
      {"Neg", 13, {"int64[2]{3,n}"}, {}, {"int64[2]{-3,-n}"}},
      {"Abs", 13, {"int64[2]{-3,n}"}, {}, {"int64[2]{3,n}"}},
      {"Sign", 13, {"int64[3]{-3,0,8}"}, {}, {"int64[3]{-1,0,1}"}},
  });
}

TEST(ElementwiseTest, WhatIsNotCertainIsNotKnown) {
  const std::string most = "int64[]{9223372036854775807}";
  CheckAll({
      {"Add", 13, {most, "int64[]{1}"}, {}, {"int64[]"}},
      {"Sub", 13, {"int64[]{-2}", most}, {}, {"int64[]"}},
      {"Mul", 13, {most, "int64[]{2}"}, {}, {"int64[]"}},
      {"Div", 13, {"int64[]{3}", "int64[]{0}"}, {}, {"int64[]"}},
      {"Mod", 13, {"int64[]{3}", "int64[]{0}"}, {}, {"int64[]"}},
      {"Mod", 13, {"int64[]{3}", "int64[]{0}"}, {{"fmod", int64_t{1}}}, {"int64[]"}},
      {"Pow", 13, {"int64[]{10}", most}, {}, {"int64[]"}},
      {"Pow", 13, {"int64[]{10}", "int64[]{-1}"}, {}, {"int64[]"}},
      {"Abs", 13, {"int64[]{n - 4}"}, {}, {"int64[]"}},
      {"Add", 13, {"int8[]{100}", "int8[]{100}"}, {}, {"int8[]"}},
      {"Sub", 13, {"uint8[]{1}", "uint8[]{2}"}, {}, {"uint8[]"}},
      {"Add", 13, {"int64[2]{1,2}", "int64[2]"}, {}, {"int64[2]"}},
  });
}

TEST(ElementwiseTest, FloatsAreComputedInTheirOwnPrecision) {
  CheckAll({
      {"Div", 13, {"float32[1]{1}", "float32[]{4}"}, {}, {"float32[1]{0.25}"}},
      {"Add", 13, {"float32[]{16777216}", "float32[]{1}"}, {}, {"float32[]{16777216}"}},
      {"Mul", 13, {"float64[]{3}", "float64[]{0.5}"}, {}, {"float64[]{1.5}"}},
      {"Mul", 13, {"float16[]{3}", "float16[]{0.5}"}, {}, {"float16[]"}},
      {"Mul", 13, {"float32[]{3e38}", "float32[]{10}"}, {}, {"float32[]{inf}"}},
      {"Floor", 13, {"float32[2]{1.5,-1.5}"}, {}, {"float32[2]{1,-2}"}},
      {"Ceil", 13, {"float32[2]{1.5,2}"}, {}, {"float32[2]{2,2}"}},
      {"Round", 11, {"float32[2]{2.5,3.5}"}, {}, {"float32[2]{2,4}"}},
      {"Sqrt", 13, {"float32[]{9}"}, {}, {"float32[]{3}"}},
      {"Reciprocal", 13, {"float32[]{4}"}, {}, {"float32[]{0.25}"}},
  });
}

}  // namespace elementwise_test
}  // namespace plimsoll::graph::operators
