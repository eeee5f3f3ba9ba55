#include <gtest/gtest.h>

#include "graph/operators/operator_case.h"

namespace plimsoll::graph::operators {
namespace cast_test {

Attribute To(DataType type) { return static_cast<int64_t>(type); }

TEST(CastTest, ChangesTheTypeAndKeepsTheShape) {
  CheckAll({
      {"Cast", 13, {"float32[2,n]"}, {{"to", To(DataType::kFloat16)}}, {"float16[2,n]"}},
      {"Cast", 6, {"float32[...]"}, {{"to", To(DataType::kInt64)}}, {"int64[...]"}},
      {"CastLike", 15, {"float32[2,n]", "int4[7]"}, {}, {"int4[2,n]"}},
      {"Cast", 13, {"float32[2]"}, {{"to", int64_t{99}}}, {"fails: 99, which is no element type"}},
      {"Cast", 13, {"float32[2]"}, {}, {"fails: the new element type, is missing"}},
      {"Cast", 13, {"seq(float32[2])"}, {{"to", To(DataType::kInt64)}}, {"fails: no tensor"}},
  });
}

TEST(CastTest, KnownElementsAreConvertedWhereTheResultIsCertain) {
  CheckAll({
      {"Cast", 13, {"int64[2]{3,n}"}, {{"to", To(DataType::kInt32)}}, {"int32[2]{3,n}"}},
      {"Cast", 13, {"int64[1]{300}"}, {{"to", To(DataType::kUint8)}}, {"uint8[1]"}},
      {"Cast", 13, {"int64[1]{3}"}, {{"to", To(DataType::kFloat32)}}, {"float32[1]{3}"}},
      {"Cast", 13, {"int64[1]{n}"}, {{"to", To(DataType::kFloat32)}}, {"float32[1]"}},
      {"Cast", 13, {"float32[2]{2.7,-2.7}"}, {{"to", To(DataType::kInt64)}}, {"int64[2]{2,-2}"}},
      {"Cast", 13, {"float32[1]{1e30}"}, {{"to", To(DataType::kInt64)}}, {"int64[1]"}},
      {"Cast", 13, {"float32[2]{0.5,0}"}, {{"to", To(DataType::kBool)}}, {"bool[2]{1,0}"}},
      {"Cast", 13, {"int64[1]{n}"}, {{"to", To(DataType::kBool)}}, {"bool[1]"}},
      {"Cast", 13, {"int64[1]{3}"}, {{"to", To(DataType::kString)}}, {"string[1]"}},
      {"CastLike", 15, {"int64[1]{3}", "float32[...]"}, {}, {"float32[1]{3}"}},
  });
}

TEST(CastTest, BitsKeepTheirWidth) {
  CheckAll({
      {"BitCast", 26, {"float32[n]"}, {{"to", To(DataType::kUint32)}}, {"uint32[n]"}},
      {"BitCast",
       26,
       {"float32[n]"},
       {{"to", To(DataType::kInt64)}},
       {"fails: the bits of float32"}},
      {"BitCast", 26, {"float32[n]"}, {{"to", To(DataType::kString)}}, {"fails: as string"}},
  });
}

}  // namespace cast_test
}  // namespace plimsoll::graph::operators
