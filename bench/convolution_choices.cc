// Draws convolutions, most of whose channels fill no blocks, and times each in the maker's own way,
// as sums of rows and in oneDNN's blocks, by turns: how often the choice (RowsAreFaster in
// row_choice.cc, SuitsDirectConvolution) misses the faster one, and what that costs. FORM:
// "plain" (data and result), "blocked", or "first", plain data of up to four channels whose result
// is blocked. Usage: convolution_choices [seed [count [threads [FORM]]]]
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include "convolution_subject.h"
#include "kernels/parallel.h"

namespace plimsoll {
namespace {

ConvolutionSubject Draw(std::mt19937& random, const std::string& form) {
  constexpr int64_t kChannels[] = {8,   12,  20,  24,  40,  52, 58,  60,  92, 100,
                                   116, 200, 232, 464, 500, 64, 128, 256, 512};
  constexpr int64_t kSizes[] = {7, 10, 14, 20, 28, 40, 56, 80, 112};
  constexpr int64_t kKernels[] = {1, 1, 1, 3, 3, 5, 7};
  constexpr int64_t kDilations[] = {2, 4, 6, 12};
  constexpr int64_t kBatches[] = {1, 1, 1, 2, 4};
  const auto one_of = [&](const auto& some) { return some[random() % std::size(some)]; };
  while (true) {
    ConvolutionSubject shape{.data_blocked = form == "blocked", .result_blocked = form != "plain"};
    shape.batch = one_of(kBatches);
    const auto beside = [&] {
      return std::max(static_cast<int64_t>(random() % 6) - 3, int64_t{0});
    };
    shape.channels = one_of(kChannels) + beside();
    if (form == "first") shape.channels = 1 + static_cast<int64_t>(random() % 4);
    shape.filters = one_of(kChannels) + beside();
    shape.height = shape.width = one_of(kSizes);
    shape.kernel = one_of(kKernels);
    shape.stride = shape.kernel > 1 && random() % 4 == 0 ? 2 : 1;
    const bool dilates = shape.kernel == 3 && shape.stride == 1 && random() % 3 == 0;
    shape.dilation = dilates ? one_of(kDilations) : 1;
    shape.residual = random() % 4 == 0;
    const int64_t work = shape.Multiplications();
    if (work > 500'000 && work < 300'000'000) return shape;
  }
}

// The maker's time in parts of the shorter one.
double Report(const ConvolutionSubject& shape) {
  SubjectNode node(shape);
  std::vector<kernels::KernelPointer> ways;
  for (const char* const name : {"", "rows", "blocks"}) ways.push_back(node.Make(name, nullptr));
  const std::vector<double> times = node.Times(ways);
  std::printf("%-36s", shape.Text().c_str());
  for (size_t i = 0; i < ways.size(); ++i) {
    std::printf("  %-22s %8.3f ms", std::string(ways[i]->implementation()).c_str(), times[i]);
  }
  const double lost = times[0] / std::min(times[1], times[2]);
  std::printf("  %.2f\n", lost);
  return lost;
}

}  // namespace
}  // namespace plimsoll

int main(int argc, char** argv) {
  std::mt19937 random(argc > 1 ? static_cast<uint32_t>(std::atoi(argv[1])) : 1);
  const int count = argc > 2 ? std::atoi(argv[2]) : 20;
  const plimsoll::kernels::ThreadScope threads(argc > 3 ? std::atoi(argv[3]) : 1);
  const std::string form = argc > 4 ? argv[4] : "plain";
  double logarithms = 0;
  double largest = 0;
  int missed = 0;
  for (int i = 0; i < count; ++i) {
    const double lost = plimsoll::Report(plimsoll::Draw(random, form));
    logarithms += std::log(lost);
    largest = std::max(largest, lost);
    missed += lost > 1.1 ? 1 : 0;
  }
  std::printf("beside the faster way: mean %.3f, largest %.2f, %d of %d above 1.1\n",
              std::exp(logarithms / std::max(count, 1)), largest, missed, count);
}
