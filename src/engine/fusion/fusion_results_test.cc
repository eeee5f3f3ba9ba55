#include "engine/fusion/fusion_results.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <thread>

#include "engine/models_for_tests.h"
#include "engine/weights/file_replacement.h"
#include "engine/weights/weight_files_for_tests.h"
#include "onnx/wire/temporary_folder_for_tests.h"
#include "plimsoll/base/log.h"
#include "plimsoll/base/text.h"

namespace plimsoll::engine {
namespace fusion_results_test {

using compile::FusionCounts;
using compile::FusionPattern;
using config::CompileStat;
using Json = nlohmann::json;
using testing::HasSubstr;

// What the file holds; nothing where there is none. A file that is not whole is a failure.
std::optional<Json> ReadResults(const std::filesystem::path& path) {
  std::ifstream file(path);
  if (!file) return std::nullopt;
  Json json = Json::parse(file, nullptr, false);
  EXPECT_FALSE(json.is_discarded()) << path;
  return json;
}

class FusionResultsTest : public testing::Test {
 protected:
  // Compiles a network in a session of the process it is called in.
  void CompileNetwork(CompileStat when, const std::string& work_path = {},
                      const std::optional<config::FusionSwitches>& switches = {}) const {
    SessionOptions options;
    options.config.export_compile_stat = when;
    options.config.work_path = work_path;
    options.config.fusion_switches = switches;
    const auto session = MakeSession(options);
    const GraphId id = MustAdd(*session, ConvolutionalNetwork());
    const auto compiled = session->Compile(id, Views({Random({1, 3, 20, 20}, 1)}));
    EXPECT_TRUE(compiled.ok());
  }

