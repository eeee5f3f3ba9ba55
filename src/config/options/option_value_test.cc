#include "config/options/option_value.h"

#include <gtest/gtest.h>

#include "config/resolving_for_tests.h"
#include "plimsoll/base/text.h"

namespace plimsoll::config {
namespace option_value_test {

// What one option takes and refuses. `given` is text as behind --set; the message is exact.
struct Refused {
  std::string given;
  std::string why;
  std::string code = "config.value";
};

void ExpectRefused(const std::string& key, const std::string& legal,
                   const std::vector<Refused>& cases) {
  for (const Refused& refused : cases) {
    EXPECT_EQ(Outcome(ResolveTexts({key + "=" + refused.given})),
              StrCat("option refused: ", key, " (--set): ", refused.why, "; legal: ", legal, " [",
                     refused.code, "]"));
  }
}

// A value with a type of its own, as a file or a program gives it.
std::string OutcomeOf(const std::string& key, SettingValue value) {
  Settings settings;
  settings.Set(key, std::move(value));
  return Outcome(MakeEffectiveConfig(settings, EnvironmentOf({})));
}

RunConfig Accepted(const std::vector<std::string>& texts) {
  const auto resolved = ResolveTexts(texts);
  EXPECT_TRUE(resolved.ok()) << resolved.error().Text();
  return resolved.ok() ? resolved->config : RunConfig();
}

const std::string kZeroOrOne = "0, 1";

TEST(OptionValueTest, R8_AtomicCleanPolicyTakesZeroAndOneOnly) {
  EXPECT_FALSE(Accepted({"atomic_clean_policy=0"}).memory_config.clear_separately);
  EXPECT_TRUE(Accepted({"atomic_clean_policy=1"}).memory_config.clear_separately);
  ExpectRefused("atomic_clean_policy", kZeroOrOne,
                {{"2", "'2' is not legal"},
                 {"-1", "'-1' is not legal"},
                 {"01", "'01' is not legal"},
                 {"True", "'True' is no whole number", "config.type"},
                 {"", "'' is no whole number", "config.type"}});
  EXPECT_EQ(OutcomeOf("atomic_clean_policy", true),
            "option refused: atomic_clean_policy (program): true is no whole number; legal: 0, 1 "
            "[config.type]");
}

TEST(OptionValueTest, R20_StaticMemoryPolicyRefusesAllButItsValuesAndListsThem) {
  const std::string legal = "0, 2, 3, 4 (and 1, the older form of 2)";
  for (const char* key : {"static_memory_policy", "ge.exec.staticMemoryPolicy"}) {
    for (const int policy : {0, 2, 3, 4}) {
      EXPECT_EQ(Accepted({StrCat(key, "=", policy)}).memory_config.static_memory_policy,
                static_cast<StaticMemoryPolicy>(policy));
    }
    ExpectRefused(key, legal,
                  {{"5", "'5' is not legal"},
                   {"-1", "'-1' is not legal"},
                   {"99999999999999999999", "'99999999999999999999' is not legal"},
                   {"shared", "'shared' is no whole number", "config.type"},
                   {"2.0", "'2.0' is no whole number", "config.type"},
                   {" 2", "' 2' is no whole number", "config.type"}});
  }
  EXPECT_EQ(
      OutcomeOf("static_memory_policy", 2.5),
      StrCat("option refused: static_memory_policy (program): 2.5 is no whole number; legal: ",
             legal, " [config.type]"));
  EXPECT_EQ(
      OutcomeOf("static_memory_policy", std::vector<std::string>{"2"}),
      StrCat("option refused: static_memory_policy (program): '2' is no whole number; legal: ",
             legal, " [config.type]"));
  EXPECT_EQ(OutcomeOf("static_memory_policy", SettingValue()),
            StrCat("option refused: static_memory_policy (program): null is no whole number; "
                   "legal: ",
                   legal, " [config.type]"));
}

TEST(OptionValueTest, R21_R22_MemoryOptimizationPolicyIsNoneOrMemoryPriority) {
  const auto policy = [](const RunConfig& config) {
    return config.memory_config.memory_optimization_policy;
  };
  EXPECT_EQ(policy(Accepted({})), MemoryOptimizationPolicy::kNone);
  EXPECT_EQ(policy(Accepted({"memory_optimization_policy=None"})), MemoryOptimizationPolicy::kNone);
  EXPECT_EQ(policy(Accepted({"memory_optimization_policy=MemoryPriority"})),
            MemoryOptimizationPolicy::kMemoryPriority);
  EXPECT_EQ(OutcomeOf("memory_optimization_policy", SettingValue()), "accepted");
  ExpectRefused("memory_optimization_policy", "None, MemoryPriority",
                {{"memorypriority", "'memorypriority' is not legal"},
                 {"Speed", "'Speed' is not legal"},
                 {"", "'' is not legal"}});
  EXPECT_EQ(OutcomeOf("memory_optimization_policy", 1),
            "option refused: memory_optimization_policy (program): 1 is no word; legal: None, "
            "MemoryPriority [config.type]");
}

TEST(OptionValueTest, HugePagesTakeZeroOneAndTwo) {
  for (const int mode : {0, 1, 2}) {
    EXPECT_EQ(Accepted({StrCat("variable_use_1g_huge_page=", mode)})
                  .memory_config.variable_use_1g_huge_page,
              static_cast<HugePages>(mode));
  }
  ExpectRefused("variable_use_1g_huge_page", "0, 1, 2",
                {{"3", "'3' is not legal"},
                 {"-1", "'-1' is not legal"},
                 {"1G", "'1G' is no whole number", "config.type"}});
}

TEST(OptionValueTest, R106_GraphRunModeIsInferenceOrTraining) {
  EXPECT_FALSE(Accepted({"graph_run_mode=0"}).training);
  EXPECT_TRUE(Accepted({"graph_run_mode=1"}).training);
  ExpectRefused("graph_run_mode", kZeroOrOne,
                {{"2", "'2' is not legal"},
                 {"-1", "'-1' is not legal"},
                 {"training", "'training' is no whole number", "config.type"}});
}

TEST(OptionValueTest, SessionDeviceIdIsANumberFromZero) {
  EXPECT_EQ(Accepted({}).session_device_id, std::nullopt);
  EXPECT_EQ(Accepted({"session_device_id=0"}).session_device_id, 0);
  EXPECT_EQ(Accepted({"session_device_id=2147483647"}).session_device_id, 2147483647);
  ExpectRefused("session_device_id", "a whole number from 0 to 2147483647",
                {{"-1", "'-1' is not legal"},
                 {"2147483648", "'2147483648' is not legal"},
                 {"cuda:0", "'cuda:0' is no whole number", "config.type"}});
}

TEST(OptionValueTest, R111_DeterministicIsOffOrOn) {
  EXPECT_FALSE(Accepted({}).deterministic);
  EXPECT_FALSE(Accepted({"deterministic=0"}).deterministic);
  EXPECT_TRUE(Accepted({"deterministic=1"}).deterministic);
  ExpectRefused("deterministic", kZeroOrOne,
                {{"2", "'2' is not legal"}, {"True", "'True' is no whole number", "config.type"}});
}

TEST(OptionValueTest, R114_ExternalWeightIsASwitchThatIsOff) {
  EXPECT_FALSE(Accepted({}).external_weight);
  EXPECT_TRUE(Accepted({"external_weight=True"}).external_weight);
  EXPECT_TRUE(Accepted({"external_weight=true"}).external_weight);
  EXPECT_FALSE(Accepted({"external_weight=False"}).external_weight);
  ExpectRefused(
      "external_weight", "True, False",
      {{"TRUE", "'TRUE' is not legal"}, {"1", "'1' is not legal"}, {"", "'' is not legal"}});
  EXPECT_EQ(OutcomeOf("external_weight", 1),
            "option refused: external_weight (program): 1 is no switch; legal: True, False "
            "[config.type]");
}

TEST(OptionValueTest, R120_InputFusionSizeHasBothItsEndsAndNothingBeyond) {
  EXPECT_EQ(Accepted({}).input_fusion_size, 131072);
  EXPECT_EQ(Accepted({"input_fusion_size=0"}).input_fusion_size, 0);
  EXPECT_EQ(Accepted({"input_fusion_size=33554432"}).input_fusion_size, 33554432);
  ExpectRefused("input_fusion_size", "a whole number from 0 to 33554432",
                {{"-1", "'-1' is not legal"},
                 {"33554433", "'33554433' is not legal"},
                 {"-9223372036854775809", "'-9223372036854775809' is not legal"},
                 {"128KB", "'128KB' is no whole number", "config.type"}});
}

TEST(OptionValueTest, R124_AcParallelEnableTakesTextAndNumbers) {
  EXPECT_FALSE(Accepted({}).ac_parallel_enable);
  EXPECT_FALSE(Accepted({"ac_parallel_enable=0"}).ac_parallel_enable);
  EXPECT_TRUE(Accepted({"ac_parallel_enable=1"}).ac_parallel_enable);
  EXPECT_EQ(OutcomeOf("ac_parallel_enable", 1), "accepted");
  ExpectRefused("ac_parallel_enable", kZeroOrOne,
                {{"2", "'2' is not legal"}, {"True", "'True' is no whole number", "config.type"}});
}

TEST(OptionValueTest, R126_R127_CompileDynamicModeIsASwitchThatIsOff) {
  EXPECT_FALSE(Accepted({}).compile_dynamic_mode);
  EXPECT_FALSE(Accepted({"compile_dynamic_mode=False"}).compile_dynamic_mode);
  EXPECT_TRUE(Accepted({"compile_dynamic_mode=True"}).compile_dynamic_mode);
  ExpectRefused("compile_dynamic_mode", "True, False", {{"-1", "'-1' is not legal"}});
}

TEST(OptionValueTest, MixCompileModeIsASwitchThatIsOff) {
  EXPECT_FALSE(Accepted({}).mix_compile_mode);
  EXPECT_TRUE(Accepted({"mix_compile_mode=True"}).mix_compile_mode);
  ExpectRefused("mix_compile_mode", "True, False", {{"yes", "'yes' is not legal"}});
}

TEST(OptionValueTest, R209_IterationsPerLoopCountsFromOne) {
  EXPECT_EQ(Accepted({}).iterations_per_loop, 1);
  EXPECT_EQ(Accepted({"iterations_per_loop=1000"}).iterations_per_loop, 1000);
  ExpectRefused("iterations_per_loop", "a whole number from 1",
                {{"0", "'0' is not legal"},
                 {"-5", "'-5' is not legal"},
                 {"9223372036854775808", "'9223372036854775808' is not legal"},
                 {"1e3", "'1e3' is no whole number", "config.type"}});
}

TEST(OptionValueTest, R230_VariablePlacementIsDeviceOrHostSpeltSo) {
  EXPECT_EQ(Accepted({}).variable_placement, VariablePlacement::kDevice);
  EXPECT_EQ(Accepted({"variable_placement=Device"}).variable_placement, VariablePlacement::kDevice);
  EXPECT_EQ(Accepted({"variable_placement=Host", "mix_compile_mode=True"}).variable_placement,
            VariablePlacement::kHost);
  ExpectRefused("variable_placement", "Device, Host",
                {{"host", "'host' is not legal"}, {"0", "'0' is not legal"}});
}

TEST(OptionValueTest, R233_GraphMaxParallelModelNumGoesFromOneToTheLargestInt32) {
  EXPECT_EQ(Accepted({}).graph_max_parallel_model_num, 1);
  EXPECT_EQ(Accepted({"graph_max_parallel_model_num=2147483647"}).graph_max_parallel_model_num,
            2147483647);
  ExpectRefused("graph_max_parallel_model_num", "a whole number from 1 to 2147483647",
                {{"0", "'0' is not legal"},
                 {"2147483648", "'2147483648' is not legal"},
                 {"four", "'four' is no whole number", "config.type"}});
}

TEST(OptionValueTest, R62_OnlyTheTextOneSwitchesFeatureBaseRefreshableOn) {
  EXPECT_FALSE(Accepted({}).feature_base_refreshable);
  EXPECT_FALSE(Accepted({"ge.featureBaseRefreshable=0"}).feature_base_refreshable);
  EXPECT_TRUE(Accepted({"ge.featureBaseRefreshable=1"}).feature_base_refreshable);
  ExpectRefused("ge.featureBaseRefreshable", kZeroOrOne,
                {{"2", "'2' is not legal"}, {"true", "'true' is no whole number", "config.type"}});
}

TEST(OptionValueTest, DisableReuseMemoryIsOffOrOn) {
  EXPECT_FALSE(Accepted({}).disable_reuse_memory);
  EXPECT_TRUE(Accepted({"ge.exec.disableReuseMemory=1"}).disable_reuse_memory);
  ExpectRefused("ge.exec.disableReuseMemory", kZeroOrOne,
                {{"2", "'2' is not legal"}, {"on", "'on' is no whole number", "config.type"}});
}

TEST(OptionValueTest, TopoSortingModeIsUnsetOrZeroToThree) {
  EXPECT_EQ(Accepted({}).topo_sorting_mode, std::nullopt);
  for (const int mode : {0, 1, 2, 3}) {
    EXPECT_EQ(Accepted({StrCat("ge.topoSortingMode=", mode)}).topo_sorting_mode, mode);
  }
  ExpectRefused("ge.topoSortingMode", "0, 1, 2, 3",
                {{"4", "'4' is not legal"},
                 {"-1", "'-1' is not legal"},
                 {"BFS", "'BFS' is no whole number", "config.type"}});
}

TEST(OptionValueTest, ReuseIndexesAreNumbersFromZeroNoneTwice) {
  EXPECT_EQ(Accepted({"ge.exec.inputReuseMemIndexes=0, 2,1"}).input_reuse_mem_indexes,
            (std::vector<int>{0, 2, 1}));
  EXPECT_EQ(Accepted({"ge.exec.outputReuseMemIndexes=2147483647"}).output_reuse_mem_indexes,
            std::vector<int>{2147483647});
  EXPECT_TRUE(Accepted({"ge.exec.inputReuseMemIndexes="}).input_reuse_mem_indexes.empty());
  EXPECT_EQ(OutcomeOf("ge.exec.inputReuseMemIndexes", std::vector<std::string>{"0", "1"}),
            "accepted");
  for (const char* key : {"ge.exec.inputReuseMemIndexes", "ge.exec.outputReuseMemIndexes"}) {
    ExpectRefused(key, "whole numbers from 0, split by commas, none twice",
                  {{"0,0", "'0,0' is not legal"},
                   {"-1", "'-1' is not legal"},
                   {"0,,1", "'0,,1' is not legal"},
                   {"2147483648", "'2147483648' is not legal"},
                   {"x", "'x' is not legal"}});
    EXPECT_EQ(OutcomeOf(key, 3),
              StrCat("option refused: ", key,
                     " (program): 3 is no list of numbers; legal: whole numbers from 0, split by "
                     "commas, none twice [config.type]"));
  }
}

TEST(OptionValueTest, NoReuseNamesAreSplitAtCommas) {
  EXPECT_EQ(Accepted({"OP_NO_REUSE_MEM=conv/1, Add"}).no_reuse_nodes,
            (std::vector<std::string>{"conv/1", "Add"}));
  ExpectRefused("OP_NO_REUSE_MEM", "names split by commas",
                {{"a,,b", "'a,,b' is not legal"}, {",", "',' is not legal"}});
}

TEST(OptionValueTest, WorkPathIsTextWithoutControlCharacters) {
  EXPECT_EQ(Accepted({"ASCEND_WORK_PATH=/scratch/a b"}).work_path, "/scratch/a b");
  ExpectRefused("ASCEND_WORK_PATH", "any text without control characters",
                {{"a\nb", "'a b' is not legal"}});
}

TEST(OptionValueTest, DynamicDimsAreTextThatTheGraphJudges) {
  for (const char* key : {"dynamic_dims", "ge.dynamicDims"}) {
    EXPECT_EQ(Accepted({StrCat(key, "=1,128;4,128")}).dynamic_dims, "1,128;4,128");
    ExpectRefused(key, "any text without control characters", {{"1\t", "'1 ' is not legal"}});
    EXPECT_EQ(OutcomeOf(key, 4), StrCat("option refused: ", key,
                                        " (program): 4 is no text; legal: any text without control "
                                        "characters [config.type]"));
  }
}

TEST(OptionValueTest, DynamicInputOptionsTakeTheirOwnWords) {
  ExpectRefused("dynamic_input", "True, False", {{"maybe", "'maybe' is not legal"}});
  ExpectRefused("dynamic_graph_execute_mode", "dynamic_execute",
                {{"lazy_recompile", "'lazy_recompile' is not legal"}});
  ExpectRefused("dynamic_inputs_shape_range", "groups as in getnext:[128,3~5,-1],[64,-1];data:[]",
                {{"data:[5~3]", "'data:[5~3]', character 7: the range 5~3 is empty"}});
}

TEST(OptionValueTest, AHugeValueIsShownByItsBeginning) {
  const std::string message = Outcome(ResolveTexts({"deterministic=" + std::string(1 << 20, '7')}));
  EXPECT_EQ(message, StrCat("option refused: deterministic (--set): '", std::string(80, '7'),
                            "...' is not legal; legal: 0, 1 [config.value]"));
}

}  // namespace option_value_test
}  // namespace plimsoll::config
