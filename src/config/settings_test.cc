#include "config/settings.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "config/options/option_table.h"
#include "config/resolving_for_tests.h"
#include "plimsoll/base/text.h"

namespace plimsoll::config {
namespace settings_test {

constexpr Origin::Layer kFile = Origin::Layer::kFile;
constexpr Origin::Layer kCommandLine = Origin::Layer::kCommandLine;

StaticMemoryPolicy PolicyOf(const Result<EffectiveConfig>& resolved) {
  EXPECT_TRUE(resolved.ok()) << Outcome(resolved);
  return resolved.ok() ? resolved->config.memory_config.static_memory_policy
                       : StaticMemoryPolicy::kByGraph;
}

TEST(SettingsTest, ATextWithoutKeyOrEqualsSignIsRefused) {
  EXPECT_EQ(Outcome(ResolveTexts({"deterministic"})),
            "setting not understood: --set: 'deterministic' has no '='; write key=value "
            "[config.setting]");
  EXPECT_EQ(Outcome(ResolveTexts({"=1"})),
            "setting not understood: --set: '=1' has no key; write key=value [config.setting]");
  EXPECT_EQ(Outcome(ResolveTexts({"ASCEND_WORK_PATH=a=b"})), "accepted");
}

TEST(SettingsTest, R98_NumbersMayBeWrittenAsTextAndAsNumbers) {
  for (const Option& option : OptionTable()) {
    if (option.type != OptionType::kNumber) continue;
    const int64_t number =
        option.legal.numbers.empty() ? option.legal.least : option.legal.numbers.back();
    Settings as_number;
    as_number.Set(std::string(option.name), number);
    Settings as_text;
    as_text.Set(std::string(option.name), StrCat(number));
    const auto first = Resolve(as_number, EnvironmentOf({}));
    const auto second = Resolve(as_text, EnvironmentOf({}));
    ASSERT_TRUE(first.ok() && second.ok()) << option.name;
    EXPECT_EQ(*first, *second) << option.name;
  }
}

TEST(SettingsTest, R106_TheDefaultIsTrainingInsideAnExplicitNpuRunConfigAndInferenceElse) {
  EXPECT_FALSE(Resolve(Settings(), EnvironmentOf({}))->training);
  EXPECT_TRUE(Resolve(Settings::NpuRunConfig(), EnvironmentOf({}))->training);
  Settings inference = Settings::NpuRunConfig();
  inference.Set("graph_run_mode", 0);
  EXPECT_FALSE(Resolve(inference, EnvironmentOf({}))->training);
}

TEST(SettingsTest, ALaterLayerHoldsOverAnEarlierOneWhateverTheKey) {
  Settings settings;
  settings.Add({"static_memory_policy", 3, {kCommandLine, "--policy"}});
  settings.Add({"ge.exec.staticMemoryPolicy", 0, {kFile, "run.json:1:2"}});
  const auto resolved = MakeEffectiveConfig(settings, EnvironmentOf({}));
  EXPECT_EQ(PolicyOf(resolved), StaticMemoryPolicy::kExpandableDynamic);
  EXPECT_EQ(resolved->of("static_memory_policy").origin, "--policy");
  settings.Set("static_memory_policy", 4);
  EXPECT_EQ(PolicyOf(MakeEffectiveConfig(settings, EnvironmentOf({}))),
            StaticMemoryPolicy::kSharedAndExpandable);
}

TEST(SettingsTest, R37_TwoKeysOfOneOptionMustAgree) {
  EXPECT_EQ(Outcome(ResolveTexts({"static_memory_policy=2", "ge.exec.staticMemoryPolicy=3"})),
            "options conflict: static_memory_policy=2 (--set) and ge.exec.staticMemoryPolicy=3 "
            "(--set): one option has two values; keep one of them [config.twice]");
  EXPECT_EQ(Outcome(ResolveTexts({"deterministic=0", "deterministic=1"})),
            "options conflict: deterministic=0 (--set) and deterministic=1 (--set): one option has "
            "two values; keep one of them [config.twice]");
  EXPECT_EQ(PolicyOf(ResolveTexts({"static_memory_policy=2", "ge.exec.staticMemoryPolicy=1"})),
            StaticMemoryPolicy::kSharedStatic);
}

TEST(SettingsTest, EveryGivenValueIsCheckedEvenOneThatALaterLayerCovers) {
  Settings settings;
  settings.Add({"deterministic", 7, {kFile, "run.toml:4:1"}});
  settings.Add({"deterministic", 1, {kCommandLine, "--set"}});
  EXPECT_EQ(Outcome(MakeEffectiveConfig(settings, EnvironmentOf({}))),
            "option refused: deterministic (run.toml:4:1): 7 is not legal; legal: 0, 1 "
            "[config.value]");
}

TEST(SettingsTest, R107_TheOptionWinsOverTheDeviceVariable) {
  EXPECT_EQ(ResolveTexts({}, {{"ASCEND_DEVICE_ID", "3"}})->config.session_device_id, 3);
  EXPECT_EQ(
      ResolveTexts({"session_device_id=1"}, {{"ASCEND_DEVICE_ID", "3"}})->config.session_device_id,
      1);
  EXPECT_EQ(Outcome(ResolveTexts({"session_device_id=1"}, {{"ASCEND_DEVICE_ID", "x"}})),
            "accepted");
  EXPECT_EQ(
      Outcome(ResolveTexts({}, {{"ASCEND_DEVICE_ID", "x"}})),
      "option refused: ASCEND_DEVICE_ID (environment): 'x' is no whole number; legal: a whole "
      "number from 0 to 2147483647 [config.type]");
  EXPECT_EQ(ResolveTexts({}, {{"ASCEND_DEVICE_ID", ""}})->config.session_device_id, std::nullopt);
}

TEST(SettingsTest, VariablesReachTheirOptions) {
  const auto resolved =
      ResolveTexts({}, {{"OP_NO_REUSE_MEM", "conv_1,Add"}, {"ASCEND_WORK_PATH", "/scratch"}});
  EXPECT_EQ(resolved->config.no_reuse_nodes, (std::vector<std::string>{"conv_1", "Add"}));
  EXPECT_EQ(resolved->config.work_path, "/scratch");
  EXPECT_TRUE(ResolveTexts({"OP_NO_REUSE_MEM="}, {{"OP_NO_REUSE_MEM", "conv_1"}})
                  ->config.no_reuse_nodes.empty());
}

TEST(SettingsTest, TheEnvironmentOfTheProcessIsReadAtEachCall) {
  const Environment environment = ProcessEnvironment();
  EXPECT_EQ(environment("PLIMSOLL_NO_SUCH_VARIABLE"), std::nullopt);
  EXPECT_EQ(environment("PATH"), std::string(std::getenv("PATH")));
}

TEST(SettingsTest, R17_PoliciesThatShareMemoryRefuseSeveralGraphsAtOnce) {
  for (const char* policy : {"1", "2", "4"}) {
    EXPECT_EQ(Outcome(ResolveTexts(
                  {StrCat("static_memory_policy=", policy), "graph_max_parallel_model_num=2"})),
              StrCat("options conflict: static_memory_policy=", policy,
                     " (--set) and graph_max_parallel_model_num=2 (--set): under policies 2 and 4 "
                     "graphs share memory and run one at a time; use policy 0 or 3, or "
                     "graph_max_parallel_model_num=1 [config.conflict]"));
    EXPECT_EQ(Outcome(ResolveTexts(
                  {StrCat("static_memory_policy=", policy), "graph_max_parallel_model_num=1"})),
              "accepted");
  }
  for (const char* policy : {"0", "3"}) {
    EXPECT_EQ(Outcome(ResolveTexts(
                  {StrCat("static_memory_policy=", policy), "graph_max_parallel_model_num=2"})),
              "accepted");
  }
}

TEST(SettingsTest, R211_MixedComputingWantsOneIterationPerLoop) {
  EXPECT_EQ(Outcome(ResolveTexts({"mix_compile_mode=True", "iterations_per_loop=2"})),
            "options conflict: mix_compile_mode=True (--set) and iterations_per_loop=2 (--set): "
            "with operators on the host each step returns to it; use iterations_per_loop=1, or "
            "mix_compile_mode=False [config.conflict]");
  EXPECT_EQ(Outcome(ResolveTexts({"mix_compile_mode=True", "iterations_per_loop=1"})), "accepted");
  EXPECT_EQ(Outcome(ResolveTexts({"mix_compile_mode=False", "iterations_per_loop=2"})), "accepted");
}

TEST(SettingsTest, R231_VariablesOnTheHostWantMixedComputing) {
  const std::string why =
      "variables can stay on the host only where operators may; set mix_compile_mode=True, or "
      "variable_placement=Device [config.conflict]";
  EXPECT_EQ(Outcome(ResolveTexts({"variable_placement=Host"})),
            StrCat("options conflict: variable_placement=Host (--set) and mix_compile_mode=False "
                   "(default): ",
                   why));
  EXPECT_EQ(Outcome(ResolveTexts({"variable_placement=Host", "mix_compile_mode=False"})),
            StrCat("options conflict: variable_placement=Host (--set) and mix_compile_mode=False "
                   "(--set): ",
                   why));
  EXPECT_EQ(Outcome(ResolveTexts({"variable_placement=Host", "mix_compile_mode=True"})),
            "accepted");
}

TEST(SettingsTest, RangesActOnlyForDynamicInputs) {
  const std::string ranges = "dynamic_inputs_shape_range=data:[1~8,128]";
  const auto idle = ResolveTexts({ranges});
  ASSERT_TRUE(idle.ok());
  EXPECT_EQ(idle->config.dynamic_inputs_shape_range, std::nullopt);
  EXPECT_TRUE(idle->of("dynamic_inputs_shape_range").idle);
  const auto acting = ResolveTexts({ranges, "dynamic_input=True"});
  ASSERT_TRUE(acting.ok());
  EXPECT_EQ(acting->config.dynamic_inputs_shape_range,
            (ShapeRanges{{}, {{DimRange{1, 8}, DimRange{128, 128}}}}));
  EXPECT_FALSE(acting->of("dynamic_inputs_shape_range").idle);
}

TEST(SettingsTest, WhatIsDeprecatedOrWithoutEffectIsSaidOnce) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const std::vector<std::string> idle = {"dynamic_graph_execute_mode=dynamic_execute"};
  EXPECT_EXIT(TellNotesAndExit({{idle, {}}, {idle, {}}, {{}, {}}}), testing::ExitedWithCode(0),
              "2: dynamic_graph_execute_mode is deprecated: the option will go, nothing replaces "
              "it.dynamic_graph_execute_mode has no effect: dynamic_input is not True\n");
  EXPECT_EXIT(TellNotesAndExit({{{"deterministic=1", "static_memory_policy=2"}, {}}}),
              testing::ExitedWithCode(0), "0: \n");
}

}  // namespace settings_test
}  // namespace plimsoll::config
