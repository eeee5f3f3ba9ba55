#include <gtest/gtest.h>

#include <memory>
#include <span>

#include "graph/operators/operator_case.h"

namespace plimsoll::graph::operators {
namespace generator_test {

// A one-element tensor as attribute `value`.
Attribute Fill(int64_t element) {
  const auto storage = std::make_shared<int64_t>(element);
  ConstantTensor tensor;
  tensor.type = DataType::kInt64;
  tensor.dims = {1};
  tensor.bytes = std::as_bytes(std::span(storage.get(), 1));
  tensor.storage = storage;
  return tensor;
}

TEST(GeneratorTest, AConstantCarriesItsValueInOneOfManyAttributes) {
  CheckAll({
      {"Constant", 9, {}, {{"value", Fill(7)}}, {"int64[1]{7}"}},
      {"Constant", 12, {}, {{"value_int", int64_t{5}}}, {"int64[]{5}"}},
      {"Constant", 12, {}, {{"value_ints", Ints{5, 6}}}, {"int64[2]{5,6}"}},
      {"Constant", 12, {}, {{"value_float", 0.5}}, {"float32[]{0.5}"}},
      {"Constant", 12, {}, {{"value_floats", Floats{0.5, 2}}}, {"float32[2]{0.5,2}"}},
      {"Constant", 12, {}, {{"value_string", std::string("a")}}, {"string[]"}},
      {"Constant", 12, {}, {{"value_strings", Strings{"a", "b"}}}, {"string[2]"}},
      {"Constant", 13, {}, {}, {"fails: carries no value"}},
  });
}

TEST(GeneratorTest, AConstantShapeIsFilled) {
  CheckAll({
      {"ConstantOfShape", 9, {"int64[2]{2,n}"}, {}, {"float32[2,n]"}},
      {"ConstantOfShape", 9, {"int64[1]{2}"}, {}, {"float32[2]{0,0}"}},
      {"ConstantOfShape", 9, {"int64[1]{2}"}, {{"value", Fill(7)}}, {"int64[2]{7,7}"}},
      {"ConstantOfShape", 9, {"int64[0]{}"}, {{"value", Fill(7)}}, {"int64[]{7}"}},
      {"ConstantOfShape", 9, {"int64[1]{9000000000}"}, {}, {"float32[9000000000]"}},
      {"ConstantOfShape", 9, {"int64[3]"}, {}, {"float32[?,?,?]"}},
      {"ConstantOfShape", 9, {"int64[n]"}, {}, {"float32[...]"}},
      {"ConstantOfShape", 9, {"int64[1]{-2}"}, {}, {"fails: negative dimension"}},
  });
}

TEST(GeneratorTest, RangesCountTheirElements) {
  CheckAll({
      {"Range", 11, {"int64[]{0}", "int64[]{n}", "int64[]{1}"}, {}, {"int64[n]"}},
      {"Range",
       11,
       {"int64[]{p}", "int64[]{p + 3}", "int64[]{1}"},
       {},
       {"int64[3]{p,p + 1,p + 2}"}},
      {"Range", 11, {"int64[]{10}", "int64[]{4}", "int64[]{-2}"}, {}, {"int64[3]{10,8,6}"}},
      {"Range", 11, {"int64[]{4}", "int64[]{1}", "int64[]{1}"}, {}, {"int64[0]{}"}},
      {"Range", 11, {"float32[]{0}", "float32[]{1}", "float32[]{0.3}"}, {}, {"float32[4]"}},
      {"Range", 11, {"int64[]", "int64[]{1}", "int64[]{1}"}, {}, {"int64[?]"}},
      {"Range", 11, {"int64[]{0}", "int64[]{9}", "int64[]{0}"}, {}, {"fails: its delta is 0"}},
      {"Range",
       27,
       {"float32[]{0}", "float32[]{9}", "float32[]{0}"},
       {},
       {"fails: no finite range"}},
      {"Range", 11, {"int64[]{0}", "int32[]{9}", "int64[]{1}"}, {}, {"fails: must have one type"}},
  });
}

TEST(GeneratorTest, EyeLikeAndOneHot) {
  CheckAll({
      {"EyeLike", 9, {"int32[2,n]"}, {}, {"int32[2,n]"}},
      {"EyeLike", 9, {"int32[2,n]"}, {{"dtype", int64_t{11}}}, {"float64[2,n]"}},
      {"EyeLike", 9, {"int32[2]"}, {}, {"fails: [2] is no matrix"}},
      {"OneHot", 9, {"int64[2,n]", "int64[]{5}", "float32[2]"}, {}, {"float32[2,n,5]"}},
      {"OneHot",
       11,
       {"int64[n]", "float32[1]{5}", "int8[2]"},
       {{"axis", int64_t{0}}},
       {"int8[5,n]"}},
      {"OneHot", 11, {"int64[n]", "int64[]", "int8[2]"}, {{"axis", int64_t{-2}}}, {"int8[?,n]"}},
      {"OneHot",
       11,
       {"int64[n]", "int64[]{5}", "int8[2]"},
       {{"axis", int64_t{2}}},
       {"fails: axis 2"}},
      {"OneHot", 11, {"int64[n]", "int64[]{-5}", "int8[2]"}, {}, {"fails: the depth is -5"}},
  });
}

TEST(GeneratorTest, ShapesBecomeElements) {
  CheckAll({
      {"Shape", 1, {"float32[2,n,4]"}, {}, {"int64[3]{2,n,4}"}},
      {"Shape", 15, {"float32[2,n,4]"}, {{"start", int64_t{-2}}}, {"int64[2]{n,4}"}},
      {"Shape",
       15,
       {"float32[2,n,4]"},
       {{"start", int64_t{1}}, {"end", int64_t{-9}}},
       {"int64[0]{}"}},
      {"Shape", 15, {"float32[2,n,4]"}, {{"end", int64_t{99}}}, {"int64[3]{2,n,4}"}},
      {"Shape", 15, {"float32[...]"}, {}, {"int64[?]"}},
      {"Size", 1, {"float32[2,n,4]"}, {}, {"int64[]{8*n}"}},
      {"Size", 13, {"float32[...]"}, {}, {"int64[]"}},
  });
}

}  // namespace generator_test
}  // namespace plimsoll::graph::operators