  // Does it in a process that then ends by itself.
  template <typename Work>
  void InProcess(const Work& work) const {
    const pid_t child = fork();
    if (child == 0) {
      std::filesystem::current_path(folder_.path());
      work();
      std::exit(testing::Test::HasFailure() ? 1 : 0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  }

  std::optional<Json> Results() const { return ReadResults(folder_.path() / "fusion_result.json"); }

  onnx::TemporaryFolder folder_;
};

TEST_F(FusionResultsTest, R159_WrittenNeverAtTheEndOrAfterCompilation) {
  InProcess([&] { CompileNetwork(CompileStat::kNever); });
  EXPECT_FALSE(Results());
  InProcess([&] {
    CompileNetwork(CompileStat::kAtExit);
    EXPECT_FALSE(Results()) << "the process has not ended";
  });
  EXPECT_TRUE(Results());
  std::filesystem::remove(folder_.path() / "fusion_result.json");
  InProcess([&] {
    CompileNetwork(CompileStat::kAfterCompilation);
    EXPECT_TRUE(Results());
  });
}

TEST_F(FusionResultsTest, R160_AKilledProcessLeavesAFileOnlyWhereItIsWrittenAfterCompilation) {
  for (const CompileStat when : {CompileStat::kAtExit, CompileStat::kAfterCompilation}) {
    WaitingProcess process([&] {
      std::filesystem::current_path(folder_.path());
      CompileNetwork(when);
    });
    process.Kill();
    EXPECT_EQ(Results().has_value(), when == CompileStat::kAfterCompilation);
  }
  EXPECT_EQ(Results()->size(), 1);
}

TEST_F(FusionResultsTest, R161_R162_ItTellsMatchesAndEffectsByGroupAndPattern) {
  InProcess([&] { CompileNetwork(CompileStat::kAtExit); });
  const std::optional<Json> results = Results();
  ASSERT_TRUE(results);
  ASSERT_EQ(results->size(), 1);
  EXPECT_THAT(results->begin().key(), testing::MatchesRegex("session_and_graph_id_[0-9]+_0"));
  const Json& graph = *results->begin();
  EXPECT_EQ(graph.size(), 2);
  int declined = 0;
  for (const char* group : {"graph_fusion", "ub_fusion"}) {
    ASSERT_TRUE(graph.contains(group));
    EXPECT_FALSE(graph[group].empty());
    for (const Json& pattern : graph[group]) {
      EXPECT_GT(pattern["match_times"], 0);
      EXPECT_LE(pattern["effect_times"], pattern["match_times"]);
      EXPECT_EQ(pattern.contains("repository_hit_times"), std::string(group) == "ub_fusion");
      declined += pattern["match_times"].get<int>() - pattern["effect_times"].get<int>();
    }
  }
  EXPECT_EQ(graph["graph_fusion"]["ConvBatchnormFusionPass"]["effect_times"], 1);
  EXPECT_EQ(graph["ub_fusion"]["ConvAddFusionPass"]["effect_times"], 1);
  EXPECT_GT(declined, 0) << "the network's sum has two readers";
}

TEST_F(FusionResultsTest, R163_AWorkPathHasAFolderForFilesThatCarryTheProcessId) {
  const std::filesystem::path work = folder_.path() / "work";
  std::filesystem::create_directory(work);
  EXPECT_EQ(FusionResultPath(work.string()),
            (work / "FE" / StrCat(getpid(), "fusion_result.json")).string());
  EXPECT_EQ(FusionResultPath(""),
            (std::filesystem::current_path() / "fusion_result.json").string());
  InProcess([&] { CompileNetwork(CompileStat::kAtExit, work.string()); });
  EXPECT_FALSE(Results());
  size_t files = 0;
  for (const auto& file : std::filesystem::directory_iterator(work / "FE")) {
    EXPECT_THAT(file.path().filename().string(), testing::MatchesRegex("[0-9]+fusion_result.json"));
    EXPECT_TRUE(ReadResults(file.path()));
    ++files;
  }
  EXPECT_EQ(files, 1);
}

TEST_F(FusionResultsTest, R164_PatternsThatAreOffAreNotInTheFile) {
  config::FusionSwitches switches;
  switches.graph_fusion.patterns = {{"ConvBatchnormFusionPass", false}};
  switches.ub_fusion = {.all_off = true, .patterns = {{"ConvAddFusionPass", true}}};
  InProcess([&] { CompileNetwork(CompileStat::kAtExit, {}, switches); });
  const Json graph = *Results()->begin();
  EXPECT_FALSE(graph["graph_fusion"].contains("ConvBatchnormFusionPass"));
  EXPECT_FALSE(graph["ub_fusion"].contains("ConvActivationFusionPass"));
  EXPECT_TRUE(graph["ub_fusion"].contains("ConvAddFusionPass"));
}

TEST_F(FusionResultsTest, R207_ASessionTellsWhichPatternsStayOn) {
  std::vector<std::string> lines;
  const LogCapture capture([&](LogLevel level, std::string_view line) {
    if (level == LogLevel::kWarning) lines.emplace_back(line);
  });
  SessionOptions options;
  options.config.fusion_switches.emplace().graph_fusion.all_off = true;
  const auto session = MakeSession(options);
  MustAdd(*session, ConvolutionalNetwork());
  MustAdd(*session, ConvolutionalNetwork());
  EXPECT_THAT(lines, testing::ElementsAre(HasSubstr("DeadCodePass")));
}

TEST_F(FusionResultsTest, SessionsOfOneProcessShareAFile) {
  InProcess([&] {
    CompileNetwork(CompileStat::kAtExit);
    CompileNetwork(CompileStat::kAfterCompilation);
    EXPECT_EQ(Results()->size(), 1) << "the first session's waits for the end";
  });
  EXPECT_EQ(Results()->size(), 2);
}

TEST_F(FusionResultsTest, WhatCannotBeWrittenIsAWarning) {
  std::vector<std::string> lines;
  const LogCapture capture([&](LogLevel level, std::string_view line) {
    if (level == LogLevel::kWarning) lines.emplace_back(line);
  });
  FusionResults results;
  const std::string nowhere = folder_.Write("file", "x").string() + "/fusion_result.json";
  results.Add(nowhere, CompileStat::kAfterCompilation, {0, 0}, FusionCounts());
  EXPECT_THAT(lines, testing::ElementsAre(HasSubstr("fusion_result.json")));
}

TEST_F(FusionResultsTest, AnotherWriterIsWaitedFor) {
  const std::string path = (folder_.path() / "fusion_result.json").string();
  std::optional<FileReplacement> other(*FileReplacement::Begin(path));
  std::thread writer([&] {
    FusionResults results;
    results.Add(path, CompileStat::kAfterCompilation, {1, 2}, FusionCounts());
  });
  EXPECT_TRUE(other->WriteAt(0, std::as_bytes(std::span("{}", 2))).ok());
  EXPECT_TRUE(other->Commit().ok());
  other.reset();
  writer.join();
  EXPECT_TRUE(Results()->contains("session_and_graph_id_1_2"));
}

}  // namespace fusion_results_test
}  // namespace plimsoll::engine
