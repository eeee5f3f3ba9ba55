#include "engine/tuning/tuning_repository.h"

#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>

#include "engine/models_for_tests.h"
#include "engine/tuning/open_tuning.h"
#include "onnx/wire/temporary_folder_for_tests.h"
#include "plimsoll/base/log.h"

namespace plimsoll::engine {
namespace tuning_repository_test {

namespace fs = std::filesystem;
using compile::Candidate;
using compile::TunedChoice;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class TuningRepositoryTest : public testing::Test {
 protected:
  std::shared_ptr<TuningRepository> Open() const {
    auto opened = TuningRepository::Open(folder_.path().string());
    EXPECT_TRUE(opened.ok());
    return *opened;
  }
  std::string FileText() const {
    std::ifstream file(folder_.path() / "plimsoll_tuning.json");
    return {std::istreambuf_iterator<char>(file), {}};
  }

  onnx::TemporaryFolder folder_;
  std::vector<std::string> warnings_;
  LogCapture capture_{[this](LogLevel level, std::string_view line) {
    if (level == LogLevel::kWarning) warnings_.emplace_back(line);
  }};
};

TEST_F(TuningRepositoryTest, WhatIsKeptIsFoundByALaterRepository) {
  EXPECT_EQ(Open()->Find("a"), std::nullopt);
  Open()->Keep({{"a", "node 1", "unpacked", 1.5}, {"b", "node 2", "", 1}});
  EXPECT_EQ(Open()->Find("a"), "unpacked");
  EXPECT_EQ(Open()->Find("b"), "");
  EXPECT_EQ(Open()->Find("c"), std::nullopt);
  EXPECT_THAT(warnings_, IsEmpty());
}

TEST_F(TuningRepositoryTest, R239_TheFolderMustExistAndIsNotMade) {
  const fs::path missing = folder_.path() / "missing";
  const auto opened = TuningRepository::Open(missing.string());
  ASSERT_FALSE(opened.ok());
  EXPECT_EQ(opened.error().code, "tuning.work_path");
  EXPECT_THAT(opened.error().Text(), HasSubstr(missing.string()));
  EXPECT_FALSE(fs::exists(missing));
  EXPECT_FALSE(TuningRepository::Open(folder_.Write("file", "x").string()).ok());
  SessionOptions options;
  options.config.aoe.mode = config::AoeSettings::Mode::kOperator;
  options.config.aoe.work_path = missing.string();
  EXPECT_EQ(CodeOf(Session::Create(options).status()), "tuning.work_path");
}

TEST_F(TuningRepositoryTest, R239_R240_WithoutAPathItIsTheCurrentFolderAndPathsCountFromThere) {
  const fs::path before = fs::current_path();
  fs::create_directory(folder_.path() / "inner");
  fs::current_path(folder_.path());
  EXPECT_EQ((*TuningRepository::Open(""))->path(),
            (fs::current_path() / "plimsoll_tuning.json").string());
  EXPECT_EQ((*TuningRepository::Open("inner"))->path(),
            (fs::current_path() / "inner" / "plimsoll_tuning.json").string());
  EXPECT_EQ((*TuningRepository::Open((folder_.path() / "inner").string()))->path(),
            (folder_.path() / "inner" / "plimsoll_tuning.json").string());
  fs::current_path(before);
}

TEST_F(TuningRepositoryTest, ADamagedFileIsNotUsedAndIsReplaced) {
  Open()->Keep({{"a", "node 1", "unpacked", 1.5}});
  const std::string whole = FileText();
  std::string changed = whole;
  changed.replace(changed.find("unpacked"), 8, "in place");
  for (const std::string& damaged :
       {changed, whole.substr(0, whole.size() / 2), std::string("[]"), std::string("{}"),
        std::string(R"({"format": 2, "choices": [], "checksum": ""})"), std::string()}) {
    warnings_.clear();
    folder_.Write("plimsoll_tuning.json", damaged);
    EXPECT_EQ(Open()->Find("a"), std::nullopt) << damaged;
    EXPECT_THAT(warnings_, ElementsAre(HasSubstr("damaged"))) << damaged;
  }
  Open()->Keep({{"b", "node 2", "by rows", 1.1}});
  warnings_.clear();
  EXPECT_EQ(Open()->Find("b"), "by rows");
  EXPECT_THAT(warnings_, IsEmpty());
}

TEST_F(TuningRepositoryTest, TwoProcessesAddToOneFile) {
  const auto mine = Open();
  const pid_t child = fork();
  if (child == 0) {
    for (int i = 0; i < 20; ++i) Open()->Keep({{StrCat("theirs", i), "", "x", 1}});
    _exit(warnings_.empty() ? 0 : 1);
  }
  for (int i = 0; i < 20; ++i) mine->Keep({{StrCat("mine", i), "", "y", 1}});
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  const auto both = Open();
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(both->Find(StrCat("theirs", i)), "x");
    EXPECT_EQ(both->Find(StrCat("mine", i)), "y");
  }
  EXPECT_THAT(warnings_, IsEmpty());
}

TEST_F(TuningRepositoryTest, WhatCannotBeWrittenIsAWarningAndIsUsedAllTheSame) {
  const auto repository = Open();
  fs::create_directory(folder_.path() / "plimsoll_tuning.json");
  repository->Keep({{"a", "node 1", "unpacked", 1.5}});
  EXPECT_EQ(warnings_.size(), 1);
  EXPECT_EQ(repository->Find("a"), "unpacked");
}

TEST_F(TuningRepositoryTest, R236_R237_Mode4AnswersThatThereIsNothingToSplit) {
  config::AoeSettings settings;
  settings.mode = config::AoeSettings::Mode::kGradientSplit;
  const auto options = OpenTuning(settings);
  ASSERT_TRUE(options.ok());
  EXPECT_EQ(options->store, nullptr);
  EXPECT_THAT(warnings_, ElementsAre(HasSubstr("no gradients to split")));
}

TEST_F(TuningRepositoryTest, WithoutModeAndPathNothingIsLookedFor) {
  const auto options = OpenTuning({});
  ASSERT_TRUE(options.ok());
  EXPECT_EQ(options->store, nullptr);
}

// A session that tunes, with made-up times: whatever is not the first candidate is twice as fast.
std::unique_ptr<Session> TuningSession(const std::string& folder, config::AoeSettings::Mode mode,
                                       int* measured) {
  SessionOptions options;
  options.config.aoe.mode = mode;
  options.config.aoe.work_path = folder;
  options.load.tuning = *OpenTuning(options.config.aoe);
  options.load.tuning.stopwatch =
      [measured](std::span<const Candidate> candidates) -> Result<std::vector<double>> {
    ++*measured;
    std::vector<double> seconds(candidates.size(), 0.5);
    seconds[0] = 1;
    for (const Candidate& candidate : candidates) PLIMSOLL_TRY(candidate.run());
    return seconds;
  };
  return MakeSession(options);
}

TEST_F(TuningRepositoryTest, R236_TunedModelsGiveTheSameResultsAndLaterSessionsTuneNothing) {
  SKIP_UNLESS_HOST_REACHES_DEVICE();
  const kernels::HostTensor x = Random({1, 3, 20, 20}, 5);
  const auto plain = MakeSession();
  const GraphId plain_id = MustAdd(*plain, ConvolutionalNetwork());
  const std::vector<kernels::HostTensor> expected = MustRun(*plain, plain_id, {x});
  const Bytes plain_peak = plain->Memory(plain_id)->planned_peak;
  for (const auto mode :
       {config::AoeSettings::Mode::kSubgraph, config::AoeSettings::Mode::kOperator}) {
    for (const bool later : {false, true}) {
      int measured = 0;
      const auto session = TuningSession(folder_.path().string(), mode, &measured);
      const GraphId id = MustAdd(*session, ConvolutionalNetwork());
      ExpectClose(MustRun(*session, id, {x})[0], expected[0]);
      EXPECT_LE(session->Memory(id)->planned_peak, plain_peak);
      EXPECT_EQ(measured > 0, !later);
    }
  }
  EXPECT_THAT(FileText(), HasSubstr("checksum"));
}

TEST_F(TuningRepositoryTest, APlanIsThatOfTheTunedRunAndMeasuresNothing) {
  SKIP_UNLESS_HOST_REACHES_DEVICE();
  const auto inputs = Views({Random({1, 3, 20, 20}, 5)});
  SessionOptions options;
  options.load.only_plan = true;
  options.config.aoe.work_path = folder_.path().string();
  options.config.aoe.mode = config::AoeSettings::Mode::kOperator;
  const auto planned_arena = [&] {
    const auto session = MakeSession(options);
    const GraphId id = MustAdd(*session, ConvolutionalNetwork());
    const auto plan = session->Compile(id, inputs);
    EXPECT_TRUE(plan.ok());
    return (*plan)->program().arena;
  };
  planned_arena();
  EXPECT_EQ(FileText(), "");
  int measured = 0;
  const auto session =
      TuningSession(folder_.path().string(), config::AoeSettings::Mode::kOperator, &measured);
  const auto run = session->Compile(MustAdd(*session, ConvolutionalNetwork()), inputs);
  ASSERT_TRUE(run.ok());
  ASSERT_GT(measured, 0);
  EXPECT_EQ(planned_arena(), (*run)->program().arena);
}

}  // namespace tuning_repository_test
}  // namespace plimsoll::engine
