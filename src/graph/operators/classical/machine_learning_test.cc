#include <gtest/gtest.h>

#include "graph/operators/operator_case.h"

namespace plimsoll::graph::operators {
namespace machine_learning_test {

TEST(MachineLearningTest, EncodesFeatures) {
  CheckAll({
      {"ai.onnx.ml:ArrayFeatureExtractor", 1, {"float32[n,4]", "int64[1,2]"}, {}, {"float32[n,2]"}},
      {"ai.onnx.ml:Binarizer", 1, {"float64[n]"}, {}, {"float64[n]"}},
      {"ai.onnx.ml:Imputer", 1, {"float32[n,4]"}, {}, {"float32[n,4]"}},
      {"ai.onnx.ml:Scaler", 1, {"int64[n,4]"}, {}, {"float32[n,4]"}},
      {"ai.onnx.ml:Normalizer", 1, {"int32[n,4]"}, {}, {"float32[n,4]"}},
      {"ai.onnx.ml:CategoryMapper", 1, {"string[n]"}, {}, {"int64[n]"}},
      {"ai.onnx.ml:LabelEncoder", 1, {"int64[n]"}, {}, {"string[n]"}},
      {"ai.onnx.ml:LabelEncoder", 2, {"string[n]"}, {{"values_floats", Floats{1}}}, {"float32[n]"}},
      {"ai.onnx.ml:LabelEncoder", 4, {"string[n]"}, {}, {"fails: no values"}},
      {"ai.onnx.ml:OneHotEncoder",
       1,
       {"int64[n]"},
       {{"cats_int64s", Ints{1, 2, 3}}},
       {"float32[n,3]"}},
      {"ai.onnx.ml:FeatureVectorizer",
       1,
       {"float32[n,2]", "float32[5,1]"},
       {{"inputdimensions", Ints{2, 1}}},
       {"float32[5,3]"}},
      {"ai.onnx.ml:DictVectorizer",
       1,
       {"map(string,float32[])"},
       {{"string_vocabulary", Strings{"a", "b"}}},
       {"float32[1,2]"}},
      {"ai.onnx.ml:CastMap", 1, {"map(int64,string[])"}, {{"cast_to", "TO_INT64"}}, {"int64[1,?]"}},
      {"ai.onnx.ml:CastMap", 1, {"float32[2]"}, {}, {"fails: must be a map"}},
      {"ai.onnx.ml:ZipMap",
       1,
       {"float32[n,2]"},
       {{"classlabels_strings", Strings{"a", "b"}}},
       {"seq(map(string,float32[]))"}},
  });
}

TEST(MachineLearningTest, ScoresRows) {
  const Strings labels{"a", "b", "c"};
  CheckAll({
      {"ai.onnx.ml:LinearClassifier",
       1,
       {"float32[n,4]"},
       {{"classlabels_strings", labels}},
       {"string[n]", "float32[n,3]"}},
      {"ai.onnx.ml:LinearRegressor",
       1,
       {"float32[4]"},
       {{"targets", int64_t{2}}},
       {"float32[1,2]"}},
      {"ai.onnx.ml:SVMClassifier",
       1,
       {"float32[n,4]"},
       {{"classlabels_ints", Ints{0, 1}}},
       {"int64[n]", "float32[n,2]"}},
      {"ai.onnx.ml:SVMClassifier",
       1,
       {"float32[n,4]"},
       {{"classlabels_strings", labels}},
       {"string[n]", "float32[n,3]"}},
      {"ai.onnx.ml:SVMClassifier",
       1,
       {"float32[n,4]"},
       {{"classlabels_ints", Ints{0, 1, 2, 3}}, {"vectors_per_class", Ints{2, 5, 1, 1}}},
       {"int64[n]", "float32[n,6]"}},
      {"ai.onnx.ml:SVMClassifier",
       1,
       {"float32[n,4]"},
       {{"classlabels_ints", Ints{0, 1}}, {"vectors_per_class", Ints{2, 5}}},
       {"int64[n]", "float32[n,2]"}},
      {"ai.onnx.ml:SVMRegressor", 1, {"float32[n,4]"}, {}, {"float32[n,1]"}},
      {"ai.onnx.ml:TreeEnsembleClassifier",
       3,
       {"float32[n,4]"},
       {{"classlabels_int64s", Ints{0, 1, 2}}},
       {"int64[n]", "float32[n,3]"}},
      {"ai.onnx.ml:TreeEnsembleRegressor", 1, {"float64[n,4]"}, {}, {"float32[n,1]"}},
      {"ai.onnx.ml:TreeEnsemble",
       5,
       {"float64[n,4]"},
       {{"n_targets", int64_t{2}}},
       {"float64[n,2]"}},
      {"ai.onnx.ml:TreeEnsemble",
       5,
       {"float64[n,4]"},
       {{"n_targets", int64_t{-1}}},
       {"fails: -1 targets"}},
  });
}

}  // namespace machine_learning_test
}  // namespace plimsoll::graph::operators
