#pragma once

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <string>
#include <vector>

#include "engine/models_for_tests.h"
#include "engine/weights/weight_hash.h"
#include "engine/weights/weight_names.h"
#include "onnx/wire/temporary_folder_for_tests.h"

// For tests of external weights: sessions with a work path, and what lies in it.
namespace plimsoll::engine {

using onnx::TemporaryFolder;

inline SessionOptions WithWeightsIn(const std::filesystem::path& work_path) {
  SessionOptions options;
  options.config.external_weight = true;
  options.config.work_path = work_path.string();
  return options;
}

// Names in a folder, sorted; none when it is not there.
inline std::vector<std::string> NamesIn(const std::filesystem::path& folder) {
  std::vector<std::string> names;
  std::error_code missing;
  for (const auto& entry : std::filesystem::directory_iterator(folder, missing)) {
    names.push_back(entry.path().filename());
  }
  std::sort(names.begin(), names.end());
  return names;
}

// The one weight folder in a work path.
inline std::filesystem::path OnlyFolderIn(const std::filesystem::path& work_path) {
  const std::vector<std::string> names = NamesIn(work_path);
  EXPECT_EQ(names.size(), 1U) << testing::PrintToString(names);
  return names.size() == 1 ? work_path / names[0] : std::filesystem::path();
}

// The weights in a weight folder, sorted.
inline std::vector<std::string> WeightsIn(const std::filesystem::path& folder) {
  std::vector<std::string> names = NamesIn(folder);
  std::erase_if(names, [](const std::string& name) { return !IsWeightFileName(name); });
  return names;
}

inline std::string ContentOf(const std::filesystem::path& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

inline std::string NameOf(std::string_view bytes) {
  return WeightFileName(HashOf({reinterpret_cast<const std::byte*>(bytes.data()), bytes.size()}));
}

template <typename Element>
std::string BytesOf(const std::vector<Element>& elements) {
  return {reinterpret_cast<const char*>(elements.data()), elements.size() * sizeof(Element)};
}

// y = x * weights[32, 32] + bias[32], x [rows, 32].
inline graph::Graph Product(uint32_t seed, const graph::Dim& rows = graph::Dim(4)) {
  graph::GraphBuilder builder;
  const graph::ValueId x = builder.Input("x", compile::FloatTensor({rows, 32}));
  const graph::ValueId weights = RandomWeights(builder, "weights", {32, 32}, seed);
  const graph::ValueId bias = RandomWeights(builder, "bias", {32}, seed + 1);
  builder.Output(builder.Node("Add", {builder.Node("MatMul", {x, weights}), bias}));
  return builder.Build();
}

// A process that does something and then waits to be killed.
class WaitingProcess {
 public:
  explicit WaitingProcess(const std::function<void()>& work) {
    int ready[2];
    EXPECT_EQ(pipe(ready), 0);
    child_ = fork();
    if (child_ == 0) {
      work();
      (void)!write(ready[1], "x", 1);
      for (;;) pause();
    }
    close(ready[1]);
    char done = 0;
    EXPECT_EQ(read(ready[0], &done, 1), 1);
    close(ready[0]);
  }
  ~WaitingProcess() { Kill(); }

  void Kill() {
    if (child_ <= 0) return;
    kill(child_, SIGKILL);
    waitpid(child_, nullptr, 0);
    child_ = 0;
  }

 private:
  pid_t child_ = 0;
};

}  // namespace plimsoll::engine
