#include "config/effective_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "config/options/option_table.h"
#include "config/resolving_for_tests.h"

namespace plimsoll::config {
namespace effective_config_test {

using testing::HasSubstr;

TEST(EffectiveConfigTest, R18_PolicyOneBehavesAsTwoAndBothAreShown) {
  const auto effective = ResolveTexts({"static_memory_policy=1"});
  ASSERT_TRUE(effective.ok());
  EXPECT_EQ(effective->config.memory_config.static_memory_policy,
            StaticMemoryPolicy::kSharedStatic);
  EXPECT_EQ(effective->config, ResolveTexts({"static_memory_policy=2"})->config);
  EXPECT_EQ(ValueText(effective->of("static_memory_policy")), "2, given as 1");
  EXPECT_THAT(EffectiveConfigText(*effective), HasSubstr("2, given as 1"));
  const auto row = nlohmann::json::parse(EffectiveConfigJson(*effective))["static_memory_policy"];
  EXPECT_EQ(row["value"], "2");
  EXPECT_EQ(row["given"], "1");
}

TEST(EffectiveConfigTest, EachValueTellsWhereItComesFrom) {
  Settings settings;
  settings.Add({"deterministic", 1, {Origin::Layer::kFile, "run.json:2:3"}});
  settings.Add({"ge.exec.staticMemoryPolicy", "3", {Origin::Layer::kCommandLine, "--set"}});
  const auto effective = MakeEffectiveConfig(settings, EnvironmentOf({{"ASCEND_DEVICE_ID", "5"}}));
  ASSERT_TRUE(effective.ok());
  const std::string text = EffectiveConfigText(*effective);
  EXPECT_THAT(text, testing::ContainsRegex("deterministic +1 +run.json:2:3 +0, 1\n"));
  EXPECT_THAT(text, testing::ContainsRegex(
                        "static_memory_policy +3 +--set, ge.exec.staticMemoryPolicy +0, 2, 3, 4"));
  EXPECT_THAT(
      text, testing::ContainsRegex("session_device_id +5 +environment ASCEND_DEVICE_ID +a whole"));
  EXPECT_THAT(text, testing::ContainsRegex("graph_run_mode +0 +default +0, 1"));
  EXPECT_THAT(text, testing::ContainsRegex("ge.topoSortingMode +not set +default +0, 1"));
}

TEST(EffectiveConfigTest, JsonHasEveryOptionWithValueKeyAndOrigin) {
  const auto effective = ResolveTexts({"dynamic_inputs_shape_range=data:[1]"});
  ASSERT_TRUE(effective.ok());
  const auto rows = nlohmann::json::parse(EffectiveConfigJson(*effective));
  EXPECT_EQ(rows.size(), OptionTable().size());
  EXPECT_TRUE(rows["ge.topoSortingMode"]["value"].is_null());
  EXPECT_EQ(rows["input_fusion_size"]["value"], "131072");
  EXPECT_EQ(rows["input_fusion_size"]["origin"], "default");
  EXPECT_EQ(rows["dynamic_inputs_shape_range"]["value"], "data:[1]");
  EXPECT_EQ(rows["dynamic_inputs_shape_range"]["acts"], false);
}

TEST(EffectiveConfigTest, TextThatIsNoUtf8DoesNotBreakJson) {
  const auto effective = ResolveTexts({"ASCEND_WORK_PATH=/\xff"});
  ASSERT_TRUE(effective.ok());
  EXPECT_EQ(nlohmann::json::parse(EffectiveConfigJson(*effective))["ASCEND_WORK_PATH"]["value"],
            "/\xef\xbf\xbd");
}

}  // namespace effective_config_test
}  // namespace plimsoll::config
