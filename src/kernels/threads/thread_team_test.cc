#include "kernels/threads/thread_team.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

namespace plimsoll::kernels::thread_team_test {
namespace {

struct Counts {
  explicit Counts(size_t parts) : of_part(parts) {}
  std::vector<std::atomic<int>> of_part;
};

ThreadTeam::Region Counting(Counts& counts, int threads) {
  return {.parts = static_cast<int>(counts.of_part.size()),
          .threads = threads,
          .body =
              [](int part, int, void* context) {
                static_cast<Counts*>(context)->of_part[static_cast<size_t>(part)].fetch_add(1);
              },
          .context = &counts};
}

TEST(ThreadTeamTest, EveryPartOfEveryRegionRunsOnce) {
  ThreadTeam team;
  for (const int parts : {1, 2, 3, 7, 16, kMostThreads, 5, 3000}) {
    for (const int threads : {1, 2, 4, 40}) {
      Counts counts(static_cast<size_t>(parts));
      for (int turn = 1; turn <= 20; ++turn) {
        ASSERT_TRUE(team.Run(Counting(counts, threads)));
        for (const auto& count : counts.of_part) ASSERT_EQ(count.load(), turn);
      }
    }
  }
}

// The first part of one lane waits for all parts but those that its thread has begun.
TEST(ThreadTeamTest, PartsOfAThreadThatIsLateAreTakenByTheOthers) {
  constexpr int kParts = 12;
  constexpr int kThreads = 3;
  for (const int late : {0, 4, 8}) {
    struct Lateness {
      int late;
      std::atomic<int> ended{0};
      std::atomic<bool> alone{false};
    } lateness{late};
    ThreadTeam team;
    ASSERT_TRUE(team.Run({.parts = kParts,
                          .threads = kThreads,
                          .body =
                              [](int part, int, void* context) {
                                Lateness& all = *static_cast<Lateness*>(context);
                                const auto end =
                                    std::chrono::steady_clock::now() + std::chrono::seconds(10);
                                while (part == all.late && all.ended < kParts - 1 && !all.alone) {
                                  std::this_thread::yield();
                                  if (std::chrono::steady_clock::now() > end) all.alone = true;
                                }
                                ++all.ended;
                              },
                          .context = &lateness}));
    EXPECT_FALSE(lateness.alone) << late;
  }
}

TEST(ThreadTeamTest, AThreadsNumberIsOnePartsAtATime) {
  constexpr int kParts = 64;
  struct Uses {
    std::array<std::atomic<int>, 4> of_thread{};
    std::atomic<int> wrong{0};
  } uses;
  ThreadTeam team;
  for (int turn = 0; turn < 200; ++turn) {
    ASSERT_TRUE(team.Run({.parts = kParts,
                          .threads = 4,
                          .body =
                              [](int, int thread, void* context) {
                                Uses& all = *static_cast<Uses*>(context);
                                if (thread < 0 || thread >= 4) {
                                  ++all.wrong;
                                  return;
                                }
                                std::atomic<int>& own = all.of_thread[static_cast<size_t>(thread)];
                                if (own.fetch_add(1) != 0) ++all.wrong;
                                std::this_thread::yield();
                                own.fetch_sub(1);
                              },
                          .context = &uses}));
  }
  EXPECT_EQ(uses.wrong, 0);
}

TEST(ThreadTeamTest, NoMoreThreadsThanRegionsHaveUseFor) {
  ThreadTeam team;
  Counts many(16);
  ASSERT_TRUE(team.Run(Counting(many, 1)));
  EXPECT_EQ(team.workers(), 0);
  ASSERT_TRUE(team.Run(Counting(many, 3)));
  EXPECT_EQ(team.workers(), 2);
  Counts two(2);
  ASSERT_TRUE(team.Run(Counting(two, 9)));
  EXPECT_EQ(team.workers(), 2);
}

TEST(ThreadTeamTest, PartsThatAreTogetherCanWaitForEachOther) {
  ThreadTeam team;
  for (int turn = 0; turn < 50; ++turn) {
    std::atomic<int> arrived{0};
    ASSERT_TRUE(team.Run({.parts = 5,
                          .threads = 1,
                          .together = true,
                          .body =
                              [](int, int, void* context) {
                                auto& count = *static_cast<std::atomic<int>*>(context);
                                count.fetch_add(1);
                                while (count.load() < 5) std::this_thread::yield();
                              },
                          .context = &arrived}));
  }
}

TEST(ThreadTeamTest, WorkersLeaveSignalsToTheProgramButThoseTheyRaiseThemselves) {
  struct Masks {
    std::array<sigset_t, 2> of_part;
    std::atomic<int> arrived{0};
  } masks;
  ThreadTeam team;
  ASSERT_TRUE(team.Run({.parts = 2,
                        .threads = 2,
                        .together = true,
                        .body =
                            [](int part, int, void* context) {
                              auto& all = *static_cast<Masks*>(context);
                              pthread_sigmask(SIG_BLOCK, nullptr,
                                              &all.of_part[static_cast<size_t>(part)]);
                              all.arrived.fetch_add(1);
                              while (all.arrived.load() < 2) std::this_thread::yield();
                            },
                        .context = &masks}));
  int takers = 0;
  for (const sigset_t& mask : masks.of_part) {
    takers += sigismember(&mask, SIGTERM) == 0 ? 1 : 0;
    for (const int own : {SIGILL, SIGBUS, SIGFPE, SIGSEGV}) EXPECT_EQ(sigismember(&mask, own), 0);
  }
  EXPECT_EQ(takers, 1) << "the caller alone";
}

TEST(ThreadTeamTest, WhatRegionsWriteIsSeenByTheNext) {
  ThreadTeam team;
  std::vector<int64_t> values(8, 1);
  struct Step {
    std::vector<int64_t>& values;
    std::vector<int64_t> sums;
  } step{values, std::vector<int64_t>(8)};
  for (int turn = 0; turn < 2000; ++turn) {
    step.sums.assign(8, 0);
    const auto sum = [](int part, int, void* context) {
      auto& s = *static_cast<Step*>(context);
      s.sums[static_cast<size_t>(part)] =
          std::accumulate(s.values.begin(), s.values.end(), int64_t{0}) % 1000 + part;
    };
    ASSERT_TRUE(team.Run({.parts = 8, .threads = 3, .body = sum, .context = &step}));
    const int64_t before = std::accumulate(values.begin(), values.end(), int64_t{0}) % 1000;
    for (size_t i = 0; i < 8; ++i) ASSERT_EQ(step.sums[i], before + static_cast<int64_t>(i));
    values = step.sums;
  }
}

TEST(ThreadTeamTest, RegionsAfterALongPauseWakeTheSleepers) {
  ThreadTeam team;
  Counts counts(4);
  for (int turn = 1; turn <= 5; ++turn) {
    ASSERT_TRUE(team.Run(Counting(counts, 4)));
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    for (const auto& count : counts.of_part) ASSERT_EQ(count.load(), turn);
  }
}

TEST(ThreadTeamTest, AProcessMadeByForkHasWorkersOfItsOwn) {
  ThreadTeam team;
  Counts counts(4);
  ASSERT_TRUE(team.Run(Counting(counts, 4)));
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);
    const bool ran = team.Run(Counting(counts, 4)) && team.workers() == 3;
    _exit(ran && counts.of_part[3] == 2 ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  ASSERT_TRUE(team.Run(Counting(counts, 4)));
  EXPECT_EQ(counts.of_part[3].load(), 2);
}

// The address sanitizer looks for leaks at its end.
TEST(ThreadTeamTest, AProcessMadeByForkEndsAsAnyOther) {
  ThreadTeam team;
  Counts counts(4);
  ASSERT_TRUE(team.Run(Counting(counts, 4)));
  EXPECT_EXIT(std::exit(0), testing::ExitedWithCode(0), "");
  EXPECT_EXIT(
      {
        team.Run(Counting(counts, 4));
        std::exit(0);
      },
      testing::ExitedWithCode(0), "");
}

// More than the caller wakes itself: sleepers must wake each other.
TEST(ThreadTeamTest, ManySleepersAreAllWokenForPartsThatAreTogether) {
  constexpr int kParts = 12;
  struct Meeting {
    std::atomic<int> arrived{0};
    std::atomic<int> alone{0};
  } meeting;
  ThreadTeam team;
  for (int turn = 1; turn <= 4; ++turn) {
    meeting.arrived = 0;
    ASSERT_TRUE(team.Run({.parts = kParts,
                          .threads = kParts,
                          .together = true,
                          .body =
                              [](int, int, void* context) {
                                Meeting& all = *static_cast<Meeting*>(context);
                                const auto end =
                                    std::chrono::steady_clock::now() + std::chrono::seconds(10);
                                ++all.arrived;
                                while (all.arrived < kParts) {
                                  std::this_thread::yield();
                                  if (std::chrono::steady_clock::now() < end) continue;
                                  ++all.alone;
                                  return;
                                }
                              },
                          .context = &meeting}));
    ASSERT_EQ(meeting.alone, 0) << turn;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
}

TEST(ThreadTeamTest, PinnedWorkersHaveOneProcessorEachUntilTheyAreFree) {
  cpu_set_t usable;
  ASSERT_EQ(sched_getaffinity(0, sizeof(usable), &usable), 0);
  struct Seen {
    std::array<cpu_set_t, 3> masks{};
    std::atomic<int> arrived{0};
  };
  ThreadTeam team;
  for (const bool pinned : {true, false, true}) {
    Seen seen;
    // They wait for each other, so that each is a thread's own.
    ASSERT_TRUE(team.Run({.parts = 3,
                          .threads = 3,
                          .together = true,
                          .pinned = pinned,
                          .body =
                              [](int part, int, void* context) {
                                Seen& all = *static_cast<Seen*>(context);
                                cpu_set_t& mask = all.masks[static_cast<size_t>(part)];
                                sched_getaffinity(0, sizeof(mask), &mask);
                                ++all.arrived;
                                while (all.arrived < 3) std::this_thread::yield();
                              },
                          .context = &seen}));
    EXPECT_TRUE(CPU_EQUAL(&seen.masks[0], &usable));
    for (const size_t worker : {1, 2}) {
      EXPECT_EQ(CPU_COUNT(&seen.masks[worker]), pinned ? 1 : CPU_COUNT(&usable)) << pinned;
    }
    if (pinned && CPU_COUNT(&usable) > 1) {
      EXPECT_FALSE(CPU_EQUAL(&seen.masks[1], &seen.masks[2]));
    }
  }
}

// In a process of its own, since the limit holds for all threads of the user.
TEST(ThreadTeamTest, WhereTheSystemRefusesThreadsThoseThatThereAreDoIt) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);
    if (setuid(61234) != 0) _exit(77);
    const rlimit few{3, 3};
    setrlimit(RLIMIT_NPROC, &few);
    ThreadTeam team;
    Counts counts(8);
    const bool ran = team.Run(Counting(counts, 8));
    auto together = Counting(counts, 8);
    together.together = true;
    const bool refused = !team.Run(together);
    bool once = true;
    for (const auto& count : counts.of_part) once = once && count == 1;
    _exit(ran && refused && once && team.workers() <= 2 ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  if (WEXITSTATUS(status) == 77) GTEST_SKIP() << "needs root";
  EXPECT_EQ(status, 0);
}

// How many threads of this process are workers, and how many of them sleep.
std::pair<int, int> WorkersAndSleepers() {
  std::pair<int, int> counts;
  for (const auto& thread : std::filesystem::directory_iterator("/proc/self/task")) {
    std::string text;
    std::getline(std::ifstream(thread.path() / "stat"), text);
    if (text.find("(plimsoll-") == std::string::npos) continue;
    ++counts.first;
    if (text.find(") S ") != std::string::npos) ++counts.second;
  }
  return counts;
}

TEST(ThreadTeamTest, IdleWorkersSleep) {
  ThreadTeam team;
  Counts counts(3);
  for (int turn = 0; turn < 100; ++turn) ASSERT_TRUE(team.Run(Counting(counts, 3)));
  auto [workers, sleepers] = WorkersAndSleepers();
  EXPECT_GE(workers, 2);
  while (sleepers < workers) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    std::tie(workers, sleepers) = WorkersAndSleepers();
  }
}

}  // namespace
}  // namespace plimsoll::kernels::thread_team_test
