#include "cli/reports/progress_line.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <iostream>

#include "cli/peer/heap_calls.h"
#include "engine/api/feature_map_lives.h"
#include "plimsoll/base/text.h"

namespace plimsoll::cli {
namespace {

constexpr auto kBetweenMoments = std::chrono::milliseconds(100);
constexpr auto kShortRuns = std::chrono::milliseconds(400);  // take less, and need no line
constexpr size_t kMomentsShown = 24;
constexpr const char* kEraseLine = "\r\033[K";

bool IsTerminal() {
  const char* const kind = std::getenv("TERM");
  return isatty(STDERR_FILENO) != 0 && (kind == nullptr || std::string_view(kind) != "dumb");
}

size_t TerminalColumns() {
  winsize size{};
  const bool known = ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  return known ? size.ws_col : 80;
}

std::string TimeText(double seconds) {
  const auto whole = static_cast<int64_t>(std::ceil(seconds));
  if (whole < 120) return StrCat(whole, " s");
  if (whole < 7200) return StrCat(whole / 60, " min");
  return StrCat(whole / 3600, " h ", whole % 3600 / 60, " min");
}

}  // namespace

ProgramWaterline WaterlineOf(const engine::Executable& executable) {
  const compile::PlannedModel& planned = executable.model().planned;
  ProgramWaterline made{.live = {}, .planned = compile::FeatureMapPeak(planned)};
  const engine::FeatureMapLives lives(planned);
  std::vector<Bytes> by_node(executable.model().graph.nodes.size());
  for (size_t i = 0; i < planned.timeline.steps.size(); ++i) {
    by_node[planned.timeline.steps[i].node.index()] = lives.waterline()[i];
  }
  for (const engine::Task& task : executable.program().tasks) {
    const Bytes before = made.live.empty() ? Bytes(0) : made.live.back();
    made.live.push_back(task.node.valid() ? by_node[task.node.index()] : before);
  }
  return made;
}

std::string ProgressText(const Progress& progress, size_t columns) {
  static constexpr std::array<const char*, 8> kEighths = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  if (progress.runs == 0) {
    return StrCat(progress.what, "  ", TimeText(progress.seconds), ", Ctrl-C for the best so far");
  }
  std::string text = StrCat(progress.what, " ", progress.run + 1, " of ", progress.runs);
  size_t used = text.size();
  const auto add = [&](const std::string& part, size_t width) {
    if (used + 2 + width > columns) return;
    text += StrCat("  ", part);
    used += 2 + width;
  };
  const double done = static_cast<double>(progress.run) + progress.of_run;
  if (done > 0) {
    const double left = progress.seconds * (static_cast<double>(progress.runs) - done) / done;
    const std::string time = StrCat(TimeText(left), " left");
    add(time, time.size());
  }
  if (progress.live.empty() || progress.planned <= Bytes(0)) return text;
  const std::string bytes = StrCat("live ", FormatBytes(progress.live.back()), " of ",
                                   FormatBytes(progress.planned), " planned");
  add(bytes, bytes.size());
  std::string picture;
  for (const Bytes live : progress.live) {
    const double share =
        static_cast<double>(live.value()) / static_cast<double>(progress.planned.value());
    picture += kEighths[static_cast<size_t>(std::clamp(share * 8, 0.0, 7.0))];
  }
  add(picture, progress.live.size());
  return text;
}

ProgressLine::ProgressLine(int64_t runs, std::string what) : runs_(runs), what_(std::move(what)) {
  if (IsTerminal()) watcher_ = std::thread([this] { Watch(); });
}

ProgressLine::~ProgressLine() {
  if (!watcher_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    over_ = true;
  }
  wake_.notify_one();
  watcher_.join();
}

void ProgressLine::Begin(const ProgramWaterline* waterline) {
  const std::lock_guard lock(mutex_);
  ++begun_;
  waterline_ = waterline;
  task_.store(0, std::memory_order_relaxed);
}

void ProgressLine::Watch() {
  LeaveOutHeapCalls();
  std::unique_lock lock(mutex_);
  const auto over = [this] { return over_; };
  if (wake_.wait_for(lock, kShortRuns, over)) return;
  do {
    Show();
  } while (!wake_.wait_for(lock, kBetweenMoments, over));
  std::cerr << kEraseLine << std::flush;
}

void ProgressLine::Show() {
  Progress progress{.what = what_, .run = std::max<int64_t>(begun_ - 1, 0), .runs = runs_};
  const std::chrono::duration<double> since = std::chrono::steady_clock::now() - begin_;
  progress.seconds = since.count();
  if (waterline_ != nullptr && !waterline_->live.empty()) {
    const size_t last = waterline_->live.size() - 1;
    const size_t task = std::min(static_cast<size_t>(task_.load(std::memory_order_relaxed)), last);
    progress.of_run = static_cast<double>(task) / static_cast<double>(last + 1);
    live_.push_back(waterline_->live[task]);
    if (live_.size() > kMomentsShown) live_.pop_front();
    progress.live.assign(live_.begin(), live_.end());
    progress.planned = waterline_->planned;
  }
  std::cerr << kEraseLine << ProgressText(progress, TerminalColumns() - 1) << std::flush;
}

}  // namespace plimsoll::cli
