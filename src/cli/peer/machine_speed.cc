#include "cli/peer/machine_speed.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <thread>
#include <vector>

#include "engine/session.h"
#include "graph/builder.h"

namespace plimsoll::cli {
namespace {

using graph::DataType;
using graph::ValueType;

double Seconds(std::chrono::steady_clock::time_point since) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - since).count();
}

// Copies between two blocks for each thread that no cache holds.
double CopySpeed(int threads) {
  constexpr size_t kBlock = 64U << 20;
  constexpr int kRounds = 4;
  std::vector<std::vector<char>> from(static_cast<size_t>(threads), std::vector<char>(kBlock, 1));
  std::vector<std::vector<char>> to(static_cast<size_t>(threads), std::vector<char>(kBlock, 2));
  double best = 0;
  for (int round = 0; round < kRounds; ++round) {
    const auto begin = std::chrono::steady_clock::now();
    std::vector<std::thread> copies;
    for (size_t i = 0; i < from.size(); ++i) {
      copies.emplace_back([&, i] { std::memcpy(to[i].data(), from[i].data(), kBlock); });
    }
    for (std::thread& copy : copies) copy.join();
    const double moved = 2.0 * static_cast<double>(kBlock) * threads;
    best = std::max(best, moved / Seconds(begin));
  }
  return best;
}

Result<double> ProductSpeed(int threads) {
  constexpr int64_t kSide = 768;
  constexpr int kRounds = 6;
  graph::GraphBuilder builder;
  const auto matrix = ValueType::Tensor(DataType::kFloat32, graph::Shape{kSide, kSide});
  const std::vector<float> ones(static_cast<size_t>(kSide * kSide), 1.0F);
  const auto x = builder.Input("x", matrix);
  builder.Output(builder.Node("MatMul", {x, builder.Float32s("w", {kSide, kSide}, ones)}));
  engine::SessionOptions options;
  options.threads = threads;
  options.device_name = "cpu";
  PLIMSOLL_ASSIGN(const auto session, engine::Session::Create(options));
  PLIMSOLL_ASSIGN(const engine::GraphId id, session->Add(builder.Build()));
  PLIMSOLL_ASSIGN(const Tensor input, Tensor::Allocate(DataType::kFloat32, {kSide, kSide}));
  PLIMSOLL_ASSIGN(const Tensor output, Tensor::Allocate(DataType::kFloat32, {kSide, kSide}));
  std::copy(ones.begin(), ones.end(), static_cast<float*>(input.data.get()));
  const TensorView read = input.View();
  const TensorView written = output.View();
  double best = 0;
  for (int round = 0; round < kRounds; ++round) {
    const auto begin = std::chrono::steady_clock::now();
    PLIMSOLL_TRY(session->Run(id, {&read, 1}, {&written, 1}));
    // The first run compiles.
    if (round > 0) best = std::max(best, 2.0 * kSide * kSide * kSide / Seconds(begin));
  }
  return best;
}

}  // namespace

Result<MachineSpeed> MeasureMachineSpeed(int threads) {
  MachineSpeed speed;
  speed.bytes_per_second = CopySpeed(threads);
  PLIMSOLL_ASSIGN(speed.operations_per_second, ProductSpeed(threads));
  return speed;
}

}  // namespace plimsoll::cli
