#include <algorithm>
#include <chrono>
#include <filesystem>
#include <iostream>

#include "base/mapped_pages.h"
#include "engine/session.h"
#include "onnx/model_reader.h"
#include "plimsoll/base/text.h"
#include "run_folders.h"

// Runs one model over a list of inputs, in turn: what bench/open_sizes/open_sizes.py drives.
//
//   changing_inputs MODEL FOLDER SECONDS [PASSES]
//
// FOLDER/RUN/in_N.npy are the inputs of runs 0, 1, ...; the list goes through until SECONDS and
// PASSES (3) are over, with one thread. Outputs of one pass more are left as FOLDER/RUN/out_N.npy.
// One line of JSON: the median of all runs in milliseconds, that of the first pass left out, and
// what they took.
namespace plimsoll {
namespace {

using Clock = std::chrono::steady_clock;
using kernels::HostValue;

double Since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

Status Main(const std::filesystem::path& model, const std::filesystem::path& folder, double seconds,
            int passes) {
  PLIMSOLL_ASSIGN(graph::Graph graph, onnx::ReadModel(model));
  engine::SessionOptions options;
  options.threads = 1;
  PLIMSOLL_ASSIGN(const auto session, engine::Session::Create(options));
  PLIMSOLL_ASSIGN(const engine::GraphId id, session->Add(std::move(graph)));
  PLIMSOLL_ASSIGN(const std::vector<engine::Port> ports, session->Inputs(id));
  std::vector<std::vector<HostValue>> runs;
  while (std::filesystem::exists(folder / StrCat(runs.size()))) {
    PLIMSOLL_ASSIGN(auto inputs, ReadInputs(folder / StrCat(runs.size()), ports.size()));
    runs.push_back(std::move(inputs));
  }
  std::vector<double> taken;
  const Clock::time_point begin = Clock::now();
  for (int pass = 0; pass < passes || Since(begin) < seconds; ++pass) {
    for (const std::vector<HostValue>& inputs : runs) {
      const Clock::time_point start = Clock::now();
      PLIMSOLL_ASSIGN(const std::vector<HostValue> outputs, session->RunValues(id, inputs));
      if (pass > 0) taken.push_back(1e3 * Since(start));
    }
  }
  for (size_t run = 0; run < runs.size(); ++run) {
    PLIMSOLL_ASSIGN(const std::vector<HostValue> outputs, session->RunValues(id, runs[run]));
    PLIMSOLL_TRY(WriteOutputs(folder / StrCat(run), outputs));
  }
  std::ranges::nth_element(taken, taken.begin() + std::ssize(taken) / 2);
  const engine::GraphMemory memory = *session->Memory(id);
  std::cout << "{\"p50\": " << taken[taken.size() / 2] << ", \"runs\": " << taken.size()
            << ", \"single_nodes\": " << memory.stretches.single_nodes
            << ", \"planned_nodes\": " << memory.stretches.planned_nodes
            << ", \"feature_map_bytes\": " << session->Memory().device.feature_maps.value()
            << ", \"resident_bytes\": " << ResidentBytes().value() << "}\n";
  return {};
}

}  // namespace
}  // namespace plimsoll

int main(int count, char** words) {
  if (count < 4) {
    std::cerr << "usage: changing_inputs MODEL FOLDER SECONDS [PASSES]\n";
    return 2;
  }
  const int passes = count > 4 ? std::stoi(words[4]) : 3;
  const plimsoll::Status done = plimsoll::Main(words[1], words[2], std::stod(words[3]), passes);
  if (!done.ok()) std::cerr << done.error().Text() << "\n";
  return done.ok() ? 0 : 1;
}
