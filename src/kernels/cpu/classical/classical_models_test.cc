#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "kernels/cpu/one_node.h"

namespace plimsoll::kernels::cpu {
namespace classical_models_test {

using testing::ElementsAre;
using testing::FloatNear;
using testing::HasSubstr;
using Ints = std::vector<int64_t>;
using Floats = std::vector<double>;
using Words = std::vector<std::string>;

const std::string kDomain = "ai.onnx.ml";

// One tree: feature 0 at most 2 goes to leaf 1, else to leaf 2.
OneNode Stump(std::vector<std::pair<std::string, graph::Attribute>> changed) {
  OneNode node{"TreeEnsembleClassifier",
               {{"nodes_treeids", Ints{0, 0, 0}},
                {"nodes_nodeids", Ints{0, 1, 2}},
                {"nodes_featureids", Ints{0, 0, 0}},
                {"nodes_modes", Words{"BRANCH_LEQ", "LEAF", "LEAF"}},
                {"nodes_values", Floats{2, 0, 0}},
                {"nodes_truenodeids", Ints{1, 0, 0}},
                {"nodes_falsenodeids", Ints{2, 0, 0}},
                {"class_treeids", Ints{0, 0}},
                {"class_nodeids", Ints{1, 2}},
                {"class_ids", Ints{0, 1}},
                {"class_weights", Floats{0.25, 0.75}},
                {"classlabels_strings", Words{"low", "high"}}},
               2,
               kDomain,
               3};
  for (auto& change : changed) {
    for (auto& attribute : node.attributes) {
      if (attribute.first == change.first) attribute.second = change.second;
    }
  }
  return node;
}

const HostTensor kTwoRows = Numbers<float>({2, 1}, {1, 3});

TEST(TreeEnsembleTest, ALeafVotesForItsClass) {
  const auto made = Stump({}).Run({kTwoRows});
  ASSERT_TRUE(made.ok()) << made.error().Text();
  EXPECT_THAT(ElementsOf<std::string>((*made)[0]), ElementsAre("low", "high"));
  EXPECT_THAT(ElementsOf<float>((*made)[1]), ElementsAre(.25f, 0, 0, .75f));
}

TEST(TreeEnsembleTest, VotesForOneOfTwoClassesAreTheSecondsScore) {
  const auto positive = Stump({{"class_ids", Ints{0, 0}}}).Run({kTwoRows});
  EXPECT_THAT(ElementsOf<std::string>((*positive)[0]), ElementsAre("low", "high"));
  EXPECT_THAT(ElementsOf<float>((*positive)[1]), ElementsAre(.75f, .25f, .25f, .75f));
  const auto signed_votes =
      Stump({{"class_ids", Ints{0, 0}}, {"class_weights", Floats{-1, 0.25}}}).Run({kTwoRows});
  EXPECT_THAT(ElementsOf<std::string>((*signed_votes)[0]), ElementsAre("low", "high"));
  EXPECT_THAT(ElementsOf<float>((*signed_votes)[1]), ElementsAre(1, -1, -.25f, .25f));
}

TEST(TreeEnsembleTest, HostileTreesAreRefused) {
  using Change = std::pair<std::string, graph::Attribute>;
  struct Case {
    Change change;
    const char* why;
  };
  for (const Case& refused : {
           Case{{"nodes_truenodeids", Ints{0, 0, 0}}, "comes back to a node"},
           Case{{"nodes_truenodeids", Ints{9, 0, 0}}, "a child that is not there"},
           Case{{"nodes_truenodeids", Ints{1, 0}}, "different lengths"},
           Case{{"nodes_featureids", Ints{1, 0, 0}}, "reads feature 1 of 1"},
           Case{{"nodes_featureids", Ints{-1, 0, 0}}, "reads feature -1 of 1"},
           Case{{"nodes_nodeids", Ints{0, 1, 1}}, "two nodes 1"},
           Case{{"nodes_modes", Words{"BRANCH_MAYBE", "LEAF", "LEAF"}}, "BRANCH_MAYBE"},
           Case{{"class_ids", Ints{0, 2}}, "votes for target 2 of 2"},
           Case{{"class_nodeids", Ints{0, 2}}, "is no leaf"},
       }) {
    const auto made = Stump({refused.change}).Run({kTwoRows});
    ASSERT_FALSE(made.ok()) << refused.why;
    EXPECT_THAT(made.error().Text(), HasSubstr(refused.why));
  }
}

graph::ConstantTensor Constant(const HostTensor& tensor) { return ToConstant(tensor); }

OneNode FlatTree(const Ints& true_nodes, const Ints& true_leaves, const Ints& roots) {
  return {"TreeEnsemble",
          {{"nodes_featureids", Ints{0, 0}},
           {"nodes_modes", Constant(Numbers<uint8_t>({2}, {0, 0}))},
           {"nodes_splits", Constant(Numbers<float>({2}, {1, 2}))},
           {"nodes_truenodeids", true_nodes},
           {"nodes_trueleafs", true_leaves},
           {"nodes_falsenodeids", Ints{0, 1}},
           {"nodes_falseleafs", Ints{1, 1}},
           {"leaf_targetids", Ints{0, 0}},
           {"leaf_weights", Constant(Numbers<float>({2}, {10, 20}))},
           {"tree_roots", roots},
           {"n_targets", int64_t{1}}},
          1,
          kDomain,
          5};
}

constexpr int64_t kLength = 9;  // higher than trees that are walked without a look

// Chains of nodes that look at feature 0: a row leaves chain c at node n where its value is at most
// n + c / 10, and that leaf votes n; one chain compares otherwise. 11 trees, so that walks are cut.
OneNode Chains(const std::string& mode, const std::string& odd_mode, bool nan_is_true) {
  constexpr int64_t kTrees = 11;
  Ints trees, ids, true_ids, false_ids, missing, vote_trees, vote_ids, vote_targets;
  Floats values, weights;
  Words modes;
  for (int64_t tree = 0; tree < kTrees; ++tree) {
    for (int64_t id = 0; id <= 2 * kLength; ++id) {
      const bool is_leaf = id % 2 == 1 || id == 2 * kLength;
      trees.push_back(tree);
      ids.push_back(id);
      modes.push_back(is_leaf ? "LEAF" : tree == 3 ? odd_mode : mode);
      values.push_back(static_cast<double>(id / 2) + static_cast<double>(tree) / 10);
      true_ids.push_back(is_leaf ? 0 : id + 1);
      false_ids.push_back(is_leaf ? 0 : id + 2);
      missing.push_back(nan_is_true && id == 4 ? 1 : 0);
      if (!is_leaf) continue;
      vote_trees.push_back(tree);
      vote_ids.push_back(id);
      vote_targets.push_back(0);
      weights.push_back(static_cast<double>(id));
    }
  }
  return {"TreeEnsembleRegressor",
          {{"nodes_treeids", trees},
           {"nodes_nodeids", ids},
           {"nodes_featureids", Ints(trees.size(), 0)},
           {"nodes_modes", modes},
           {"nodes_values", values},
           {"nodes_truenodeids", true_ids},
           {"nodes_falsenodeids", false_ids},
           {"nodes_missing_value_tracks_true", missing},
           {"target_treeids", vote_trees},
           {"target_nodeids", vote_ids},
           {"target_ids", vote_targets},
           {"target_weights", weights}},
          1,
          kDomain,
          3};
}

struct Question {
  std::string mode;
  bool (*holds)(double value, double split);
};

const Question kQuestions[] = {
    {"BRANCH_LT", [](double value, double split) { return value < split; }},
    {"BRANCH_LEQ", [](double value, double split) { return value <= split; }},
    {"BRANCH_GT", [](double value, double split) { return value > split; }},
    {"BRANCH_GTE", [](double value, double split) { return value >= split; }},
    {"BRANCH_EQ", [](double value, double split) { return value == split; }},
    {"BRANCH_NEQ", [](double value, double split) { return value != split; }},
};

// What one row of Chains adds up to.
float ChainSum(double value, const Question& question, const Question& odd, bool nan_is_true) {
  double sum = 0;
  for (int tree = 0; tree < 11; ++tree) {
    int id = 0;
    for (; id < 2 * kLength; id += 2) {
      const double split = id / 2 + tree / 10.0;
      const bool goes = (tree == 3 ? odd : question).holds(value, split);
      if (goes || (nan_is_true && id == 4 && std::isnan(value))) break;
    }
    sum += id < 2 * kLength ? id + 1 : id;
  }
  return static_cast<float>(sum);
}

// Rows go through trees in groups, of which the last is not whole; alone a row goes through several
// trees at once. Values lie on splits, and between them.
TEST(TreeEnsembleTest, EachRowComesToItsLeavesWhateverIsBesideIt) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  std::vector<float> values;
  for (int i = 0; i < 45; ++i) values.push_back(static_cast<float>(i % 21) * 0.5f - 0.5f);
  values[3] = -0.0F;
  values[5] = kInfinity;
  values[6] = -kInfinity;
  for (const bool has_nan : {false, true}) {
    if (has_nan) values[7] = values[44] = std::nanf("");
    for (const Question& question : kQuestions) {
      for (const Question& odd : kQuestions) {
        const OneNode node = Chains(question.mode, odd.mode, has_nan);
        for (const size_t rows : {1, 3, 4, 16, 45}) {
          const std::vector<float> some(values.end() - static_cast<int64_t>(rows), values.end());
          const auto made = node.Run({Numbers<float>({static_cast<int64_t>(rows), 1}, some)});
          ASSERT_TRUE(made.ok()) << made.error().Text();
          const std::vector<float> sums = ElementsOf<float>((*made)[0]);
          for (size_t row = 0; row < rows; ++row) {
            EXPECT_EQ(sums[row], ChainSum(some[row], question, odd, has_nan))
                << rows << " rows, value " << some[row] << ", " << question.mode << ", "
                << odd.mode;
          }
        }
      }
    }
  }
}

TEST(TreeEnsembleTest, FlatTreesThatTurnInACircleAreRefused) {
  const HostTensor row = Numbers<float>({1, 1}, {-1});
  EXPECT_TRUE(FlatTree({1, 0}, {0, 1}, {0}).Run({row}).ok());
  EXPECT_THAT(FlatTree({1, 0}, {0, 0}, {0}).Run({row}).error().Text(), HasSubstr("comes back"));
  EXPECT_THAT(FlatTree({0, 0}, {0, 1}, {0}).Run({row}).error().Text(), HasSubstr("comes back"));
  EXPECT_FALSE(FlatTree({7, 0}, {0, 1}, {0}).Run({row}).ok());
  EXPECT_FALSE(FlatTree({1, 0}, {0, 7}, {-1}).Run({row}).ok());
}

TEST(LinearModelTest, OneLineSeparatesTwoClasses) {
  const OneNode line{"LinearClassifier",
                     {{"coefficients", Floats{1, 2}},
                      {"intercepts", Floats{-1}},
                      {"classlabels_ints", Ints{3, 7}},
                      {"post_transform", std::string("LOGISTIC")}},
                     2,
                     kDomain,
                     1};
  const auto made = line.Run({Numbers<int32_t>({2, 2}, {1, 1, -1, 0})});
  ASSERT_TRUE(made.ok()) << made.error().Text();
  EXPECT_THAT(ElementsOf<int64_t>((*made)[0]), ElementsAre(7, 3));
  const auto near = [](double value) { return FloatNear(static_cast<float>(value), 1e-6f); };
  EXPECT_THAT(ElementsOf<float>((*made)[1]),
              ElementsAre(near(1 / (1 + std::exp(2))), near(1 / (1 + std::exp(-2))),
                          near(1 / (1 + std::exp(-2))), near(1 / (1 + std::exp(2)))));
  EXPECT_FALSE(line.Run({Numbers<float>({1, 3}, {1, 2, 3})}).ok());
}

TEST(SupportVectorTest, RegressionWeighsWhatIsAlike) {
  const OneNode machine{"SVMRegressor",
                        {{"coefficients", Floats{2, -1}},
                         {"support_vectors", Floats{0, 0, 1, 0}},
                         {"n_supports", int64_t{2}},
                         {"rho", Floats{0.5}},
                         {"kernel_type", std::string("RBF")},
                         {"kernel_params", Floats{1, 0, 0}}},
                        1,
                        kDomain,
                        1};
  const auto made = machine.Run({Numbers<float>({1, 2}, {0, 0})});
  ASSERT_TRUE(made.ok()) << made.error().Text();
  EXPECT_NEAR(ElementsOf<float>((*made)[0]).at(0), 2 - std::exp(-1) + 0.5, 1e-6);
  EXPECT_FALSE(machine.Run({Numbers<float>({1, 3}, {0, 0, 0})}).ok());
}

// 11 vectors of 3 features, which are no whole panels, rows that are no whole block, and degrees
// with and without a power by multiplication.
TEST(SupportVectorTest, LikenessIsThatOfEachVector) {
  constexpr size_t kVectors = 11;
  constexpr size_t kFeatures = 3;
  Floats vectors, weights;
  for (size_t i = 0; i < kVectors * kFeatures; ++i) {
    vectors.push_back(0.25 * static_cast<double>(i % 7) - 0.5);
  }
  for (size_t i = 0; i < kVectors; ++i) weights.push_back(0.5 + static_cast<double>(i));
  constexpr size_t kRows = 27;
  std::vector<float> rows;
  for (size_t i = 0; i < kRows * kFeatures; ++i) {
    rows.push_back(0.5f * static_cast<float>(i % 5) - 1.25f);
  }
  for (const std::string kind : {"LINEAR", "POLY", "RBF", "SIGMOID"}) {
    for (const double degree : {0.0, 1.0, 3.0, 6.0, 2.5}) {
      const OneNode node{"SVMRegressor",
                         {{"kernel_type", kind},
                          {"kernel_params", Floats{0.125, 4, degree}},
                          {"n_supports", int64_t{kVectors}},
                          {"support_vectors", vectors},
                          {"coefficients", weights},
                          {"rho", Floats{0.5}}},
                         1,
                         kDomain,
                         1};
      std::vector<float> expected;
      for (size_t first = 0; first < rows.size(); first += kFeatures) {
        double sum = 0.5;
        for (size_t i = 0; i < kVectors; ++i) {
          double dot = 0;
          double apart = 0;
          for (size_t j = 0; j < kFeatures; ++j) {
            dot += rows[first + j] * vectors[i * kFeatures + j];
            apart += std::pow(rows[first + j] - vectors[i * kFeatures + j], 2);
          }
          sum += weights[i] * (kind == "LINEAR" ? dot
                               : kind == "POLY" ? std::pow(0.125 * dot + 4, degree)
                               : kind == "RBF"  ? std::exp(-0.125 * apart)
                                                : std::tanh(0.125 * dot + 4));
        }
        expected.push_back(static_cast<float>(sum));
      }
      const auto made = node.Run({Numbers<float>({kRows, kFeatures}, rows)});
      ASSERT_TRUE(made.ok()) << made.error().Text();
      EXPECT_THAT(ElementsOf<float>((*made)[0]),
                  testing::Pointwise(FloatNear(1e-5f * std::abs(expected[0]) + 1e-5f), expected))
          << kind << " " << degree;
    }
  }
}

TEST(LabelEncoderTest, TheLastOfEqualKeysCountsAndAllNanAreOne) {
  const double nan = std::nan("");
  const OneNode encoder{"LabelEncoder",
                        {{"keys_floats", Floats{1, nan, 1}},
                         {"values_strings", Words{"one", "none", "uno"}},
                         {"default_string", std::string("other")}},
                        1,
                        kDomain,
                        4};
  const auto made = encoder.Run({Numbers<float>({3}, {1, -std::nanf("7"), 2})});
  ASSERT_TRUE(made.ok()) << made.error().Text();
  EXPECT_THAT(ElementsOf<std::string>((*made)[0]), ElementsAre("uno", "none", "other"));
  EXPECT_FALSE(encoder.Run({Strings({1}, {"one"})}).ok());
}

TEST(LabelEncoderTest, TheFirstVersionNumbersALabelByItsPlace) {
  const OneNode encoder{"LabelEncoder", {{"classes_strings", Words{"a", "b"}}}, 1, kDomain, 1};
  EXPECT_THAT(ElementsOf<int64_t>((*encoder.Run({Strings({2}, {"b", "?"})}))[0]),
              ElementsAre(1, -1));
  EXPECT_THAT(ElementsOf<std::string>((*encoder.Run({Numbers<int64_t>({2}, {0, 5})}))[0]),
              ElementsAre("a", "_Unused"));
}

TEST(FeatureColumnsTest, ColumnsArePickedJoinedAndSpread) {
  const OneNode pick{"ArrayFeatureExtractor", {}, 1, kDomain, 1};
  const HostTensor words = Strings({2, 3}, {"a", "b", "c", "d", "e", "f"});
  EXPECT_THAT(ElementsOf<std::string>((*pick.Run({words, Numbers<int64_t>({2}, {2, 0})}))[0]),
              ElementsAre("c", "a", "f", "d"));
  EXPECT_THAT(pick.Run({words, Numbers<int64_t>({1}, {3})}).error().Text(),
              HasSubstr("outside of the 3 columns"));
  const OneNode join{"FeatureVectorizer", {{"inputdimensions", Ints{1, 2}}}, 1, kDomain, 1};
  EXPECT_THAT(ElementsOf<float>((*join.Run(
                  {Numbers<float>({2, 1}, {1, 2}), Numbers<int64_t>({2, 1}, {3, 4})}))[0]),
              ElementsAre(1, 3, 0, 2, 4, 0));
  const OneNode spread{
      "OneHotEncoder", {{"cats_int64s", Ints{5, 8}}, {"zeros", int64_t{0}}}, 1, kDomain, 1};
  EXPECT_THAT(ElementsOf<float>((*spread.Run({Numbers<float>({2}, {8.9f, 5})}))[0]),
              ElementsAre(0, 1, 1, 0));
  EXPECT_THAT(spread.Run({Numbers<float>({1}, {std::nanf("")})}).error().Text(),
              HasSubstr("none of the categories"));
}

}  // namespace classical_models_test
}  // namespace plimsoll::kernels::cpu
