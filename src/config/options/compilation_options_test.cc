#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "config/options/option_table.h"
#include "config/resolving_for_tests.h"

namespace plimsoll::config {
namespace compilation_options_test {

using testing::HasSubstr;
using testing::Not;
using Mode = CacheSettings::Mode;

RunConfig Accepted(const std::vector<std::string>& texts, const Variables& variables = {}) {
  const LogCapture quiet([](LogLevel, std::string_view) {});
  const auto resolved = ResolveTexts(texts, variables);
  EXPECT_TRUE(resolved.ok()) << Outcome(resolved);
  return resolved.ok() ? resolved->config : RunConfig();
}

TEST(CompilationOptionsTest, R236_AoeModesAreOneTwoAndFour) {
  EXPECT_EQ(Accepted({}).aoe.mode, AoeSettings::Mode::kOff);
  EXPECT_EQ(Accepted({"aoe_mode=1"}).aoe.mode, AoeSettings::Mode::kSubgraph);
  EXPECT_EQ(Accepted({"aoe_mode=2"}).aoe.mode, AoeSettings::Mode::kOperator);
  EXPECT_EQ(Accepted({"aoe_mode=4"}).aoe.mode, AoeSettings::Mode::kGradientSplit);
  for (const char* bad : {"0", "3", "5"}) {
    EXPECT_THAT(Outcome(ResolveTexts({StrCat("aoe_mode=", bad)})),
                HasSubstr("is not legal; legal: 1, 2, 4"));
  }
}

TEST(CompilationOptionsTest, R237_OneProcessHasNoGradientsToSplit) {
  EXPECT_THAT(
      NotesOf({"aoe_mode=4"}),
      HasSubstr("aoe_mode has no effect: there are no gradients to split in one process; by "
                "hand they are split by set_split_strategy_by_idx or "
                "set_split_strategy_by_size"));
  EXPECT_THAT(NotesOf({"aoe_mode=2"}), Not(HasSubstr("gradients")));
}

TEST(CompilationOptionsTest, R238_TheOptionWinsOverTheVariable) {
  EXPECT_EQ(Accepted({}, {{"AOE_MODE", "1"}}).aoe.mode, AoeSettings::Mode::kSubgraph);
  EXPECT_EQ(Accepted({"aoe_mode=2"}, {{"AOE_MODE", "1"}}).aoe.mode, AoeSettings::Mode::kOperator);
}

TEST(CompilationOptionsTest, R239_TheTuningFolderMustExistAndIsNotMade) {
  const FolderForTests folder;
  EXPECT_EQ(Accepted({}).aoe.work_path, "");
  EXPECT_EQ(Accepted({"work_path=" + folder.path()}).aoe.work_path, folder.path());
  const std::string missing = folder.path() + "/missing";
  EXPECT_EQ(Outcome(ResolveTexts({"work_path=" + missing})),
            StrCat("option refused: work_path (--set): '", missing,
                   "' is no folder; legal: a folder "
                   "that exists and can be read and written [config.value]"));
  EXPECT_FALSE(std::filesystem::exists(missing));
  EXPECT_THAT(Outcome(ResolveTexts({"work_path=" + folder.Write("file", "")})),
              HasSubstr("is no folder"));
  if (geteuid() != 0) {  // root reads everything
    std::filesystem::permissions(folder.path(), std::filesystem::perms::owner_read);
    EXPECT_THAT(Outcome(ResolveTexts({"work_path=" + folder.path()})),
                HasSubstr("cannot be read and written"));
    std::filesystem::permissions(folder.path(), std::filesystem::perms::owner_all);
  }
}

TEST(CompilationOptionsTest, R240_AFolderWithoutASlashInFrontLiesBelowTheCurrentOne) {
  const FolderForTests folder;
  std::filesystem::create_directory(folder.path() + "/output");
  const auto before = std::filesystem::current_path();
  std::filesystem::current_path(folder.path());
  EXPECT_EQ(Outcome(ResolveTexts({"work_path=output"})), "accepted");
  EXPECT_THAT(Outcome(ResolveTexts({"work_path=/output_of_nobody"})), HasSubstr("is no folder"));
  std::filesystem::current_path(before);
  EXPECT_THAT(Outcome(ResolveTexts({"work_path=output_of_nobody"})), HasSubstr("is no folder"));
}

TEST(CompilationOptionsTest, R246_FeaturesNeedTheirModes) {
  const FolderForTests folder;
  const std::string deeper =
      "aoe_config_file=" + folder.Write("d.cfg", R"({"feature": ["deeper_opat"]})");
  const std::string split =
      "aoe_config_file=" + folder.Write("s.cfg", R"({"feature": ["nonhomo_split"]})");
  EXPECT_TRUE(Accepted({deeper, "aoe_mode=2"}).aoe.deeper_opat);
  EXPECT_TRUE(Accepted({split, "aoe_mode=1"}).aoe.nonhomo_split);
  EXPECT_THAT(Outcome(ResolveTexts({deeper, "aoe_mode=1"})),
              HasSubstr("aoe_mode=1 (--set): the feature deeper_opat needs aoe_mode=2; set "
                        "aoe_mode=2"));
  EXPECT_THAT(Outcome(ResolveTexts({deeper})), HasSubstr("needs aoe_mode=2"));
  EXPECT_THAT(Outcome(ResolveTexts({split, "aoe_mode=2"})),
              HasSubstr("the feature nonhomo_split needs aoe_mode=1"));
}

TEST(CompilationOptionsTest, R247_TheCacheIsEnabledForcedOrDisabled) {
  EXPECT_EQ(FindOption("op_compiler_cache_mode")->default_value, "enable");
  const std::string dir = "op_compiler_cache_dir=/home/test/kernel_cache";
  EXPECT_EQ(Accepted({dir}).cache.mode, Mode::kEnable);
  EXPECT_EQ(Accepted({dir, "op_compiler_cache_mode=force"}).cache.mode, Mode::kForce);
  EXPECT_EQ(Accepted({dir, "op_compiler_cache_mode=disable"}).cache, CacheSettings());
  EXPECT_THAT(Outcome(ResolveTexts({"op_compiler_cache_mode=on"})),
              HasSubstr("legal: enable, force, disable"));
}

TEST(CompilationOptionsTest, R250_ForceWarnsOfOthersWhoShareTheFolder) {
  EXPECT_THAT(NotesOf({"op_compiler_cache_mode=force"}),
              HasSubstr("other programs that share the folder may lose what they use"));
  EXPECT_THAT(NotesOf({"op_compiler_cache_mode=enable"}), Not(HasSubstr("other programs")));
}

TEST(CompilationOptionsTest, R252_HelpRecommendsDisableOrForceForPublishing) {
  EXPECT_THAT(std::string(FindOption("op_compiler_cache_mode")->meaning),
              HasSubstr("disable or force is recommended for a model that is to be published"));
}

TEST(CompilationOptionsTest, R253_WithADebugLevelTheCacheIsOff) {
  const std::string dir = "op_compiler_cache_dir=/c";
  for (const char* level : {"1", "2", "3", "4"}) {
    const std::string debug = StrCat("op_debug_level=", level);
    EXPECT_EQ(Accepted({dir, "op_compiler_cache_mode=force", debug}).cache, CacheSettings());
    EXPECT_THAT(NotesOf({"op_compiler_cache_mode=force", debug}),
                HasSubstr("op_compiler_cache_mode has no effect: op_debug_level is not 0"));
  }
  EXPECT_EQ(Accepted({dir, "op_debug_level=0"}).cache.mode, Mode::kEnable);
}

TEST(CompilationOptionsTest, R254_WithADebugFileWithoutAListTheCacheIsOff) {
  const FolderForTests folder;
  const std::string file = "op_debug_config=" + folder.Write("d.cfg", "op_debug_config=oom");
  EXPECT_EQ(Accepted({"op_compiler_cache_dir=/c", file}).cache, CacheSettings());
  EXPECT_THAT(NotesOf({"op_compiler_cache_mode=enable", file}),
              HasSubstr("op_compiler_cache_mode has no effect: op_debug_config is given without "
                        "op_debug_list"));
}

TEST(CompilationOptionsTest, R255_WithAListOnlyThoseListedAreCompiledAgain) {
  const FolderForTests folder;
  const std::string file =
      "op_debug_config=" + folder.Write("d.cfg", "op_debug_config=oom\nop_debug_list=a,OpType::B");
  for (const char* mode : {"enable", "force"}) {
    const CacheSettings cache =
        Accepted({"op_compiler_cache_dir=/c", file, StrCat("op_compiler_cache_mode=", mode)}).cache;
    EXPECT_EQ(cache.mode, std::string(mode) == "force" ? Mode::kForce : Mode::kEnable);
    ASSERT_TRUE(cache.always_compiled);
    EXPECT_TRUE(cache.always_compiled->Holds("x", "B"));
    EXPECT_FALSE(cache.always_compiled->Holds("x", "C"));
  }
  EXPECT_EQ(
      Accepted({"op_compiler_cache_dir=/c", file, "op_compiler_cache_mode=disable"}).cache.mode,
      Mode::kDisable);
}

TEST(CompilationOptionsTest, R256_R265_R266_LimitsComeFromTheFileElseTheVariablesElseByDefault) {
  const FolderForTests folder;
  const std::string dir = "op_compiler_cache_dir=" + folder.path();
  const Variables variables = {{"ASCEND_MAX_OP_CACHE_SIZE", "700"},
                               {"ASCEND_REMAIN_CACHE_SIZE_RATIO", "30"}};
  EXPECT_EQ(Accepted({dir}).cache.limits, (CacheLimits{500, 50, false}));
  EXPECT_EQ(Accepted({dir}, variables).cache.limits, (CacheLimits{700, 30, true}))
      << "the variable's limit counts once it is reached";
  EXPECT_EQ(Accepted({dir}, {{"ASCEND_REMAIN_CACHE_SIZE_RATIO", "30"}}).cache.limits,
            (CacheLimits{500, 30, false}));
  EXPECT_FALSE(Accepted({dir}, {{"ASCEND_MAX_OP_CACHE_SIZE", "-1"}}).cache.limits.ages());
  folder.Write("op_cache.ini",
               "[op_compiler_cache]\nmax_op_cache_size=600\nremain_cache_size_ratio=80\n");
  EXPECT_EQ(Accepted({dir}, variables).cache.limits, (CacheLimits{600, 80, false}));
  EXPECT_THAT(
      Outcome(ResolveTexts({}, {{"ASCEND_REMAIN_CACHE_SIZE_RATIO", "101"}})),
      HasSubstr("ASCEND_REMAIN_CACHE_SIZE_RATIO (environment): '101' is not legal; legal: a "
                "whole number from 1 to 100"));
}

TEST(CompilationOptionsTest, R104_TheCacheFileIsReadBeforeTheVariables) {
  const FolderForTests folder;
  folder.Write("op_cache.ini",
               "[op_compiler_cache]\nmax_op_cache_size=10\nremain_cache_size_ratio=20\n");
  EXPECT_EQ(
      Accepted({"op_compiler_cache_dir=" + folder.path()}, {{"ASCEND_MAX_OP_CACHE_SIZE", "700"}})
          .cache.limits,
      (CacheLimits{10, 20, false}));
}

TEST(CompilationOptionsTest, R264_TheCacheFileActsOnEveryUserOfTheFolder) {
  const FolderForTests folder;
  folder.Write("op_cache.ini",
               "[op_compiler_cache]\nmax_op_cache_size=10\nremain_cache_size_ratio=20\n");
  for (const char* const size : {"1", "700"}) {
    const auto user =
        Accepted({"op_compiler_cache_dir=" + folder.path()}, {{"ASCEND_MAX_OP_CACHE_SIZE", size}});
    EXPECT_EQ(user.cache.limits, (CacheLimits{10, 20, false})) << size;
  }
}

TEST(CompilationOptionsTest, R259_OneBadValueVoidsTheFileWithAWarning) {
  const FolderForTests folder;
  folder.Write("op_cache.ini",
               "[op_compiler_cache]\nmax_op_cache_size=10\nremain_cache_size_ratio=0\n");
  std::vector<std::string> lines;
  const LogCapture capture([&](LogLevel, std::string_view line) { lines.emplace_back(line); });
  const auto resolved = ResolveTexts({"op_compiler_cache_dir=" + folder.path()});
  ASSERT_TRUE(resolved.ok());
  EXPECT_EQ(resolved->config.cache.limits, CacheLimits());
  EXPECT_THAT(
      Join(lines, "\n"),
      HasSubstr(StrCat("op_cache.ini does not count: ", folder.path(),
                       "/op_cache.ini:3:1: remain_cache_size_ratio=0 is not from 1 to 100")));
}

TEST(CompilationOptionsTest, R267_TheFolderIsTheOptionElseOfTheVariableElseBelowHome) {
  const Variables home = {{"HOME", "/home/me"}};
  const Variables both = {{"HOME", "/home/me"}, {"ASCEND_CACHE_PATH", "/cache"}};
  EXPECT_EQ(Accepted({"op_compiler_cache_dir=/here"}, both).cache.folder, "/here");
  EXPECT_THAT(Accepted({}, both).cache.folder,
              testing::MatchesRegex("/cache/kernel_cache_[0-9a-f]+"));
  EXPECT_EQ(Accepted({"op_compiler_cache_mode=enable"}, home).cache.folder, "/home/me/atc_data");
  EXPECT_EQ(Resolve(Settings::NpuRunConfig(), EnvironmentOf(home))->cache.folder,
            "/home/me/atc_data");
  EXPECT_EQ(Accepted({}, home).cache, CacheSettings()) << "no folder was named";
}

TEST(CompilationOptionsTest, R269_TheFolderOfTheCacheHasAPlainPath) {
  EXPECT_EQ(Outcome(ResolveTexts({"op_compiler_cache_dir=/a b"})),
            "option refused: op_compiler_cache_dir (--set): '/a b' holds ' '; legal: a path of "
            "letters, digits, _, -, . and / [config.value]");
  Accepted({"op_compiler_cache_dir=/home/test_1/kernel-cache.v2"});
}

TEST(CompilationOptionsTest, R101_R270_R271_R272_R273_KernelsArePrecompiledWhateverJitCompileSays) {
  for (const char* word : {"auto", "true", "false"}) {
    EXPECT_THAT(NotesOf({StrCat("jit_compile=", word)}),
                HasSubstr("jit_compile has no effect: kernels are precompiled here"));
  }
  Settings settings;
  settings.Set("jit_compile", true);
  EXPECT_TRUE(Resolve(settings, EnvironmentOf({})).ok()) << "as a truth value";
  EXPECT_EQ(FindOption("jit_compile")->default_value, "auto");
  EXPECT_THAT(Outcome(ResolveTexts({"jit_compile=yes"})), HasSubstr("legal: auto, true, false"));
  EXPECT_THAT(std::string(FindOption("jit_compile")->meaning),
              HasSubstr("large recommendation models"));
}

}  // namespace compilation_options_test
}  // namespace plimsoll::config
