#include "plimsoll/base/log.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <iostream>
#include <string>
#include <vector>

namespace plimsoll {
namespace log_test {

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

TEST(LogTest, AfterACaptureLinesGoToItNoMore) {
  int lines = 0;
  {
    const LogCapture capture([&](LogLevel, std::string_view) { ++lines; });
  }
  testing::internal::CaptureStderr();
  Log(LogLevel::kError, "told");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "plimsoll ERROR: told\n");
  EXPECT_EQ(lines, 0);
}

// In a process of its own: the level is read once.
TEST(LogDeathTest, LinesBelowTheLevelOfTheEnvironmentAreDropped) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  struct Case {
    const char* level;  // null: not set
    const char* lines;
  };
  for (const Case& c : {Case{"debug", "^plimsoll debug: a.*info: b.*warning: c.*ERROR: d"},
                        Case{"info", "^plimsoll info: b.*warning: c.*ERROR: d"},
                        Case{nullptr, "^plimsoll warning: c.*ERROR: d"},
                        Case{"nonsense", "^plimsoll warning: c.*ERROR: d"},
                        Case{"error", "^plimsoll ERROR: d"}, Case{"silent", "^"}}) {
    if (c.level == nullptr) {
      unsetenv("PLIMSOLL_LOG");
    } else {
      setenv("PLIMSOLL_LOG", c.level, 1);
    }
    EXPECT_EXIT(
        {
          Log(LogLevel::kDebug, "a");
          Log(LogLevel::kInfo, "b");
          Log(LogLevel::kWarning, "c");
          Log(LogLevel::kError, "d");
          Log(LogLevel::kSilent, "never");
          std::cerr << "end";
          _exit(0);
        },
        testing::ExitedWithCode(0), std::string(c.lines) + "[\n]*end$");
  }
  unsetenv("PLIMSOLL_LOG");
}

TEST(LogTest, ATerminalHasColorUnlessItIsRefused) {
  const int terminal = posix_openpt(O_RDWR | O_NOCTTY);
  if (terminal < 0) GTEST_SKIP() << "this system gives no pseudo terminal";
  unsetenv("NO_COLOR");
  EXPECT_TRUE(ColorAllowed(terminal));
  setenv("NO_COLOR", "", 1);
  EXPECT_TRUE(ColorAllowed(terminal)) << "an empty value refuses nothing";
  setenv("NO_COLOR", "1", 1);
  EXPECT_FALSE(ColorAllowed(terminal));
  unsetenv("NO_COLOR");
  close(terminal);
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

}  // namespace log_test
}  // namespace plimsoll
