#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "config/options/option_table.h"
#include "config/options/option_value.h"
#include "config/resolving_for_tests.h"

// Every option of the documents by its name, in their order, with the example that they give and a
// value that is wrong. Files of the examples are made in a folder of the test.
namespace plimsoll::config {
namespace seed_options_test {

using testing::HasSubstr;

struct SeedOption {
  std::string name;
  std::string example;        // behind the name; empty: the documents give none, or an object
  std::string wrong;          // refused
  std::string together = {};  // what the example is given together with
  std::string file = {};      // what the file that the example names holds
};

constexpr const char* kSwitches = R"({"Switch":{"GraphFusion":{"ALL":"off",
    "SoftmaxFusionPass":"on"},"UBFusion":{"ALL":"off","TbePool2dQuantFusionPass":"on"}}})";

const std::vector<SeedOption>& SeedOptions() {
  static const std::vector<SeedOption> options = {
      {"graph_run_mode", "1", "2"},
      {"session_device_id", "0", "first"},
      {"distribute", "ParameterServerStrategy", "MirroredStrategy"},
      {"deterministic", "1", "True"},
      {"memory_config", "", "2"},
      {"external_weight", "True", "1"},
      {"input_fusion_size", "25600", "33554433"},
      {"ac_parallel_enable", "1", "2"},
      {"compile_dynamic_mode", "True", "yes"},
      {"mix_compile_mode", "True", "1"},
      {"enable_exception_dump", "1", "3"},
      {"op_debug_config", "/root/test0.cfg", "oom", "",
       "op_debug_config= ccec_g,oom\nop_debug_list=GatherV2,opType::ReduceSum\n"},
      {"debug_dir", "/home/test", "\x01"},
      {"export_compile_stat", "1", "3"},
      {"precision_mode", "allow_mix_precision", "fp16"},
      {"precision_mode_v2", "origin", "allow_mix_precision"},
      {"modify_mixlist", "/home/test/ops_info.json", "/missing.json", "",
       R"({"black-list": {"to-remove": ["Xlog1py"]}} // lists)"},
      {"enable_reduce_precision", "", "1"},
      {"customize_dtypes", "/home/test/customize_dtypes.cfg", "/missing.cfg", "",
       "OpType::Relu:InputDtype:float16,int8,OutputDtype:float16,int8\n"},
      {"dump_config", "", "1"},
      {"quant_dumpable", "1", "2"},
      {"fusion_switch_file", "/home/test/fusion_switch.cfg", "/a b.cfg", "", kSwitches},
      {"buffer_optimize", "l2_optimize", "l1_optimize"},
      {"iterations_per_loop", "1000", "0"},
      {"hcom_parallel", "True", "1"},
      {"op_precision_mode", "/home/test/op_precision.ini", "high_precision", "",
       "[ByOpType]\noptype1=high_precision\n[ByNodeName]\nnodename2=high_performance\n"},
      {"enable_scope_fusion_passes", "ScopeLayerNormPass,ScopeClipBoxesPass", "NoPass"},
      {"stream_max_parallel_num", "DNN_VM_AICPU:10,AIcoreEngine:1", "AICPU:1"},
      {"is_tailing_optimization", "True", "1"},
      {"enable_small_channel", "0", "2", "graph_run_mode=1"},
      {"variable_placement", "Device", "device"},
      {"graph_max_parallel_model_num", "4", "0"},
      {"profiling_config", "", "1"},
      {"aoe_mode", "2", "3"},
      {"work_path", "/home/HwHiAiUser/output", "/missing/folder", "", "folder"},
      {"aoe_config_file", "/home/test/cfg/tuning_config.cfg", "/missing.cfg", "aoe_mode=2",
       R"({"tune_ops_name":["loss/MatMul"], "tune_ops_type":["Add", "Mul"],
           "tune_optimization_level":"O1", "feature":["deeper_opat"]})"},
      {"op_compiler_cache_mode", "enable", "on"},
      {"op_compiler_cache_dir", "/home/test/kernel_cache", "/kernel cache"},
      {"local_rank_id", "0", "-1"},
      {"local_device_list", "0,1", "0,0", "local_rank_id=0"},
      {"hccl_timeout", "1800", "17341"},
      {"op_wait_timeout", "120", "0"},
      {"op_execute_timeout", "90", "0"},
      {"stream_sync_timeout", "60000", "-2"},
      {"event_sync_timeout", "60000", "-2"},
      {"experimental_config", "", "1"},
      {"jit_compile", "auto", "maybe"},
      {"enable_data_pre_proc", "True", "1"},
      {"variable_format_optimize", "True", "1"},
      {"op_debug_level", "1", "5"},
      {"op_select_implmode", "high_precision", "precise"},
      {"optypelist_for_implmode", "Pooling,SoftmaxV2", "Conv2D",
       "op_select_implmode=high_precision"},
      {"dynamic_input", "True", "1"},
      {"dynamic_graph_execute_mode", "dynamic_execute", "lazy_recompile", "dynamic_input=True"},
      {"dynamic_inputs_shape_range",
       "getnext:[128 ,3~5, 2~128, -1],[64 ,3~5, 2~128, -1];data:[128 ,3~5, 2~128, -1]",
       "getnext: []", "dynamic_input=True"},
      {"graph_memory_max_size", "26*1024*1024*1024", "26GB"},
      {"variable_memory_max_size", "5*1024*1024*1024", "5GB"},
  };
  return options;
}

