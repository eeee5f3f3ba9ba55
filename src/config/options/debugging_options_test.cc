#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "config/options/option_table.h"
#include "config/resolving_for_tests.h"

namespace plimsoll::config {
namespace debugging_options_test {

using testing::HasSubstr;
using testing::Not;
using Mode = ExceptionDump::Mode;

const RunConfig Accepted(const std::vector<std::string>& texts, const Variables& variables = {}) {
  const LogCapture quiet([](LogLevel, std::string_view) {});
  const auto resolved = ResolveTexts(texts, variables);
  EXPECT_TRUE(resolved.ok()) << Outcome(resolved);
  return resolved.ok() ? resolved->config : RunConfig();
}

TEST(DebuggingOptionsTest, R131_ExceptionDumpIsOffCommonOrLiteAndLiteInsideAnNpuRunConfig) {
  EXPECT_EQ(Accepted({}).exception_dump.mode, Mode::kOff);
  EXPECT_EQ(Accepted({"enable_exception_dump=0"}).exception_dump.mode, Mode::kOff);
  EXPECT_EQ(Accepted({"enable_exception_dump=1"}).exception_dump.mode, Mode::kCommon);
  EXPECT_EQ(Accepted({"enable_exception_dump=2"}).exception_dump.mode, Mode::kLite);
  EXPECT_EQ(Resolve(Settings::NpuRunConfig(), EnvironmentOf({}))->exception_dump.mode, Mode::kLite);
  EXPECT_EQ(Outcome(ResolveTexts({"enable_exception_dump=3"})),
            "option refused: enable_exception_dump (--set): '3' is not legal; legal: 0, 1, 2 "
            "[config.value]");
}

TEST(DebuggingOptionsTest, LiteDumpsGoBelowTheWorkFolderAndCommonOnesDoNot) {
  const Variables work = {{"ASCEND_WORK_PATH", "/work/here"}};
  EXPECT_EQ(Accepted({"enable_exception_dump=2"}, work).exception_dump.folder, "/work/here");
  EXPECT_EQ(Accepted({"enable_exception_dump=2"}).exception_dump.folder, "");
  EXPECT_EQ(Accepted({"enable_exception_dump=1"}, work).exception_dump.folder, "");
}

TEST(DebuggingOptionsTest, R103_R136_TheCollectPathRulesOverTheOption) {
  const Variables collect = {{"NPU_COLLECT_PATH", "/collect"}};
  for (const char* given : {"enable_exception_dump=0", "enable_exception_dump=2"}) {
    EXPECT_EQ(Accepted({given}, collect).exception_dump,
              (ExceptionDump{Mode::kCommon, "/collect"}));
    EXPECT_THAT(NotesOf({given}, collect),
                HasSubstr("enable_exception_dump has no effect: NPU_COLLECT_PATH is set"));
  }
  EXPECT_EQ(Accepted({}, collect).exception_dump, (ExceptionDump{Mode::kCommon, "/collect"}));
}

TEST(DebuggingOptionsTest, R137_TheValueIsThePathOfAFileAndNotTheListItself) {
  EXPECT_THAT(
      Outcome(ResolveTexts({"op_debug_config=oom"})),
      HasSubstr("option refused: op_debug_config (--set): 'oom': No such file or directory; "
                "legal: the path of a .cfg file, not the list itself"));
  const FolderForTests folder;
  const std::string file = folder.Write("test0.cfg", "op_debug_config = ccec_g,oom\n");
  const RunConfig config = Accepted({"op_debug_config=" + file});
  ASSERT_TRUE(config.op_debug_config);
  EXPECT_TRUE(config.op_debug_config->oom && config.op_debug_config->ccec_g);
  EXPECT_TRUE(config.oom_check.enabled);
  const std::string bad = folder.Write("bad.cfg", "\nop_debug_config = ooms\n");
  EXPECT_THAT(Outcome(ResolveTexts({"op_debug_config=" + bad})),
              HasSubstr(StrCat("option refused: op_debug_config (--set), ", bad,
                               ":2:1: 'ooms' is none of oom, dump_bin")));
}

TEST(DebuggingOptionsTest, TheListLimitsTheChecks) {
  const FolderForTests folder;
  const std::string file = folder.Write(
      "test0.cfg", "op_debug_config= ccec_g,oom\nop_debug_list=GatherV2,opType::ReduceSum\n");
  const OomCheck check = Accepted({"op_debug_config=" + file}).oom_check;
  ASSERT_TRUE(check.enabled && check.operators);
  EXPECT_TRUE(check.operators->Holds("GatherV2", "Gather"));
  EXPECT_FALSE(check.operators->Holds("a", "Add"));
}

TEST(DebuggingOptionsTest, R147_OomWithoutOptimisationIsRefused) {
  const FolderForTests folder;
  const std::string file = folder.Write("test0.cfg", "op_debug_config = ccec_O0,ccec_g,oom\n");
  EXPECT_THAT(Outcome(ResolveTexts({"op_debug_config=" + file})),
              HasSubstr(file + ":1:1: ccec_O0 and oom do not go together"));
}

TEST(DebuggingOptionsTest, R148_OomWithTheCollectPathIsRefused) {
  const FolderForTests folder;
  const std::string oom = "op_debug_config=" + folder.Write("oom.cfg", "op_debug_config=oom");
  const std::string cce = "op_debug_config=" + folder.Write("cce.cfg", "op_debug_config=dump_cce");
  EXPECT_THAT(Outcome(ResolveTexts({oom}, {{"NPU_COLLECT_PATH", "/c"}})),
              HasSubstr("NPU_COLLECT_PATH=/c (environment): oom does not work while "
                        "NPU_COLLECT_PATH is set; unset NPU_COLLECT_PATH"));
  Accepted({oom}, {{"NPU_COLLECT_PATH", ""}});
  Accepted({cce}, {{"NPU_COLLECT_PATH", "/c"}});
}

TEST(DebuggingOptionsTest, R149_OomWithDebugLevelTwoIsRefused) {
  const FolderForTests folder;
  const std::string oom = "op_debug_config=" + folder.Write("oom.cfg", "op_debug_config=oom");
  EXPECT_THAT(Outcome(ResolveTexts({oom, "op_debug_level=2"})),
              HasSubstr("op_debug_level=2 (--set): oom does not go with op_debug_level 2"));
  for (const char* level : {"0", "1", "3", "4"}) Accepted({oom, StrCat("op_debug_level=", level)});
}

TEST(DebuggingOptionsTest, R150_CompilingForDebuggingWithDynamicShapesIsWarnedOf) {
  const FolderForTests folder;
  const std::string g = "op_debug_config=" + folder.Write("g.cfg", "op_debug_config=ccec_g");
  const std::string o0 = "op_debug_config=" + folder.Write("o.cfg", "op_debug_config=ccec_O0");
  const std::string oom = "op_debug_config=" + folder.Write("oom.cfg", "op_debug_config=oom");
  for (const std::string& file : {g, o0}) {
    for (const char* dynamic : {"compile_dynamic_mode=True", "dynamic_input=True"}) {
      EXPECT_THAT(NotesOf({file, dynamic}), HasSubstr("may grow too large to link"));
    }
    EXPECT_THAT(NotesOf({file}), Not(HasSubstr("too large")));
  }
  EXPECT_THAT(NotesOf({oom, "compile_dynamic_mode=True"}), Not(HasSubstr("too large")));
}

// Kernels are part of the program, so there is nothing to compile, keep or write.
TEST(DebuggingOptionsTest,
     R101_R142_R143_R144_R145_R146_R151_R152_R158_FilesOfKernelsAreAnsweredFor) {
  const FolderForTests folder;
  for (const char* option :
       {"dump_bin", "dump_cce", "dump_loc", "ccec_O0", "ccec_g", "check_flag"}) {
    const std::string file = folder.Write("o.cfg", StrCat("op_debug_config=", option));
    EXPECT_THAT(NotesOf({"op_debug_config=" + file, "debug_dir=" + folder.path()}),
                HasSubstr("have no effect: kernels are precompiled here"))
        << option;
  }
  EXPECT_THAT(std::string(FindOption("debug_dir")->meaning),
              HasSubstr("Kernels are precompiled here, so it holds no .o, .json and .cce files"));
}

TEST(DebuggingOptionsTest, R157_DebugFilesGoToTheOptionElseTheWorkFolderElseHere) {
  const Variables work = {{"ASCEND_WORK_PATH", "/work/here"}};
  EXPECT_EQ(Accepted({"debug_dir=/home/test"}, work).debug_dir, "/home/test");
  EXPECT_EQ(Accepted({}, work).debug_dir, "/work/here");
  EXPECT_EQ(Accepted({}).debug_dir, "");
}

TEST(DebuggingOptionsTest, R159_FusionStatisticsAreOffAtExitOrAfterCompilation) {
  EXPECT_EQ(Accepted({}).export_compile_stat, CompileStat::kNever);
  EXPECT_EQ(Accepted({"export_compile_stat=1"}).export_compile_stat, CompileStat::kAtExit);
  EXPECT_EQ(Accepted({"export_compile_stat=2"}).export_compile_stat,
            CompileStat::kAfterCompilation);
  EXPECT_EQ(Resolve(Settings::NpuRunConfig(), EnvironmentOf({}))->export_compile_stat,
            CompileStat::kAtExit);
  EXPECT_THAT(Outcome(ResolveTexts({"export_compile_stat=3"})), HasSubstr("legal: 0, 1, 2"));
}

}  // namespace debugging_options_test
}  // namespace plimsoll::config
