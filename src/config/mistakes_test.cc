#include "config/mistakes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "config/files/config_file.h"
#include "config/resolving_for_tests.h"

namespace plimsoll::config {
namespace mistakes_test {

using testing::HasSubstr;

TEST(MistakesTest, NoneIsSuccessOneIsItselfAndSeveralAreNumbered) {
  Mistakes mistakes;
  EXPECT_TRUE(mistakes.ToStatus().ok());
  mistakes.Add(Error{ErrorKind::kBadFile, "a.b", "first", "here", "so", "mend it"});
  EXPECT_EQ(mistakes.ToStatus().error().Text(), "first: here: so; mend it [a.b]");
  mistakes.Add(Error{ErrorKind::kUsage, "c.d", "second", {}, {}, {}});
  const Error both = mistakes.ToStatus().error();
  EXPECT_EQ(both.kind, ErrorKind::kBadFile);
  EXPECT_EQ(both.code, "config.mistakes");
  EXPECT_EQ(both.why, "\n  1. first: here: so; mend it [a.b]\n  2. second [c.d]");
}

TEST(MistakesTest, AHundredAreKeptAndAllAreCounted) {
  Mistakes mistakes;
  for (int i = 0; i < 103; ++i) mistakes.Add(Error{ErrorKind::kUsage, "x.y", "bad", {}, {}, {}});
  EXPECT_EQ(mistakes.all().size(), 100u);
  Mistakes more;
  more.Add(mistakes);
  EXPECT_EQ(more.size(), 103u);
  EXPECT_EQ(more.ToStatus().error().what, "103 mistakes in the configuration");
  EXPECT_THAT(more.ToStatus().error().why, HasSubstr("and 3 more"));
}

TEST(MistakesTest, AConfigurationWithTenMistakesReportsAllTen) {
  auto settings = ParseConfigText(R"({
  "graph_run_mode": 7,
  "determinstic": 1,
  "memory_config": {"static_memory_policy": 5, "deterministic": 1},
  "deterministic": {},
  "input_fusion_size": -1,
  "fusion_switch_file": "/nowhere at all.cfg"
})",
                                  "run.json");
  ASSERT_TRUE(settings.ok()) << settings.error().Text();
  settings->Add({"hccl_timeout", "0", {Origin::Layer::kCommandLine, "--set"}});
  settings->Add({"variable_placement", "Host", {Origin::Layer::kCommandLine, "--set"}});
  const auto refused = MakeEffectiveConfig(*settings, EnvironmentOf({{"AOE_MODE", "3"}}));
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().what, "10 mistakes in the configuration");
  for (const char* part :
       {"deterministic is no option of memory_config", "run.json:5:3: deterministic is a map",
        "graph_run_mode (run.json:2:3): 7 is not legal; legal: 0, 1",
        "unknown option: 'determinstic' (run.json:3:3); did you mean deterministic?",
        "static_memory_policy (run.json:4:21): 5 is not legal",
        "input_fusion_size (run.json:6:3): -1 is not legal",
        "fusion_switch_file (run.json:7:3): '/nowhere at all.cfg' holds ' '",
        "hccl_timeout (--set): '0' is not legal", "AOE_MODE (environment): '3' is not legal",
        "variable_placement=Host (--set) and mix_compile_mode=False (default)"}) {
    EXPECT_THAT(refused.error().why, HasSubstr(part));
  }
}

TEST(MistakesTest, NothingIsSaidOfWhatGoesWithARefusedValue) {
  const std::string told =
      Outcome(ResolveTexts({"variable_placement=Host", "mix_compile_mode=Tru"}));
  EXPECT_EQ(told,
            "option refused: mix_compile_mode (--set): 'Tru' is not legal; legal: True, False "
            "[config.value]");
}

}  // namespace mistakes_test
}  // namespace plimsoll::config