const std::vector<SeedOption> kMemoryConfigOptions = {
    {"atomic_clean_policy", "0", "2"},
    {"static_memory_policy", "0", "5"},
    {"memory_optimization_policy", "MemoryPriority", "Speed"},
    {"variable_use_1g_huge_page", "1", "3"},
};

// The example, its file or folder made in the folder of the test.
std::string ExampleOf(const SeedOption& option, const FolderForTests& folder) {
  if (option.file.empty()) return option.example;
  if (option.file == "folder") return folder.path();
  return folder.Write(option.name, option.file);
}

void ExpectParsedAndRefused(const SeedOption& option) {
  const LogCapture quiet([](LogLevel, std::string_view) {});
  const FolderForTests folder;
  if (!option.example.empty()) {
    std::vector<std::string> texts = {StrCat(option.name, "=", ExampleOf(option, folder))};
    if (!option.together.empty()) texts.push_back(option.together);
    EXPECT_EQ(Outcome(ResolveTexts(texts)), "accepted") << option.name;
  }
  const std::string refused = Outcome(ResolveTexts({StrCat(option.name, "=", option.wrong)}));
  EXPECT_THAT(refused, HasSubstr(StrCat("option refused: ", option.name, " (--set)")))
      << "option and source";
  const std::string shown = option.wrong == "\x01" ? "' '" : StrCat("'", option.wrong, "'");
  EXPECT_THAT(refused, HasSubstr(shown)) << "value of " << option.name;
  EXPECT_THAT(refused, HasSubstr(StrCat("legal: ", LegalText(*FindOption(option.name)))));
}

TEST(SeedOptionsTest, R97_All57AreInTheTableInTheirOrderParseTheirExamplesAndRefuseWrongValues) {
  ASSERT_EQ(SeedOptions().size(), 57u);
  for (size_t i = 0; i < SeedOptions().size(); ++i) {
    const Option* row = FindOption(SeedOptions()[i].name);
    ASSERT_NE(row, nullptr) << SeedOptions()[i].name;
    EXPECT_EQ(row->seed_index, static_cast<int>(i)) << row->name;
    EXPECT_EQ(row->group, OptionGroup::kNpuRunConfig) << row->name;
    ExpectParsedAndRefused(SeedOptions()[i]);
  }
  EXPECT_THAT(Outcome(ResolveTexts({"precision_mod=fp16"})),
              HasSubstr("did you mean precision_mode?"));
}

