#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "config/files/config_file.h"
#include "config/options/option_table.h"
#include "config/resolving_for_tests.h"

// A graph's value holds over its session's, a session's over the global one.
namespace plimsoll::config {
namespace levels_test {

using testing::HasSubstr;
using Layer = Origin::Layer;

Result<EffectiveConfig> ResolveAll(const std::vector<Setting>& settings) {
  const LogCapture quiet([](LogLevel, std::string_view) {});
  Settings all;
  for (const Setting& setting : settings) all.Add(setting);
  return MakeEffectiveConfig(all, EnvironmentOf({}));
}

TEST(LevelsTest, TheNarrowestLevelHoldsWhateverTheLayer) {
  const Setting global{"input_fusion_size", 1, {Layer::kProgram, "p", OptionLevel::kGlobal}};
  const Setting session{"input_fusion_size", 2, {Layer::kCommandLine, "--set", {}}};
  const Setting graph{"input_fusion_size", 3, {Layer::kFile, "f", OptionLevel::kGraph}};
  EXPECT_EQ(ResolveAll({global})->config.input_fusion_size, 1);
  EXPECT_EQ(ResolveAll({session, global})->config.input_fusion_size, 2);
  const auto all = ResolveAll({graph, global, session});
  EXPECT_EQ(all->config.input_fusion_size, 3);
  EXPECT_EQ(OriginText(all->of("input_fusion_size")), "f, graph");
  EXPECT_THAT(EffectiveConfigJson(*all), HasSubstr(R"("level": "graph")"));
}

TEST(LevelsTest, OnOneLevelTheLaterLayerHolds) {
  const Setting file{"input_fusion_size", 1, {Layer::kFile, "f", OptionLevel::kGraph}};
  const Setting program{"input_fusion_size", 2, {Layer::kProgram, "p", OptionLevel::kGraph}};
  EXPECT_EQ(ResolveAll({program, file})->config.input_fusion_size, 2);
}

TEST(LevelsTest, AnOptionOfAWiderLevelCannotBeGivenForANarrowerOne) {
  EXPECT_EQ(
      Outcome(ResolveAll({{"deterministic", 1, {Layer::kFile, "f:1:1", OptionLevel::kGraph}}})),
      "option refused: deterministic (f:1:1): it cannot be given for a graph alone; its level "
      "is session [config.level]");
  EXPECT_EQ(
      Outcome(ResolveAll({{"hccl_timeout", 68, {Layer::kFile, "f:1:1", OptionLevel::kSession}}})),
      "option refused: hccl_timeout (f:1:1): it cannot be given for a session alone; its level is "
      "global [config.level]");
  EXPECT_TRUE(ResolveAll({{"hccl_timeout", 68, {Layer::kCommandLine, "--set", {}}}}).ok());
}

TEST(LevelsTest, AFileHasAMapForEachLevel) {
  const auto settings = ParseConfigText(
      "input_fusion_size = 1\n[graph]\ninput_fusion_size = 2\n"
      "[global]\ninput_fusion_size = 3\n[session.memory_config]\nstatic_memory_policy = 3\n",
      "run.toml");
  ASSERT_TRUE(settings.ok()) << settings.error().Text();
  const auto resolved = MakeEffectiveConfig(*settings, EnvironmentOf({}));
  ASSERT_TRUE(resolved.ok()) << Outcome(resolved);
  EXPECT_EQ(resolved->config.input_fusion_size, 2);
  EXPECT_EQ(resolved->config.memory_config.static_memory_policy,
            StaticMemoryPolicy::kExpandableDynamic);
  EXPECT_EQ(OriginText(resolved->of("input_fusion_size")), "run.toml:3:1, graph");
}

TEST(LevelsTest, NothingForAnOptionWithoutDefaultMeansThatItIsNotGiven) {
  Settings settings;
  settings.Set("dump_path", SettingValue());
  settings.Set("precision_mode_v2", SettingValue());
  settings.Set("precision_mode", "force_fp32");
  const LogCapture quiet([](LogLevel, std::string_view) {});
  const auto resolved = MakeEffectiveConfig(settings, EnvironmentOf({}));
  ASSERT_TRUE(resolved.ok()) << Outcome(resolved);
  EXPECT_FALSE(resolved->Given("dump_path"));
}

TEST(LevelsTest, ObjectsOfAFileAreMapsOfTheirFields) {
  const LogCapture quiet([](LogLevel, std::string_view) {});
  const auto settings = ParseConfigText(R"({"NPURunConfig": {
      "dump_config": {"enable_dump": true, "dump_layer": ["a", "b"]},
      "profiling_config": {"enable_profiling": true},
      "experimental_config": {"anything": 1, "else": "x"}}})",
                                        "run.json");
  ASSERT_TRUE(settings.ok());
  const auto resolved = MakeEffectiveConfig(*settings, EnvironmentOf({}));
  ASSERT_TRUE(resolved.ok()) << Outcome(resolved);
  EXPECT_TRUE(resolved->config.dump.enabled && resolved->config.profiling.enabled);
  EXPECT_EQ(resolved->config.dump.layers, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(resolved->Value("experimental_config"), "anything=1, else=x");
  const auto wrong = ParseConfigText(R"({"dump_config": {"enable_profiling": true}})", "run.json");
  EXPECT_THAT(Outcome(MakeEffectiveConfig(*wrong, EnvironmentOf({}))),
              HasSubstr("run.json:1:18: enable_profiling is no option of dump_config"));
}

}  // namespace levels_test
}  // namespace plimsoll::config
