#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <string>
#include <vector>

// The kernels that libraries are compared by, and how they are timed. Each library's program prints
// a line "name <tab> microseconds <tab> implementation" for every shape that it can do.
namespace library_bench {

struct Shape {
  std::string name;
  enum class Kind { kConvolution, kTransposed, kProduct } kind = Kind::kConvolution;
  bool bytes = false;  // int8 in place of float32
  // Images [channels, height, width], filters [filters, channels / groups, kernel...]. A product is
  // [height, channels] x [channels, filters], `batch` times; its right side is constant where
  // `batch` is 1.
  int64_t channels = 0, filters = 0, height = 1, width = 1, kernel_height = 1, kernel_width = 1;
  int64_t stride = 1, dilation = 1, groups = 1, batch = 1;

  int64_t PadHeight() const { return (kernel_height - 1) * dilation / 2; }
  int64_t PadWidth() const { return (kernel_width - 1) * dilation / 2; }
  int64_t OutHeight() const { return Out(height, kernel_height, PadHeight()); }
  int64_t OutWidth() const { return Out(width, kernel_width, PadWidth()); }

 private:
  int64_t Out(int64_t size, int64_t kernel, int64_t pad) const {
    if (kind == Kind::kTransposed) return size * stride;
    return (size + 2 * pad - (kernel - 1) * dilation - 1) / stride + 1;
  }
};

inline Shape Convolution(std::string name, int64_t channels, int64_t filters, int64_t size,
                         int64_t kernel, int64_t stride = 1, int64_t groups = 1,
                         int64_t dilation = 1) {
  return {.name = std::move(name),
          .channels = channels,
          .filters = filters,
          .height = size,
          .width = size,
          .kernel_height = kernel,
          .kernel_width = kernel,
          .stride = stride,
          .dilation = dilation,
          .groups = groups};
}

inline Shape Product(std::string name, int64_t rows, int64_t depth, int64_t columns,
                     int64_t batch = 1) {
  return {.name = std::move(name),
          .kind = Shape::Kind::kProduct,
          .channels = depth,
          .filters = columns,
          .height = rows,
          .batch = batch};
}

inline std::vector<Shape> Shapes() {
  std::vector<Shape> shapes = {
      Convolution("1x1, 64 to 256, 56", 64, 256, 56, 1),
      Convolution("1x1, 512 to 128, 28", 512, 128, 28, 1),
      Convolution("1x1, 40 to 240, 28", 40, 240, 28, 1),
      Convolution("3x3, 64 to 64, 56", 64, 64, 56, 3),
      Convolution("3x3, 256 to 256, 14", 256, 256, 14, 3),
      Convolution("7x7 stride 2, 3 to 64, 224", 3, 64, 224, 7, 2),
      Convolution("depthwise 3x3, 96, 56", 96, 96, 56, 3, 1, 96),
      Convolution("depthwise 3x3 stride 2, 144, 56", 144, 144, 56, 3, 2, 144),
      Convolution("depthwise 5x5, 240, 28", 240, 240, 28, 5, 1, 240),
      Convolution("3x3 in 32 groups, 128, 28", 128, 128, 28, 3, 1, 32),
      Convolution("3x3 dilated 6, 256 to 64, 33", 256, 64, 33, 3, 1, 1, 6),
      Convolution("3x3 dilated 24, 256 to 64, 33", 256, 64, 33, 3, 1, 1, 24),
  };
  Shape one_axis = Convolution("one axis, 15 taps, 40 to 64, 1600", 40, 64, 1, 1);
  one_axis.width = 1600;
  one_axis.kernel_width = 15;
  shapes.push_back(one_axis);
  Shape transposed = Convolution("transposed 2x2, 128 to 64, 32", 128, 64, 32, 2, 2);
  transposed.kind = Shape::Kind::kTransposed;
  shapes.push_back(transposed);
  shapes.push_back(Product("product 128 x 768 x 768", 128, 768, 768));
  shapes.push_back(Product("product 128 x 768 x 3072", 128, 768, 3072));
  shapes.push_back(Product("product 1 x 768 x 3072", 1, 768, 3072));
  shapes.push_back(Product("product 197 x 768 x 2304", 197, 768, 2304));
  shapes.push_back(Product("product 12 of 128 x 64 x 128", 128, 64, 128, 12));
  Shape byte_product = Product("int8 product 128 x 768 x 768", 128, 768, 768);
  byte_product.bytes = true;
  shapes.push_back(byte_product);
  Shape byte_convolution = Convolution("int8 3x3, 64 to 64, 56", 64, 64, 56, 3);
  byte_convolution.bytes = true;
  shapes.push_back(byte_convolution);
  return shapes;
}

// Threads and rounds, as the command line has them.
struct Effort {
  int threads = 1;
  int rounds = 20;
  Effort(int count, char** words) {
    if (count > 1) threads = std::atoi(words[1]);
    if (count > 2) rounds = std::atoi(words[2]);
  }
};

// Microseconds of the fastest round: processor time with one thread, which waiting for a processor
// does not count in, else time by the clock.
inline double Fastest(const Effort& effort, const std::function<void()>& run) {
  for (int i = 0; i < 3; ++i) run();
  double best = 1e30;
  for (int i = 0; i < effort.rounds; ++i) {
    timespec from{};
    timespec to{};
    const clockid_t clock = effort.threads == 1 ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC;
    clock_gettime(clock, &from);
    run();
    clock_gettime(clock, &to);
    best = std::min(best, static_cast<double>(to.tv_sec - from.tv_sec) * 1e6 +
                              static_cast<double>(to.tv_nsec - from.tv_nsec) * 1e-3);
  }
  return best;
}

inline void Print(const Shape& shape, double microseconds, const std::string& implementation) {
  std::printf("%s\t%.1f\t%s\n", shape.name.c_str(), microseconds, implementation.c_str());
  std::fflush(stdout);
}

inline std::vector<float> Floats(int64_t count) {
  std::vector<float> made(static_cast<size_t>(count));
  for (size_t i = 0; i < made.size(); ++i) {
    made[i] = static_cast<float>(i * 37 % 101) * 0.01f - 0.5f;
  }
  return made;
}

}  // namespace library_bench
