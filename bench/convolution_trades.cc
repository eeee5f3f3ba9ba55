// Draws 3 x 3 convolutions and times each in the maker's own way and in the ways that trade memory
// for time (kernels::Trade), by turns: what is saved beside what was estimated, in parts of the
// maker's own time. Usage: convolution_trades [seed [count [threads]]]
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include "convolution_subject.h"
#include "kernels/parallel.h"

namespace plimsoll {
namespace {

ConvolutionSubject Draw(std::mt19937& random) {
  const auto of = [&](int64_t low, int64_t high) {
    return low + static_cast<int64_t>(random() % static_cast<uint32_t>(high - low + 1));
  };
  const auto channels = [&] {
    constexpr int64_t kUsual[] = {16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512};
    return of(0, 2) > 0 ? kUsual[of(0, 10)] : of(9, 300);
  };
  constexpr int64_t kSizes[] = {7, 10, 13, 14, 20, 26, 28, 40, 56, 65, 80, 112, 160};
  while (true) {
    ConvolutionSubject shape;
    shape.batch = of(0, 4) == 0 ? of(2, 4) : 1;
    shape.channels = channels();
    shape.filters = of(0, 1) == 0 ? shape.channels : channels();
    shape.height = of(0, 2) > 0 ? kSizes[of(0, 12)] : of(4, 120);
    shape.width = of(0, 2) > 0 ? shape.height : of(4, 120);
    shape.dilation = of(0, 5) == 0 ? of(2, 4) : 1;
    shape.residual = of(0, 3) == 0;
    const int64_t work = shape.Multiplications();
    if (work > 9'000'000 && work < 2'700'000'000) return shape;
  }
}

void Report(const ConvolutionSubject& shape) {
  constexpr double kMultiplications = 46e6;  // in a millisecond, to show estimates beside times
  SubjectNode node(shape);
  std::vector<kernels::Trade> trades;
  std::vector<kernels::KernelPointer> ways;
  ways.push_back(node.Make("", &trades));
  for (const kernels::Trade& trade : trades) ways.push_back(node.Make(trade.name, nullptr));
  const std::vector<double> times = node.Times(ways);
  std::printf("%-40s %-12s %8.3f ms", shape.Text().c_str(),
              std::string(ways[0]->implementation()).c_str(), times[0]);
  for (size_t i = 1; i < ways.size(); ++i) {
    std::printf("  %s %8.3f = %.2f (estimated %.2f)", trades[i - 1].name.c_str(), times[i],
                times[i] / times[0], 1 - trades[i - 1].saved / kMultiplications / times[0]);
  }
  std::printf("\n");
}

}  // namespace
}  // namespace plimsoll

int main(int argc, char** argv) {
  std::mt19937 random(argc > 1 ? static_cast<uint32_t>(std::atoi(argv[1])) : 1);
  const int count = argc > 2 ? std::atoi(argv[2]) : 20;
  const plimsoll::kernels::ThreadScope threads(argc > 3 ? std::atoi(argv[3]) : 1);
  for (int i = 0; i < count; ++i) plimsoll::Report(plimsoll::Draw(random));
}
