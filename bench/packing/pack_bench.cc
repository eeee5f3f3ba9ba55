// Measures the packing core: `pack_bench [--steps N] [--csv FILE|FOLDER]... [--first-seed N]
// [--deadline SECONDS] [--slack PERCENT] [--cut SEEDS] [--accelerator SEEDS] [--shapes SEEDS]
// [--training ITEMS] [--techniques FILE]`. Options act in the order they are given. Seconds are
// processor time.
//
// A csv file has the columns id,lower,upper,size. With a number in its name (A.1048576.csv) it is
// packed into that capacity, 5 % and 10 % more, and minimised; else minimised only. --cut packs
// and --accelerator pack generated packings that are known to fit, --shapes minimises others,
// --training one large generated packing, --techniques solves one file with each technique of the
// exact search switched off in turn.
#include <algorithm>
#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "pack_families.h"
#include "pack_generator.h"
#include "pack_shapes.h"
#include "plan/packing/best_packing.h"
#include "plan/packing/exact_packing.h"
#include "plan/packing/greedy_packing.h"

namespace plimsoll::bench {
namespace {

using plan::Packing;
using plan::PackingAnswer;
using plan::PackingEffort;

struct Options {
  int64_t steps = 1000000;
  double deadline_s = 0;
  double slack_percent = 0;
  uint64_t first_seed = 1;
};

// Processor time: other programs on the machine do not count.
double Now() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

Packing ReadCsv(const std::filesystem::path& file) {
  Packing packing;
  std::ifstream in(file);
  std::string line;
  std::getline(in, line);
  while (std::getline(in, line)) {
    plan::PackingItem item;
    long long size = 0;
    if (std::sscanf(line.c_str(), "%*[^,],%d,%d,%lld", &item.begin, &item.end, &size) != 3) {
      std::fprintf(stderr, "%s: not id,lower,upper,size: %s\n", file.c_str(), line.c_str());
      std::exit(6);
    }
    item.size = size;
    packing.items.push_back(item);
  }
  return packing;
}

int64_t CapacityInName(const std::filesystem::path& file) {
  const std::string number = file.stem().extension().string();
  const bool digits = number.size() > 1 &&
                      std::all_of(number.begin() + 1, number.end(),
                                  [](unsigned char letter) { return std::isdigit(letter) != 0; });
  return digits ? std::atoll(number.c_str() + 1) : -1;
}

void PrintHeader() {
  std::printf("%-28s %7s %13s %13s %13s %8s %7s %9s %8s\n", "packing", "items", "capacity", "peak",
              "lower bound", "ratio", "proof", "steps", "seconds");
}

void PrintRow(const std::string& name, size_t items, int64_t capacity, const PackingAnswer& answer,
              double seconds) {
  const char* proof = answer.optimal ? "optimal" : answer.infeasible ? "misfit" : "-";
  const double ratio = static_cast<double>(answer.height) /
                       static_cast<double>(std::max<int64_t>(answer.lower_bound, 1));
  std::printf("%-28s %7zu %13lld %13lld %13lld %8.5f %7s %9lld %8.3f%s\n", name.c_str(), items,
              static_cast<long long>(capacity), static_cast<long long>(answer.height),
              static_cast<long long>(answer.lower_bound), ratio, proof,
              static_cast<long long>(answer.steps), seconds,
              capacity >= 0 && answer.height > capacity ? "  does not fit" : "");
  std::fflush(stdout);
}

// Times from opening the file to the answer.
double PackFile(const std::filesystem::path& file, int64_t capacity, int64_t steps) {
  const double start = Now();
  const Packing packing = ReadCsv(file);
  const PackingAnswer answer = plan::PackBest(packing, {.steps = steps, .capacity = capacity});
  const double seconds = Now() - start;
  PrintRow(file.stem().string(), packing.items.size(), capacity, answer, seconds);
  return seconds;
}

void PackFolder(const std::filesystem::path& path, int64_t steps) {
  std::vector<std::filesystem::path> files;
  if (std::filesystem::is_directory(path)) {
    for (const auto& entry : std::filesystem::directory_iterator(path)) {
      if (entry.path().extension() == ".csv") files.push_back(entry.path());
    }
    std::sort(files.begin(), files.end());
  } else {
    files.push_back(path);
  }
  for (const int64_t percent : {100, 105, 110}) {
    double together = 0;
    int packed = 0;
    for (const auto& file : files) {
      const int64_t capacity = CapacityInName(file);
      if (capacity < 0) continue;
      together += PackFile(file, capacity * percent / 100, steps);
      ++packed;
    }
    if (packed > 1) std::printf("%d packings together: %.3f s\n", packed, together);
  }
  for (const auto& file : files) PackFile(file, -1, steps);
}

struct Timed {
  PackingAnswer answer;
  double seconds = 0;
};

// Within `options.deadline_s` of processor time. A busy machine gives a process less than all of
// one core, so a search that was cut too soon is made again with a later deadline.
Timed PackInTime(const Packing& packing, int64_t capacity, const Options& options) {
  double wall = options.deadline_s;
  for (;;) {
    const double start = Now();
    Timed timed{plan::PackBest(
        packing, {.steps = options.steps, .deadline_ms = wall * 1000, .capacity = capacity})};
    timed.seconds = Now() - start;
    const bool cut_too_soon =
        timed.answer.deadline_hit && timed.seconds < 0.95 * options.deadline_s;
    if (!cut_too_soon) return timed;
    wall *= 1.1 * options.deadline_s / std::max(timed.seconds, 0.1 * options.deadline_s);
  }
}

// One row per family: how many seeds fit into what they were cut from and `slack` more, and the
// times.
void PackFamilies(const std::vector<PackFamily>& families, const Options& options, uint64_t seeds) {
  std::printf("%-28s %9s %9s %9s %9s\n", "family", "fit", "median s", "worst s", "all s");
  const auto capacity = static_cast<int64_t>(kFamilyCapacity * (1 + options.slack_percent / 100));
  for (const PackFamily& family : families) {
    std::vector<double> times;
    uint64_t fit = 0;
    double all = 0;
    for (uint64_t seed = options.first_seed; seed < options.first_seed + seeds; ++seed) {
      const Packing packing = family.make(family, seed);
      const Timed timed = PackInTime(packing, capacity, options);
      times.push_back(timed.seconds);
      all += times.back();
      const bool in_time = options.deadline_s == 0 || times.back() <= options.deadline_s;
      fit += timed.answer.height <= capacity && in_time ? 1 : 0;
    }
    std::sort(times.begin(), times.end());
    std::printf("%-28s %5llu/%-3llu %9.4f %9.4f %9.3f\n", family.name.c_str(),
                static_cast<unsigned long long>(fit), static_cast<unsigned long long>(seeds),
                times[times.size() / 2], times.back(), all);
    std::fflush(stdout);
  }
}

// One row per shape: how many seeds were proven, and how far the peaks are above the lower bounds.
void MinimiseShapes(const Options& options, uint64_t seeds) {
  std::printf("%-28s %9s %10s %10s %9s\n", "shape", "proven", "mean", "worst", "all s");
  for (const PackShape& shape : PackShapes()) {
    uint64_t proven = 0;
    double sum = 0;
    double worst = 0;
    const double start = Now();
    for (uint64_t seed = options.first_seed; seed < options.first_seed + seeds; ++seed) {
      const PackingAnswer answer = plan::PackBest(shape.make(seed), {.steps = options.steps});
      const double ratio =
          static_cast<double>(answer.height) / static_cast<double>(answer.lower_bound);
      proven += answer.optimal ? 1 : 0;
      sum += ratio;
      worst = std::max(worst, ratio);
    }
    std::printf("%-28s %5llu/%-3llu %10.6f %10.6f %9.3f\n", shape.name.c_str(),
                static_cast<unsigned long long>(proven), static_cast<unsigned long long>(seeds),
                sum / static_cast<double>(seeds), worst, Now() - start);
    std::fflush(stdout);
  }
}

void PackTraining(int64_t items, int64_t steps) {
  const Packing packing = TrainingPacking(items, 1);
  PrintHeader();
  const double start = Now();
  const PackingAnswer answer = plan::PackBest(packing, {.steps = steps});
  PrintRow("training", packing.items.size(), -1, answer, Now() - start);
}

void CompareTechniques(const std::filesystem::path& file, int64_t steps) {
  const std::pair<const char*, bool plan::ExactTechniques::*> techniques[] = {
      {"divisor", &plan::ExactTechniques::divisor},
      {"decomposition", &plan::ExactTechniques::decomposition},
      {"dominance", &plan::ExactTechniques::dominance},
      {"exclusion", &plan::ExactTechniques::exclusion},
      {"section_bound", &plan::ExactTechniques::section_bound},
      {"not_first", &plan::ExactTechniques::not_first},
      {"refutations", &plan::ExactTechniques::refutations},
      {"tightest_first", &plan::ExactTechniques::tightest_first},
      {"restarts", &plan::ExactTechniques::restarts},
  };
  const Packing packing = ReadCsv(file);
  const PackingEffort effort{.steps = steps, .capacity = CapacityInName(file)};
  PrintHeader();
  const auto measure = [&](const std::string& name, const plan::ExactTechniques& chosen) {
    const double start = Now();
    const PackingAnswer answer = plan::PackExact(packing, effort, chosen);
    PrintRow(name, packing.items.size(), effort.capacity, answer, Now() - start);
  };
  measure("all techniques", {});
  for (const auto& [name, technique] : techniques) {
    plan::ExactTechniques chosen;
    chosen.*technique = false;
    measure(std::string("without ") + name, chosen);
  }
}

}  // namespace
}  // namespace plimsoll::bench

