#pragma once

#include <memory>
#include <vector>

#include "engine/run/poisoned_run.h"
#include "engine/session_for_tests.h"

// For tests of options: a graph run under a configuration, compared with a session that was given
// none.
namespace plimsoll::engine {

inline SessionOptions Under(config::RunConfig config) {
  SessionOptions options;
  options.config = std::move(config);
  return options;
}

inline std::vector<std::byte> BytesOf(const kernels::HostTensor& tensor) {
  const auto* const begin = static_cast<const std::byte*>(tensor.data.get());
  return {begin, begin + tensor.size().value()};
}

// Without passes, so that kernels are the same whatever nodes ask of their memory.
inline SessionOptions WithoutPasses() {
  SessionOptions options;
  options.load.optimise = false;
  return options;
}

inline kernels::HostTensor CopyOf(const kernels::HostTensor& tensor) {
  kernels::HostTensor copy = *kernels::AllocateOnHeap(tensor.type, tensor.dims);
  std::memcpy(copy.data.get(), tensor.data.get(), static_cast<size_t>(tensor.size().value()));
  return copy;
}

inline std::vector<kernels::HostTensor> CopiesOf(const std::vector<kernels::HostTensor>& tensors) {
  std::vector<kernels::HostTensor> copies;
  for (const kernels::HostTensor& tensor : tensors) copies.push_back(CopyOf(tensor));
  return copies;
}

// Compiles the graph under the configuration, runs it plainly and over poisoned memory, and expects
// the bytes that a session without a configuration gives. Inputs are copied for each run.
inline std::shared_ptr<const Executable> ExpectSameBytes(
    const graph::Graph& graph, const std::vector<kernels::HostTensor>& inputs,
    const SessionOptions& options) {
  const auto plain = MakeSession();
  const auto expected = MustRun(*plain, MustAdd(*plain, graph), CopiesOf(inputs));
  const auto session = MakeSession(options);
  const GraphId id = MustAdd(*session, graph);
  const auto got = MustRun(*session, id, CopiesOf(inputs));
  const auto executable = session->Compile(id, Views(inputs));
  if (!executable.ok() || *executable == nullptr || got.size() != expected.size()) {
    ADD_FAILURE() << "there is no plan";
    return nullptr;
  }
  const auto given = CopiesOf(inputs);
  std::vector<const void*> from;
  for (const kernels::HostTensor& input : given) from.push_back(input.data.get());
  const auto poisoned = CopiesOf(expected);
  std::vector<void*> to;
  for (const kernels::HostTensor& output : poisoned) to.push_back(output.data.get());
  const auto run = RunPoisoned(**executable, {.inputs = from, .outputs = to});
  EXPECT_TRUE(run.ok() && !run->wrote_outside);
  for (size_t i = 0; i < got.size(); ++i) {
    EXPECT_EQ(BytesOf(got[i]), BytesOf(expected[i])) << "output " << i;
    EXPECT_EQ(BytesOf(poisoned[i]), BytesOf(expected[i])) << "output " << i << ", poisoned";
  }
  return *executable;
}

// The addresses of runs in a tensor that is as large as the program.
inline Executable::Addresses BindTo(const Executable& executable,
                                    const kernels::HostTensor& memory) {
  auto* const arena = static_cast<std::byte*>(memory.data.get());
  return executable.Bind(arena, AreasBehind(executable.program(), arena));
}

inline Bytes PeakOf(const Executable& executable) {
  return compile::FeatureMapPeak(executable.model().planned);
}

}  // namespace plimsoll::engine
