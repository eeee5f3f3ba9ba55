#include "config/options/option_table.h"

#include <gtest/gtest.h>

#include <set>

#include "config/options/option_value.h"
#include "config/resolving_for_tests.h"

namespace plimsoll::config {
namespace option_table_test {

TEST(OptionTableTest, EveryKeyBelongsToOneRowAndEveryRowExplainsItself) {
  std::set<std::string_view> keys;
  for (const Option& option : OptionTable()) {
    EXPECT_TRUE(keys.insert(option.name).second) << option.name;
    for (const std::string_view key : option.other_keys) {
      EXPECT_TRUE(keys.insert(key).second) << key;
      EXPECT_EQ(FindOption(key), &option) << key;
    }
    EXPECT_EQ(FindOption(option.name), &option);
    EXPECT_FALSE(option.meaning.empty()) << option.name;
    EXPECT_FALSE(LegalText(option).empty()) << option.name;
    EXPECT_EQ(option.standing.acts(), option.standing.reason.empty()) << option.name;
  }
}

TEST(OptionTableTest, EveryDefaultIsLegalInItsRow) {
  for (const Option& option : OptionTable()) {
    for (const std::string_view text : {option.default_value, option.npu_run_config_default}) {
      if (text.empty()) continue;
      EXPECT_TRUE(CheckValue(option, std::string(text), option.name).ok()) << option.name;
    }
  }
}

TEST(OptionTableTest, ConflictsAndConditionsNameOtherRows) {
  for (const Option& option : OptionTable()) {
    for (const Conflict& conflict : option.conflicts) {
      EXPECT_NE(FindOption(conflict.other), nullptr) << option.name;
      EXPECT_FALSE(conflict.why.empty() || conflict.remedy.empty()) << option.name;
    }
    if (!option.condition) continue;
    const Option* other = FindOption(option.condition->other);
    ASSERT_NE(other, nullptr) << option.name;
    EXPECT_TRUE(CheckValue(*other, std::string(option.condition->value), other->name).ok());
  }
}

TEST(OptionTableTest, GivenNothingTheRowsSayWhatRunConfigSays) {
  const auto resolved = ResolveTexts({});
  ASSERT_TRUE(resolved.ok()) << resolved.error().Text();
  EXPECT_EQ(resolved->config, RunConfig());
  EXPECT_EQ(resolved->values.size(), OptionTable().size());
}

TEST(OptionTableTest, R37_TwoNamesOfOneOptionAreOneRowWithTwoKeys) {
  const Option* option = FindOption("static_memory_policy");
  ASSERT_NE(option, nullptr);
  EXPECT_EQ(FindOption("ge.exec.staticMemoryPolicy"), option);
  EXPECT_EQ(option->group, OptionGroup::kMemoryConfig);
}

TEST(OptionTableTest, R113_HelpOfDeterministicAsksForASeedToo) {
  const std::string_view help = FindOption("deterministic")->meaning;
  EXPECT_NE(help.find("random numbers are not fixed"), std::string_view::npos) << help;
  EXPECT_NE(help.find("seed"), std::string_view::npos) << help;
}

TEST(OptionTableTest, R19_HelpOfPolicies3And4NamesWhatTheyMayCost) {
  const std::string_view help = FindOption("static_memory_policy")->meaning;
  EXPECT_NE(help.find("3 and 4 save memory and may cost time"), std::string_view::npos) << help;
}

TEST(OptionTableTest, UnknownNamesGetTheNearestOne) {
  EXPECT_EQ(LookUpOption("static_memory_polcy", "--set").error().Text(),
            "unknown option: 'static_memory_polcy' (--set); did you mean static_memory_policy? "
            "[config.unknown]");
  EXPECT_EQ(LookUpOption("ge.exec.staticMemoryPolice", "--set").error().remedy,
            "did you mean ge.exec.staticMemoryPolicy?");
  EXPECT_EQ(LookUpOption("quux", "--set").error().Text(),
            "unknown option: 'quux' (--set); plimsoll options lists them all [config.unknown]");
  EXPECT_LT(LookUpOption(std::string(1 << 20, 'x'), "--set").error().Text().size(), 300u);
}

}  // namespace option_table_test
}  // namespace plimsoll::config
