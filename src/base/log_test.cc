#include "plimsoll/base/log.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <vector>

namespace plimsoll {
namespace {

TEST(LogTest, CaptureSeesEveryLevelInOrder) {
  std::vector<std::string> lines;
  {
    const LogCapture capture([&](LogLevel level, std::string_view line) {
      lines.push_back(std::to_string(static_cast<int>(level)) + std::string(line));
    });
    Log(LogLevel::kDebug, "a");
    Log(LogLevel::kError, "b");
  }
  EXPECT_EQ(lines, (std::vector<std::string>{"0a", "3b"}));
}

TEST(LogTest, NoColorAndPipesHaveNoColor) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  EXPECT_FALSE(ColorAllowed(ends[1]));
  setenv("NO_COLOR", "1", 1);
  EXPECT_FALSE(ColorAllowed(STDERR_FILENO));
  unsetenv("NO_COLOR");
  close(ends[0]);
  close(ends[1]);
}

}  // namespace
}  // namespace plimsoll