int main(int count, char** arguments) {
  using namespace plimsoll::bench;
  Options options;
  for (int i = 1; i + 1 < count; i += 2) {
    const std::string option = arguments[i];
    const std::string value = arguments[i + 1];
    const auto seeds = [&] { return std::strtoull(value.c_str(), nullptr, 10); };
    if (option == "--steps") {
      options.steps = std::atoll(value.c_str());
    } else if (option == "--deadline") {
      options.deadline_s = std::atof(value.c_str());
    } else if (option == "--slack") {
      options.slack_percent = std::atof(value.c_str());
    } else if (option == "--first-seed") {
      options.first_seed = seeds();
    } else if (option == "--csv") {
      PrintHeader();
      PackFolder(value, options.steps);
    } else if (option == "--cut") {
      PackFamilies(CutFamilies(), options, seeds());
    } else if (option == "--accelerator") {
      PackFamilies(AcceleratorFamilies(), options, seeds());
    } else if (option == "--shapes") {
      MinimiseShapes(options, seeds());
    } else if (option == "--training") {
      PackTraining(std::atoll(value.c_str()), options.steps);
    } else if (option == "--techniques") {
      CompareTechniques(value, options.steps);
    } else {
      std::fprintf(stderr, "pack_bench: unknown option %s\n", option.c_str());
      return 2;
    }
  }
  return 0;
}
