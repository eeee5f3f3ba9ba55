#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <iomanip>
#include <iostream>
#include <map>

#include "kernels/threads/thread_team.h"
#include "plimsoll/base/text.h"
#include "region_subject.h"

// Where the time of threads goes while a model runs:
//
//   region_timeline MODEL THREADS [REPEAT [NAME=SHAPE...]]
//
// For each kind of operator and in total, in milliseconds, of the median of REPEAT runs (15):
// `wall`, within regions by the clock; and of an average thread in these: `late`, until its first
// part began; `work`, its parts; `between` them; `idle`, from the end of its last part on; and
// `one`, the work of the parts where one thread runs them one after the other. A thread that got no
// part of a region is idle in it. Where work is above one, threads disturb each other: caches,
// memory, clock, other guests of the machine. Then by thread, which tells a slow processor from
// chance: its work, its parts, and in how many regions it was the last to end. At the end, of all
// regions, the median, the tenth and the hundredth largest of idle and of the longest part.
namespace plimsoll {
namespace {

using Clock = std::chrono::steady_clock;

double MillisecondsBetween(Clock::time_point begin, Clock::time_point end) {
  return std::chrono::duration<double, std::milli>(end - begin).count();
}

// What one thread did in one region.
struct alignas(64) Lane {
  Clock::time_point first{};
  Clock::time_point last{};
  double work = 0;
  double longest = 0;  // part
  int parts = 0;
};

struct Costs {
  double wall = 0;
  double late = 0;
  double work = 0;
  double between = 0;
  double idle = 0;
  double one = 0;
  int64_t regions = 0;

  void Add(const Costs& other) {
    wall += other.wall;
    late += other.late;
    work += other.work;
    between += other.between;
    idle += other.idle;
    one += other.one;
    regions += other.regions;
  }
};

using Table = std::map<int64_t, Costs>;  // by task

// Of one thread, over all regions of a run.
struct Thread {
  double work = 0;
  int64_t parts = 0;
  int64_t ends = 0;
};

// Runs regions in a team of its own and takes the times of their parts.
class Timeline final : public kernels::RegionRunner {
 public:
  Timeline(const std::atomic<int64_t>& task, int threads, bool at_once)
      : task_(task), threads_(threads), at_once_(at_once), lanes_(static_cast<size_t>(threads)) {}

  void Run(const Region& region) override {
    for (Lane& lane : lanes_) lane = {};
    region_ = &region;
    const Clock::time_point begin = Clock::now();
    if (at_once_) {
      team_.Run({.parts = region.parts,
                 .threads = region.threads,
                 .together = region.together,
                 .body = RunPart,
                 .context = this});
    } else {
      for (int part = 0; part < region.parts; ++part) RunPart(part, 0, this);
    }
    Take(begin, Clock::now());
  }

  void Clear() {
    table.clear();
    threads.assign(lanes_.size(), {});
    idle.clear();
    longest.clear();
  }

  Table table;
  std::vector<Thread> threads;
  std::vector<double> idle;     // of an average thread, by region
  std::vector<double> longest;  // part, by region

 private:
  static void RunPart(int part, int thread, void* timeline) {
    auto& self = *static_cast<Timeline*>(timeline);
    Lane& lane = self.lanes_[static_cast<size_t>(thread)];
    const Clock::time_point begin = Clock::now();
    if (lane.parts++ == 0) lane.first = begin;
    const int as = self.at_once_ ? thread : part * self.region_->threads / self.region_->parts;
    self.region_->body(part, as, self.region_->context);
    lane.last = Clock::now();
    const double work = MillisecondsBetween(begin, lane.last);
    lane.work += work;
    lane.longest = std::max(lane.longest, work);
  }

  void Take(Clock::time_point begin, Clock::time_point end) {
    Costs costs{.wall = MillisecondsBetween(begin, end), .regions = 1};
    for (const Lane& lane : lanes_) {
      const double work = lane.work / threads_;
      if (!at_once_) {
        costs.one += lane.work;
      } else if (lane.parts == 0) {
        costs.idle += costs.wall / threads_;
      } else {
        costs.work += work;
        costs.late += MillisecondsBetween(begin, lane.first) / threads_;
        costs.between += MillisecondsBetween(lane.first, lane.last) / threads_ - work;
        costs.idle += MillisecondsBetween(lane.last, end) / threads_;
      }
    }
    table[task_.load()].Add(costs);
    idle.push_back(costs.idle);
    double part = 0;
    size_t last = 0;
    for (size_t i = 0; i < lanes_.size(); ++i) {
      threads[i].work += lanes_[i].work;
      threads[i].parts += lanes_[i].parts;
      part = std::max(part, lanes_[i].longest);
      if (lanes_[i].parts > 0 && lanes_[i].last > lanes_[last].last) last = i;
    }
    ++threads[last].ends;
    longest.push_back(part);
  }