TEST(SeedOptionsTest, R1_TheFourOfMemoryConfigAreFieldsInTheirOrder) {
  for (size_t i = 0; i < kMemoryConfigOptions.size(); ++i) {
    const SeedOption& option = kMemoryConfigOptions[i];
    const Option* row = FindOption(option.name);
    ASSERT_NE(row, nullptr) << option.name;
    EXPECT_EQ(row->seed_index, static_cast<int>(i)) << row->name;
    EXPECT_EQ(row->group, OptionGroup::kMemoryConfig) << row->name;
    EXPECT_EQ(FindOption(StrCat("memory_config.", option.name)), row);
    ExpectParsedAndRefused(option);
  }
}

TEST(SeedOptionsTest, R2_MemoryConfigTakesItsFieldsAndNothingElse) {
  const auto resolved = ResolveTexts({"memory_config.static_memory_policy=2"});
  ASSERT_TRUE(resolved.ok());
  EXPECT_EQ(resolved->config.memory_config.static_memory_policy, StaticMemoryPolicy::kSharedStatic);
  for (const char* other : {"2", "MemoryConfig()", ""}) {
    EXPECT_THAT(Outcome(ResolveTexts({StrCat("memory_config=", other)})),
                HasSubstr("is no object; legal: a MemoryConfig, given by its fields"));
  }
}

TEST(SeedOptionsTest, R3_TheSessionObjectOfAFrameworkIsKnownAndHasNoEffect) {
  EXPECT_THAT(NotesOf({"session_config=ConfigProto", "memory_config.static_memory_policy=0"}),
              HasSubstr("session_config has no effect: it belongs to another framework"));
}

TEST(SeedOptionsTest, R99_ExperimentOptionsAreMarkedAsChangeable) {
  for (const char* name : {"experimental_config", "jit_compile"}) {
    EXPECT_THAT(std::string(FindOption(name)->section),
                HasSubstr("they may change, and are not for production"));
  }
}

TEST(SeedOptionsTest, R110_DistributeTakesAParameterServerStrategy) {
  EXPECT_EQ(Outcome(ResolveTexts({"distribute=MirroredStrategy"})),
            "option refused: distribute (--set): 'MirroredStrategy' is not legal; legal: a "
            "ParameterServerStrategy object, or the name of that class [config.value]");
}

TEST(SeedOptionsTest, R235_ProfilingConfigIsAnObjectGivenByItsFields) {
  const LogCapture quiet([](LogLevel, std::string_view) {});
  const auto resolved = ResolveTexts({"profiling_config.enable_profiling=True",
                                      "profiling_config.profiling_options={\"output\":\"/p\"}"});
  ASSERT_TRUE(resolved.ok()) << Outcome(resolved);
  EXPECT_EQ(resolved->config.profiling, (ProfilingSettings{true, "{\"output\":\"/p\"}"}));
  EXPECT_THAT(Outcome(ResolveTexts({"profiling_config=on"})),
              HasSubstr("'on' is no object; legal: a ProfilingConfig"));
}

TEST(SeedOptionsTest, R285_ExperimentalConfigTakesAnyFieldAndSaysThatNoneHasAnEffect) {
  const std::vector<std::string> fields = {"experimental_config.a=1", "experimental_config.b=x"};
  EXPECT_THAT(NotesOf(fields), HasSubstr("experimental_config has no effect: no field of it"));
  const LogCapture quiet([](LogLevel, std::string_view) {});
  EXPECT_EQ(ResolveTexts(fields)->Value("experimental_config"), "a=1, b=x");
  EXPECT_THAT(std::string(FindOption("experimental_config")->meaning),
              HasSubstr("Not recommended"));
}

}  // namespace seed_options_test
}  // namespace plimsoll::config
