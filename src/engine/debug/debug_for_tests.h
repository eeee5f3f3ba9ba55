#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "engine/debug/npy_format.h"
#include "engine/debug/run_clock.h"
#include "engine/random/configured_runs_for_tests.h"
#include "engine/session_for_tests.h"
#include "engine/weights/weight_files_for_tests.h"
#include "plimsoll/base/log.h"
#include "plimsoll/engine/operator.h"

// For tests of options for debugging: operators that do what operators must not do, a clock that
// stands still, and what lies in folders.
namespace plimsoll::engine {

// Time goes on only when somebody sleeps, unless that is off, or says so. Thread-safe.
class StandingClock final : public RunClock {
 public:
  TimePoint Now() override { return TimePoint(std::chrono::microseconds(time_.load())); }
  void Sleep(std::chrono::microseconds time) override {
    if (sleep_takes_time) Advance(time);
    if (on_sleep) on_sleep();
    std::this_thread::yield();
  }
  void Advance(std::chrono::microseconds time) { time_ += time.count(); }

  std::function<void()> on_sleep;
  // Off: who waits for other threads may sleep as often as these need.
  std::atomic<bool> sleep_takes_time = true;

 private:
  std::atomic<int64_t> time_ = 0;
};

// Every line that is logged while it lives.
class LoggedLines {
 public:
  std::string text() const {
    const std::lock_guard lock(mutex_);
    return text_;
  }

 private:
  mutable std::mutex mutex_;
  std::string text_;
  LogCapture capture_{[this](LogLevel, std::string_view line) {
    const std::lock_guard lock(mutex_);
    text_ += std::string(line) + "\n";
  }};
};

inline constexpr const char* kDebugDomain = "test.debug";

// What the one operator of these tests does besides copying its input; set before a run.
struct Misdeed {
  std::function<Status(const OperatorCall& call, Bytes size)> act;
};
inline Misdeed& TheMisdeed() {
  static Misdeed misdeed;
  return misdeed;
}

// y = x, with 64 bytes of workspace, and what TheMisdeed() says.
inline void RegisterCopier() {
  class Copier : public OperatorKernel {
   public:
    explicit Copier(Bytes size) : size_(size) {}
    Bytes workspace() const override { return Bytes(64); }
    Status Run(const OperatorCall& call) const override {
      std::memset(call.workspace, 7, 64);
      std::memmove(call.outputs[0], call.inputs[0], static_cast<size_t>(size_.value()));
      return TheMisdeed().act ? TheMisdeed().act(call, size_) : Status();
    }

   private:
    Bytes size_;
  };
  static const Status registered =
      RegisterOperator({.domain = kDebugDomain,
                        .name = "Copier",
                        .min_inputs = 1,
                        .max_inputs = 1,
                        .infer_shapes = [](ShapeInference& node) -> Status {
                          node.CopyTypeAndShape(0, 0);
                          return {};
                        },
                        .make_kernel = [](OperatorSite& site) -> Result<OperatorKernelPointer> {
                          return MakeOperatorKernel<Copier>(site.inputs[0].size());
                        },
                        .in_place = {{.output = 0, .input = 0}}});
  ASSERT_TRUE(registered.ok()) << registered.error().Text();
}

inline graph::Node& MakerIn(graph::Graph& graph, graph::ValueId value) {
  return graph[graph[value].producer];
}

// x[4] -> Relu 'first' -> Copier 'middle' -> Neg 'last'. Open rows: x[n].
inline graph::Graph WithCopier(const graph::Dim& rows = 4) {
  RegisterCopier();
  graph::GraphBuilder builder;
  const graph::ValueId x = builder.Input("x", compile::FloatTensor({rows}));
  const graph::ValueId a = builder.Node("Relu", {x});
  const graph::ValueId b = builder.Nodes("Copier", {a}, 1, {}, kDebugDomain)[0];
  const graph::ValueId c = builder.Node("Neg", {b});
  builder.Output(c);
  graph::Graph graph = builder.Build();
  MakerIn(graph, a).name = "first";
  MakerIn(graph, b).name = "middle";
  MakerIn(graph, b).version = 1;
  MakerIn(graph, c).name = "last";
  return graph;
}

// The operator does as it should again when the object dies.
class ScopedMisdeed {
 public:
  explicit ScopedMisdeed(decltype(Misdeed::act) act) { TheMisdeed().act = std::move(act); }
  ~ScopedMisdeed() { TheMisdeed().act = nullptr; }
  ScopedMisdeed(const ScopedMisdeed&) = delete;
  ScopedMisdeed& operator=(const ScopedMisdeed&) = delete;
};

// Files below a folder, by the part of their path behind it, in order.
inline std::vector<std::string> FilesBelow(const std::filesystem::path& folder) {
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (entry.is_regular_file()) files.push_back(entry.path().lexically_relative(folder).string());
  }
  std::ranges::sort(files);
  return files;
}

// Those whose names end so.
inline std::vector<std::string> FilesBelow(const std::filesystem::path& folder,
                                           std::string_view end) {
  std::vector<std::string> files = FilesBelow(folder);
  std::erase_if(files, [&](const std::string& file) { return !file.ends_with(end); });
  return files;
}

inline void ExpectFloatFile(const std::filesystem::path& file, const Ints& dims,
                            const std::vector<float>& elements) {
  std::string expected = *NpyHeader(DataType::kFloat32, dims);
  expected.append(reinterpret_cast<const char*>(elements.data()), elements.size() * 4);
  EXPECT_EQ(ContentOf(file), expected) << file;
}

}  // namespace plimsoll::engine
