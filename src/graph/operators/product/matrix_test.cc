#include <gtest/gtest.h>

#include "graph/operators/operator_case.h"

namespace plimsoll::graph::operators {
namespace matrix_test {

TEST(MatrixTest, MultipliesByNumpysRule) {
  CheckAll({
      {"MatMul", 1, {"float32[m,4]", "float32[4,n]"}, {}, {"float32[m,n]"}},
      {"MatMul", 13, {"int32[b,1,2,3]", "int32[5,3,4]"}, {}, {"int32[b,5,2,4]"}},
      {"MatMul", 13, {"float32[4]", "float32[b,4,n]"}, {}, {"float32[b,n]"}},
      {"MatMul", 13, {"float32[b,m,4]", "float32[4]"}, {}, {"float32[b,m]"}},
      {"MatMul", 13, {"float32[4]", "float32[4]"}, {}, {"float32[]"}},
      {"MatMul", 13, {"float32[...]", "float32[4]"}, {}, {"float32[...]"}},
      {"MatMulInteger", 10, {"uint8[2,3]", "int8[3,4]"}, {}, {"int32[2,4]"}},
      {"QLinearMatMul",
       21,
       {"uint8[2,3]", "float16[]", "uint8[]", "int8[3,4]", "float16[]", "int8[]", "float16[]",
        "uint8[]"},
       {},
       {"uint8[2,4]"}},
      {"MatMul", 13, {"float32[2,3]", "float32[4,5]"}, {}, {"fails: [2,3] and [4,5]"}},
      {"MatMul", 13, {"float32[2,2,3]", "float32[3,3,5]"}, {}, {"fails: do not broadcast"}},
      {"MatMul", 13, {"float32[]", "float32[3,5]"}, {}, {"fails: at least 1"}},
  });
}

TEST(MatrixTest, MultipliesAndAdds) {
  CheckAll({
      {"Gemm",
       7,
       {"float32[k,m]", "float32[n,k]", "float32[1]"},
       {{"transA", int64_t{1}}, {"transB", int64_t{1}}},
       {"float32[m,n]"}},
      {"Gemm", 13, {"float32[...]", "float32[4,n]"}, {}, {"float32[?,n]"}},
      {"Gemm", 7, {"float32[2,3]", "float32[3,4]"}, {}, {"fails: input count"}},
      {"Gemm", 13, {"float32[2,3]", "float32[3,4]", "float32[3]"}, {}, {"fails: the bias [3]"}},
      {"Gemm", 13, {"float32[2,3]", "float32[4,4]"}, {}, {"fails: inner dimensions"}},
  });
}

TEST(MatrixTest, SumsByLetters) {
  const auto einsum = [](const char* equation, std::vector<std::string> inputs,
                         std::string output) {
    Check({"Einsum", 12, std::move(inputs), {{"equation", equation}}, {std::move(output)}});
  };
  einsum("bij,bjk->bik", {"float32[b,2,n]", "float32[b,n,4]"}, "float32[b,2,4]");
  einsum("... i j -> ... j i", {"float32[a,b,3,4]"}, "float32[a,b,4,3]");
  einsum("ij,jk", {"float32[2,3]", "float32[3,4]"}, "float32[2,4]");
  einsum("ba", {"float32[2,3]"}, "float32[3,2]");
  einsum("ii", {"float32[3,3]"}, "float32[]");
  einsum("...ii->...i", {"float32[5,n,3]"}, "float32[5,3]");
  einsum("...a,...a->...", {"float32[2,1,3]", "float32[7,3]"}, "float32[2,7]");
  einsum("ij,jk->ik", {"float32[...]", "float32[3,4]"}, "float32[?,4]");
  einsum("...j->...", {"float32[...]"}, "float32[...]");
  einsum("ij->ij", {"float32[2,3]", "float32[3]"}, "fails: is for 1 operands");
  einsum("ij->ik", {"float32[2,3]"}, "fails: letter k");
  einsum("ij->i", {"float32[2]"}, "fails: its term has 2 letters");
  einsum("ij,j->i", {"float32[2,3]", "float32[4]"}, "fails: letter j");
  einsum("i;->i", {"float32[2]"}, "fails: cannot be read");
}

TEST(MatrixTest, TakesDeterminants) {
  CheckAll({
      {"Det", 11, {"float32[b,3,3]"}, {}, {"float32[b]"}},
      {"Det", 22, {"float32[3,4]"}, {}, {"fails: sides of [3,4]"}},
  });
}

}  // namespace matrix_test
}  // namespace plimsoll::graph::operators
