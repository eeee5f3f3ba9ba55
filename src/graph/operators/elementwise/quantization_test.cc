#include <gtest/gtest.h>

#include "graph/operators/operator_case.h"

namespace plimsoll::graph::operators {
namespace quantization_test {

TEST(QuantizationTest, ZeroPointAttributeOrDefaultTellsTheType) {
  CheckAll({
      {"QuantizeLinear", 10, {"float32[n,3]", "float32[]"}, {}, {"uint8[n,3]"}},
      {"QuantizeLinear", 13, {"float32[n,3]", "float32[3]", "int8[3]"}, {}, {"int8[n,3]"}},
      {"QuantizeLinear",
       21,
       {"float32[n,3]", "float32[]"},
       {{"output_dtype", int64_t{22}}},
       {"int4[n,3]"}},
      {"QuantizeLinear",
       21,
       {"float32[n,3]", "float32[]", "uint8[]"},
       {{"output_dtype", int64_t{22}}},
       {"fails: output_dtype is int4"}},
      {"QuantizeLinear",
       21,
       {"float32[n,3]", "float32[]"},
       {{"output_dtype", int64_t{99}}},
       {"fails: no element type"}},
      {"QuantizeLinear", 13, {"float32[n,3]", "float32[4]"}, {}, {"fails: 4 and 3"}},
  });
}

TEST(QuantizationTest, ScaleTellsTheTypeOfWhatIsRestored) {
  CheckAll({
      {"DequantizeLinear", 10, {"int32[n]", "float32[]"}, {}, {"float32[n]"}},
      {"DequantizeLinear", 19, {"int8[n]", "float16[]"}, {}, {"float16[n]"}},
      {"DequantizeLinear",
       23,
       {"int8[n]", "float16[]"},
       {{"output_dtype", int64_t{1}}},
       {"float32[n]"}},
      {"DequantizeLinear", 21, {"int4[n]", "float16[]", "uint4[1]"}, {}, {"fails: same type"}},
      {"DynamicQuantizeLinear", 11, {"float32[n,3]"}, {}, {"uint8[n,3]", "float32[]", "uint8[]"}},
  });
}

}  // namespace quantization_test
}  // namespace plimsoll::graph::operators
