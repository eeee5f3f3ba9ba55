// GE_USE_STATIC_MEMORY: the variable that stands for static_memory_policy.
#include <gtest/gtest.h>

#include "config/resolving_for_tests.h"
#include "plimsoll/base/text.h"

namespace plimsoll::config {
namespace static_memory_variable_test {

constexpr const char* kVariable = "GE_USE_STATIC_MEMORY";
constexpr const char* kLegal = "0, 2, 3, 4 (and 1, the older form of 2)";

TEST(StaticMemoryVariableTest, R29_ItHasTheValuesOfTheOptionAndTheirMeaning) {
  for (const int policy : {0, 1, 2, 3, 4}) {
    const auto by_variable = ResolveTexts({}, {{kVariable, StrCat(policy)}});
    const auto by_option = ResolveTexts({StrCat("static_memory_policy=", policy)});
    ASSERT_TRUE(by_variable.ok()) << by_variable.error().Text();
    EXPECT_EQ(by_variable->config, by_option->config);
    EXPECT_EQ(by_variable->of("static_memory_policy").origin, "environment");
    EXPECT_EQ(by_variable->of("static_memory_policy").key, kVariable);
  }
}

TEST(StaticMemoryVariableTest, R30_UnsetAndEmptyMeanTheDefaultAndCountAsNotSet) {
  for (const Variables& variables : {Variables(), Variables{{kVariable, ""}}}) {
    const auto alone = ResolveTexts({}, variables);
    ASSERT_TRUE(alone.ok());
    EXPECT_EQ(alone->of("static_memory_policy").value, "0");
    EXPECT_EQ(alone->of("static_memory_policy").origin, "default");
    EXPECT_EQ(Outcome(ResolveTexts({"static_memory_policy=2"}, variables)), "accepted");
  }
}

TEST(StaticMemoryVariableTest, R31_AValueOutsideTheSetIsRefusedWithVariableValueAndSet) {
  EXPECT_EQ(Outcome(ResolveTexts({}, {{kVariable, "5"}})),
            StrCat("option refused: GE_USE_STATIC_MEMORY (environment): '5' is not legal; legal: ",
                   kLegal, " [config.value]"));
  EXPECT_EQ(Outcome(ResolveTexts({}, {{kVariable, "-1"}})),
            StrCat("option refused: GE_USE_STATIC_MEMORY (environment): '-1' is not legal; legal: ",
                   kLegal, " [config.value]"));
  for (const char* text : {"on", " ", "2 "}) {
    EXPECT_EQ(Outcome(ResolveTexts({}, {{kVariable, text}})),
              StrCat("option refused: GE_USE_STATIC_MEMORY (environment): '", text,
                     "' is no whole number; legal: ", kLegal, " [config.type]"));
  }
}

TEST(StaticMemoryVariableTest, R32_ItsDeprecationIsSaidOnceAndNamesTheOption) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(TellNotesAndExit(
                  {{{}, {{kVariable, "2"}}}, {{}, {{kVariable, "2"}}}, {{}, {{kVariable, "3"}}}}),
              testing::ExitedWithCode(0),
              "1: GE_USE_STATIC_MEMORY will go; use static_memory_policy instead\n");
}

TEST(StaticMemoryVariableTest, R33_ItsPolicies2And4RefuseConcurrentGraphsToo) {
  for (const char* policy : {"1", "2", "4"}) {
    EXPECT_EQ(Outcome(ResolveTexts({"graph_max_parallel_model_num=4"}, {{kVariable, policy}})),
              StrCat("options conflict: GE_USE_STATIC_MEMORY=", policy,
                     " (environment) and graph_max_parallel_model_num=4 (--set): under policies 2 "
                     "and 4 graphs share memory and run one at a time; use policy 0 or 3, or "
                     "graph_max_parallel_model_num=1 [config.conflict]"));
  }
  EXPECT_EQ(Outcome(ResolveTexts({"graph_max_parallel_model_num=4"}, {{kVariable, "3"}})),
            "accepted");
}

std::string BothSet(const std::string& variable, const std::string& key, const std::string& value) {
  return StrCat("options conflict: GE_USE_STATIC_MEMORY=", variable, " (environment) and ", key,
                "=", value,
                " (--set): both set the same thing, and neither wins; unset GE_USE_STATIC_MEMORY "
                "and keep ",
                key, " [config.conflict]");
}

TEST(StaticMemoryVariableTest, R34_R35_TogetherWithEitherKeyItIsRefusedEvenWhenTheyAgree) {
  for (const std::string key : {"static_memory_policy", "ge.exec.staticMemoryPolicy"}) {
    EXPECT_EQ(Outcome(ResolveTexts({key + "=3"}, {{kVariable, "2"}})), BothSet("2", key, "3"));
    EXPECT_EQ(Outcome(ResolveTexts({key + "=2"}, {{kVariable, "2"}})), BothSet("2", key, "2"));
  }
}

TEST(StaticMemoryVariableTest, R4_AnExplicitZeroCountsAsSetAndTheDefaultDoesNot) {
  EXPECT_EQ(Outcome(ResolveTexts({"static_memory_policy=0"}, {{kVariable, "2"}})),
            BothSet("2", "static_memory_policy", "0"));
  EXPECT_EQ(Outcome(ResolveTexts({"static_memory_policy=2"}, {{kVariable, "0"}})),
            BothSet("0", "static_memory_policy", "2"));
  EXPECT_EQ(Outcome(ResolveTexts({}, {{kVariable, "2"}})), "accepted");
}

TEST(StaticMemoryVariableTest, R36_NeitherSideWinsWhicheverLayerGivesTheOption) {
  using Layer = Origin::Layer;
  for (const Layer layer : {Layer::kFile, Layer::kCommandLine, Layer::kProgram}) {
    Settings settings;
    settings.Add({"static_memory_policy", 3, {layer, "somewhere"}});
    const auto resolved = MakeEffectiveConfig(settings, EnvironmentOf({{kVariable, "2"}}));
    ASSERT_FALSE(resolved.ok());
    EXPECT_EQ(resolved.error().code, "config.conflict");
    EXPECT_EQ(resolved.error().where,
              "GE_USE_STATIC_MEMORY=2 (environment) and static_memory_policy=3 (somewhere)");
  }
}

}  // namespace static_memory_variable_test
}  // namespace plimsoll::config