  const std::atomic<int64_t>& task_;
  const int threads_;
  const bool at_once_;
  const Region* region_ = nullptr;
  std::vector<Lane> lanes_;
  kernels::ThreadTeam team_;
};

struct TimedRun {
  double milliseconds = 0;
  Table table;
  std::vector<Thread> threads;
  std::vector<double> idle;
  std::vector<double> longest;
};

Result<TimedRun> MedianRun(RegionSubject& subject, int threads, bool at_once, int repeat) {
  std::atomic<int64_t> task = -1;
  Timeline timeline(task, threads, at_once);
  std::vector<TimedRun> runs;
  for (int i = 0; i < repeat + 2; ++i) {
    timeline.Clear();
    const Clock::time_point begin = Clock::now();
    PLIMSOLL_TRY(subject.Run(timeline, task));
    const double milliseconds = MillisecondsBetween(begin, Clock::now());
    runs.push_back(
        {milliseconds, timeline.table, timeline.threads, timeline.idle, timeline.longest});
  }
  runs.erase(runs.begin(), runs.begin() + 2);
  std::sort(runs.begin(), runs.end(),
            [](const TimedRun& a, const TimedRun& b) { return a.milliseconds < b.milliseconds; });
  return std::move(runs[runs.size() / 2]);
}

void Print(const std::string& name, const Costs& costs) {
  std::cout << std::fixed << std::setprecision(3);
  for (const double value :
       {costs.wall, costs.late, costs.work, costs.between, costs.idle, costs.one}) {
    std::cout << std::setw(9) << value;
  }
  std::cout << std::setw(8) << costs.regions << "  " << name << "\n";
}

void PrintQuantiles(const char* what, std::vector<double> values) {
  if (values.empty()) return;
  std::sort(values.begin(), values.end());
  const auto at = [&](double share) {
    return 1000 * values[static_cast<size_t>(share * static_cast<double>(values.size() - 1))];
  };
  std::cout << what << " of a region, us: median " << at(0.5) << ", nine tenths below " << at(0.9)
            << ", all but a hundredth below " << at(0.99) << "\n";
}

void PrintThreads(const TimedRun& run) {
  for (const char* const what : {"work", "parts", "ends"}) {
    std::cout << std::setw(6) << what << " by thread:";
    for (const Thread& thread : run.threads) {
      const bool is_work = *what == 'w';
      std::cout << " " << std::setprecision(is_work ? 1 : 0)
                << (is_work ? thread.work
                            : static_cast<double>(*what == 'p' ? thread.parts : thread.ends));
    }
    std::cout << "\n";
  }
  std::cout << std::setprecision(1);
  PrintQuantiles("idle", run.idle);
  PrintQuantiles("longest part", run.longest);
}

Status Measure(const std::string& file, int threads, int repeat,
               const std::vector<std::string>& shapes) {
  PLIMSOLL_ASSIGN(RegionSubject subject, RegionSubject::Make(file, threads, shapes));
  PLIMSOLL_ASSIGN(const TimedRun run, MedianRun(subject, threads, true, repeat));
  PLIMSOLL_ASSIGN(const TimedRun one, MedianRun(subject, threads, false, std::max(repeat / 5, 1)));
  std::map<std::string, Costs> rows;
  Costs all;
  for (auto [task, costs] : run.table) {
    const auto alone = one.table.find(task);
    costs.one = alone == one.table.end() ? 0 : alone->second.one;
    rows[subject.NameOf(subject.program().tasks[static_cast<size_t>(task)])].Add(costs);
    all.Add(costs);
  }
  std::vector<std::pair<std::string, Costs>> sorted(rows.begin(), rows.end());
  std::sort(sorted.begin(), sorted.end(),
            [](const auto& a, const auto& b) { return a.second.wall > b.second.wall; });
  std::cout << "     wall     late     work  between     idle      one regions\n";
  for (const auto& [name, costs] : sorted) {
    if (costs.wall > run.milliseconds / 100) Print(name, costs);
  }
  Print(StrCat("all of ", file), all);
  std::cout << "run " << run.milliseconds << ", outside of regions " << run.milliseconds - all.wall
            << ", in one thread " << one.milliseconds << "\n";
  PrintThreads(run);
  return {};
}

}  // namespace
}  // namespace plimsoll

int main(int argc, char** argv) {
  if (argc < 3) {
    std::cerr << "usage: region_timeline MODEL THREADS [REPEAT [NAME=SHAPE...]]\n";
    return 2;
  }
  const int repeat = argc > 3 ? std::atoi(argv[3]) : 15;
  return plimsoll::Finish(plimsoll::Measure(argv[1], std::atoi(argv[2]), std::max(repeat, 1),
                                            {argv + std::min(argc, 4), argv + argc}));
}
