#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "engine/run/executable.h"
#include "plimsoll/base/bytes.h"

namespace plimsoll::cli {

// What a program holds while it runs, task by task.
struct ProgramWaterline {
  std::vector<Bytes> live;  // by task
  Bytes planned;            // the plan's peak
};
ProgramWaterline WaterlineOf(const engine::Executable& executable);

// How far a command is.
struct Progress {
  std::string what = "run";      // is repeated
  int64_t run = 0;               // the one that goes on, from 0
  int64_t runs = 0;              // 0: nobody knows how long it takes
  double of_run = 0;             // how much of it is done, 0 to 1
  std::vector<Bytes> live = {};  // the last moments, the latest at the end; empty: not known
  Bytes planned = {};
  double seconds = 0;  // since it began
};
// "run 3 of 20  live 1.5 MiB of 2 MiB planned ▁▄█  40 s left", in so many columns at most;
// "planning 12 s, Ctrl-C for the best so far" where nobody knows how long it takes.
std::string ProgressText(const Progress& progress, size_t columns);

// One line on a terminal, while runs that take long go on: how far they are, what they hold of what
// was planned, how much time is left. It is gone when this is. Nothing where standard error is no
// terminal.
class ProgressLine {
 public:
  explicit ProgressLine(int64_t runs, std::string what = "run");
  ~ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  // A run begins, and tells `task` how far it is. `waterline` must outlive the run; null: not
  // known.
  void Begin(const ProgramWaterline* waterline = nullptr);
  std::atomic<int64_t>* task() { return &task_; }

 private:
  void Watch();
  void Show();

  const int64_t runs_;
  const std::string what_;
  const std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  std::atomic<int64_t> task_ = 0;
  std::mutex mutex_;  // of what follows
  std::condition_variable wake_;
  bool over_ = false;
  int64_t begun_ = 0;  // runs
  const ProgramWaterline* waterline_ = nullptr;
  std::deque<Bytes> live_;
  std::thread watcher_;  // where there is a terminal
};

}  // namespace plimsoll::cli
