#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <iomanip>
#include <iostream>
#include <map>
#include <queue>
#include <vector>

#include "plimsoll/base/text.h"
#include "region_subject.h"

// How even the parts of regions are: a model runs as for many threads, but each part of each region
// runs alone in the calling thread, one after the other, and is timed.
//
//   region_balance MODEL THREADS [PRICE [REPEAT [NAME=SHAPE...]]]
//
// For each kind of operator and in total, in milliseconds: `alone`, outside of regions; `parts`,
// the work within them; `ideal`, alone and an equal share of the parts; `lanes`, where each thread
// takes a fixed run of parts; `taken`, where those who are done take parts of others, and each
// region costs PRICE microseconds (4). The least of REPEAT runs (5) counts for each part.
//
// It is an emulation: one thread has all caches and the memory to itself.
namespace plimsoll {
namespace {

using Clock = std::chrono::steady_clock;

double MillisecondsSince(Clock::time_point begin) {
  return std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
}

struct TimedRegion {
  int64_t task = 0;
  int threads = 1;
  std::vector<double> parts = {};
};

class Timing final : public kernels::RegionRunner {
 public:
  explicit Timing(const std::atomic<int64_t>& task) : task_(task) {}

  void Run(const Region& region) override {
    TimedRegion timed{task_.load(), region.threads};
    for (int part = 0; part < region.parts; ++part) {
      const Clock::time_point begin = Clock::now();
      region.body(part, part * region.threads / region.parts, region.context);
      timed.parts.push_back(MillisecondsSince(begin));
    }
    regions.push_back(std::move(timed));
  }

  std::vector<TimedRegion> regions;

 private:
  const std::atomic<int64_t>& task_;
};

double Sum(const std::vector<double>& parts) {
  double sum = 0;
  for (const double part : parts) sum += part;
  return sum;
}

std::vector<std::vector<double>> LanesOf(const TimedRegion& region) {
  std::vector<std::vector<double>> lanes(static_cast<size_t>(region.threads));
  const size_t count = region.parts.size();
  for (size_t i = 0; i < lanes.size(); ++i) {
    const auto from = region.parts.begin();
    lanes[i].assign(from + static_cast<int64_t>(count * i / lanes.size()),
                    from + static_cast<int64_t>(count * (i + 1) / lanes.size()));
  }
  return lanes;
}

double LongestLane(const TimedRegion& region) {
  double longest = 0;
  for (const auto& lane : LanesOf(region)) longest = std::max(longest, Sum(lane));
  return longest;
}

// Each thread takes parts of its lane from the first on, then of the others from their ends.
double Schedule(const TimedRegion& region) {
  auto lanes = LanesOf(region);
  using Free = std::pair<double, size_t>;  // when, and which thread
  std::priority_queue<Free, std::vector<Free>, std::greater<>> threads;
  for (size_t i = 0; i < lanes.size(); ++i) threads.emplace(0.0, i);
  double end = 0;
  while (!threads.empty()) {
    auto [now, thread] = threads.top();
    threads.pop();
    end = std::max(end, now);
    for (size_t i = 0; i < lanes.size(); ++i) {
      auto& lane = lanes[(thread + i) % lanes.size()];
      if (lane.empty()) continue;
      const auto taken = i == 0 ? lane.begin() : lane.end() - 1;
      threads.emplace(now + *taken, thread);
      lane.erase(taken);
      break;
    }
  }
  return end;
}

struct Row {
  double alone = 0;
  double parts = 0;
  double ideal = 0;
  double lanes = 0;
  double taken = 0;
  int64_t regions = 0;

