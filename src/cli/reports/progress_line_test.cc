#include "cli/reports/progress_line.h"

#include <gtest/gtest.h>

#include "engine/api/feature_map_lives.h"
#include "engine/models_for_tests.h"
#include "engine/session.h"
#include "engine/session_for_tests.h"

// What a terminal shows while runs go on; tests/check_cli.py looks at one.
namespace plimsoll::cli {
namespace progress_line_test {

TEST(ProgressLineTest, TellsRunsTimeBytesAndTheLastMoments) {
  const Progress progress{.run = 2,
                          .runs = 20,
                          .of_run = 0.5,
                          .live = {KiB(0), KiB(512), MiB(1)},
                          .planned = MiB(1),
                          .seconds = 5};
  EXPECT_EQ(ProgressText(progress, 80), "run 3 of 20  35 s left  live 1 MiB of 1 MiB planned  ▁▅█");
}

TEST(ProgressLineTest, LeavesOutWhatIsNotKnownOrFindsNoRoom) {
  Progress progress{.run = 0, .runs = 5, .live = {KiB(1)}, .planned = KiB(2), .seconds = 1};
  EXPECT_EQ(ProgressText(progress, 80), "run 1 of 5  live 1 KiB of 2 KiB planned  ▅");
  EXPECT_EQ(ProgressText(progress, 41), "run 1 of 5  live 1 KiB of 2 KiB planned");
  EXPECT_EQ(ProgressText(progress, 20), "run 1 of 5  ▅");
  progress.live.clear();
  progress.run = 4;
  progress.seconds = 8 * 3600;
  EXPECT_EQ(ProgressText(progress, 80), "run 5 of 5  2 h 0 min left");
}

TEST(ProgressLineTest, TellsTheTimeWhereNobodyKnowsTheEnd) {
  const Progress step{.what = "step", .run = 0, .runs = 5, .planned = {}, .seconds = 1};
  EXPECT_EQ(ProgressText(step, 80), "step 1 of 5");
  const Progress search{.what = "planning", .run = 0, .runs = 0, .planned = {}, .seconds = 11.5};
  EXPECT_EQ(ProgressText(search, 80), "planning  12 s, Ctrl-C for the best so far");
}

TEST(ProgressLineTest, TheWaterlineOfAProgramIsThatOfItsPlan) {
  const auto session = engine::MakeSession({});
  const engine::GraphId id = engine::MustAdd(*session, engine::ConvolutionalNetwork());
  const std::vector<kernels::HostTensor> inputs = {engine::Random({1, 3, 20, 20}, 1)};
  const auto executable = session->Compile(id, engine::Views(inputs));
  ASSERT_TRUE(executable.ok() && *executable != nullptr);
  const ProgramWaterline waterline = WaterlineOf(**executable);
  EXPECT_EQ(waterline.live.size(), (*executable)->program().tasks.size());
  const engine::FeatureMapLives lives((*executable)->model().planned);
  const auto most = [](const std::vector<Bytes>& live) {
    return *std::max_element(live.begin(), live.end());
  };
  EXPECT_EQ(most(waterline.live), most(lives.waterline()));
  EXPECT_GE(waterline.planned, most(waterline.live));
}

}  // namespace progress_line_test
}  // namespace plimsoll::cli
