// What opening a model costs: open_model MODEL.onnx [REPEATS]. Prints the first and the median time
// of ReadModel, and the resident memory that the first one added, as the kernel counts it.
//
// For weights outside the file and inside it:
//   python tests/data/materialize.py gpt2.onnx -o /tmp/gpt2 && open_model /tmp/gpt2/gpt2.onnx
//   python -c "import onnx; onnx.save(onnx.load('/tmp/gpt2/gpt2.onnx'), '/tmp/gpt2_inside.onnx')"
//   open_model /tmp/gpt2_inside.onnx
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <string>
#include <string_view>
#include <vector>

#include "onnx/model_reader.h"
#include "plimsoll/base/text.h"

namespace {

using namespace plimsoll;  // NOLINT: a program, not a header

// A line of /proc/self/status such as "VmHWM:    1234 kB".
Bytes FromStatus(std::string_view key) {
  std::ifstream status("/proc/self/status");
  std::string line;
  while (std::getline(status, line)) {
    if (!line.starts_with(key)) continue;
    const auto parts = Split(Trim(std::string_view(line).substr(key.size() + 1)), ' ');
    return KiB(ParseInteger(parts[0]).value_or(0));
  }
  return {};
}

struct Cost {
  double wall_ms = 0;
  double cpu_ms = 0;
};

double CpuMilliseconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto of = [](const timeval& time) { return time.tv_sec * 1e3 + time.tv_usec / 1e3; };
  return of(usage.ru_utime) + of(usage.ru_stime);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::cerr << "usage: open_model MODEL.onnx [REPEATS]\n";
    return 2;
  }
  const int64_t repeats = argc > 2 ? ParseInteger(argv[2]).value_or(9) : 9;
  const Bytes base = FromStatus("VmHWM");
  std::vector<Cost> costs;
  Bytes weights;
  Bytes peak;
  for (int64_t i = 0; i < repeats; ++i) {
    const auto start = std::chrono::steady_clock::now();
    const double cpu_start = CpuMilliseconds();
    const auto graph = onnx::ReadModel(argv[1]);
    const std::chrono::duration<double, std::milli> wall = std::chrono::steady_clock::now() - start;
    costs.push_back({wall.count(), CpuMilliseconds() - cpu_start});
    if (!graph.ok()) {
      std::cerr << graph.error().Text() << "\n";
      return static_cast<int>(graph.error().kind);
    }
    if (i > 0) continue;
    peak = FromStatus("VmHWM") - base;
    for (const auto& constant : graph->constants) weights += constant.Size();
  }
  const Cost first = costs.front();
  std::sort(costs.begin(), costs.end(),
            [](const Cost& a, const Cost& b) { return a.wall_ms < b.wall_ms; });
  const Cost median = costs[costs.size() / 2];
  std::printf("weights        %s\n", FormatBytes(weights).c_str());
  std::printf("first open     %.2f ms (%.2f ms of processor)\n", first.wall_ms, first.cpu_ms);
  std::printf("median of %-4d %.2f ms (%.2f ms of processor)\n", static_cast<int>(repeats),
              median.wall_ms, median.cpu_ms);
  std::printf("peak above base %s\n", FormatBytes(peak).c_str());
  return 0;
}