  void Add(const Row& other) {
    alone += other.alone;
    parts += other.parts;
    ideal += other.ideal;
    lanes += other.lanes;
    taken += other.taken;
    regions += other.regions;
  }
};

void Print(const std::string& name, const Row& row) {
  std::cout << std::fixed << std::setprecision(3) << std::setw(9) << row.alone << std::setw(10)
            << row.parts << std::setw(9) << row.ideal << std::setw(9) << row.lanes << std::setw(9)
            << row.taken << std::setw(8) << row.regions << "  " << name << "\n";
}

Row RowOf(const TimedRegion& region, int threads, double price) {
  Row row{.parts = Sum(region.parts), .regions = 1};
  row.ideal = row.parts / threads;
  row.lanes = LongestLane(region) + price;
  row.taken = Schedule(region) + price;
  return row;
}

// Adds the times of one run to what is there, the least of each.
Status Run(RegionSubject& subject, std::vector<double>& times, std::vector<TimedRegion>& regions) {
  std::vector<double> now(subject.program().tasks.size());
  std::atomic<int64_t> current = -1;
  Timing timing(current);
  Clock::time_point begin = Clock::now();
  const auto end_task = [&] {
    if (current >= 0) now[static_cast<size_t>(current)] += MillisecondsSince(begin);
  };
  PLIMSOLL_TRY(subject.RunOneByOne(timing, [&](int64_t task) {
    end_task();
    current = task;
    begin = Clock::now();
  }));
  end_task();
  for (const TimedRegion& region : timing.regions) {
    now[static_cast<size_t>(region.task)] -= Sum(region.parts);
  }
  if (times.empty()) {
    times = now;
    regions = timing.regions;
  }
  for (size_t i = 0; i < times.size(); ++i) times[i] = std::min(times[i], now[i]);
  for (size_t i = 0; i < std::min(regions.size(), timing.regions.size()); ++i) {
    for (size_t part = 0; part < regions[i].parts.size(); ++part) {
      regions[i].parts[part] = std::min(regions[i].parts[part], timing.regions[i].parts[part]);
    }
  }
  return {};
}

// Branches that run side by side: each share is a part.
std::vector<TimedRegion> BranchesOf(const engine::Program& program, int threads,
                                    std::vector<double>& times) {
  std::vector<TimedRegion> regions;
  for (size_t i = 0; i < program.tasks.size(); ++i) {
    const int32_t number = program.tasks[i].side_by_side;
    if (number == engine::kNoBranches) continue;
    TimedRegion region{static_cast<int64_t>(i), threads};
    for (const auto& share : program.side_by_side[static_cast<size_t>(number)].shares) {
      double sum = 0;
      for (const uint32_t task : share) sum += std::exchange(times[task], 0.0);
      region.parts.push_back(sum);
    }
    region.threads = std::min(threads, static_cast<int>(region.parts.size()));
    regions.push_back(std::move(region));
  }
  return regions;
}

Status Measure(const std::string& file, int threads, double price, int repeat,
               const std::vector<std::string>& shapes) {
  PLIMSOLL_ASSIGN(RegionSubject subject, RegionSubject::Make(file, threads, shapes));
  std::vector<double> times;
  std::vector<TimedRegion> regions;
  PLIMSOLL_TRY(Run(subject, times, regions));
  times.clear();
  for (int i = 0; i < repeat; ++i) PLIMSOLL_TRY(Run(subject, times, regions));
  std::map<std::string, Row> rows;
  Row all;
  const auto add = [&](const std::string& name, const Row& row) {
    rows[name].Add(row);
    all.Add(row);
  };
  for (const TimedRegion& region : BranchesOf(subject.program(), threads, times)) {
    add("branches side by side", RowOf(region, threads, price));
  }
  for (const TimedRegion& region : regions) {
    const engine::Task& task = subject.program().tasks[static_cast<size_t>(region.task)];
    add(subject.NameOf(task), RowOf(region, threads, price));
  }
  for (size_t i = 0; i < times.size(); ++i) {
    const double alone = times[i];
    add(subject.NameOf(subject.program().tasks[i]), {alone, 0, alone, alone, alone, 0});
  }
  std::vector<std::pair<std::string, Row>> sorted(rows.begin(), rows.end());
  std::sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) {
    return a.second.taken - a.second.ideal > b.second.taken - b.second.ideal;
  });
  std::cout << "    alone     parts    ideal    lanes    taken regions\n";
  for (const auto& [name, row] : sorted) {
    if (row.lanes > all.lanes / 200) Print(name, row);
  }
  Print(StrCat("all of ", file), all);
  const double work = all.alone + all.parts;
  std::cout << "gain: lanes " << work / all.lanes << ", taken " << work / all.taken << "\n";
  return {};
}

}  // namespace
}  // namespace plimsoll

int main(int argc, char** argv) {
  if (argc < 3) {
    std::cerr << "usage: region_balance MODEL THREADS [PRICE [REPEAT [NAME=SHAPE...]]]\n";
    return 2;
  }
  const double price = argc > 3 ? std::atof(argv[3]) : 4;
  const int repeat = argc > 4 ? std::atoi(argv[4]) : 5;
  return plimsoll::Finish(plimsoll::Measure(argv[1], std::atoi(argv[2]), price / 1000,
                                            std::max(repeat, 1),
                                            {argv + std::min(argc, 5), argv + argc}));
}
