#include <chrono>
#include <filesystem>
#include <iostream>

#include "engine/session.h"
#include "onnx/model_reader.h"
#include "plimsoll/base/text.h"
#include "run_folders.h"

// Runs one model over a list of inputs, each of them twice in a row: what
// bench/open_sizes/new_sizes.py drives.
//
//   first_runs MODEL FOLDER [THREADS]
//
// FOLDER/RUN/in_N.npy are the inputs of runs 0, 1, ...; outputs of the first of the two are left as
// FOLDER/RUN/out_N.npy. One line of JSON: what loading took, and the milliseconds of the first and
// of the second run of each input.
namespace plimsoll {
namespace {

using Clock = std::chrono::steady_clock;
using kernels::HostValue;

double MillisecondsSince(Clock::time_point begin) {
  return std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
}

Status Main(const std::filesystem::path& model, const std::filesystem::path& folder, int threads) {
  const Clock::time_point opened = Clock::now();
  PLIMSOLL_ASSIGN(graph::Graph graph, onnx::ReadModel(model));
  engine::SessionOptions options;
  options.threads = threads;
  PLIMSOLL_ASSIGN(const auto session, engine::Session::Create(options));
  PLIMSOLL_ASSIGN(const engine::GraphId id, session->Add(std::move(graph)));
  std::cout << "{\"load\": " << MillisecondsSince(opened);
  PLIMSOLL_ASSIGN(const std::vector<engine::Port> ports, session->Inputs(id));
  std::vector<double> first;
  std::vector<double> again;
  for (size_t run = 0; std::filesystem::exists(folder / StrCat(run)); ++run) {
    PLIMSOLL_ASSIGN(const auto inputs, ReadInputs(folder / StrCat(run), ports.size()));
    Clock::time_point start = Clock::now();
    PLIMSOLL_ASSIGN(const std::vector<HostValue> outputs, session->RunValues(id, inputs));
    first.push_back(MillisecondsSince(start));
    start = Clock::now();
    PLIMSOLL_TRY(session->RunValues(id, inputs).status());
    again.push_back(MillisecondsSince(start));
    PLIMSOLL_TRY(WriteOutputs(folder / StrCat(run), outputs));
  }
  std::cout << ", \"first\": [" << Join(first, ", ") << "], \"again\": [" << Join(again, ", ")
            << "]}\n";
  return {};
}

}  // namespace
}  // namespace plimsoll

int main(int count, char** words) {
  if (count < 3) {
    std::cerr << "usage: first_runs MODEL FOLDER [THREADS]\n";
    return 2;
  }
  const plimsoll::Status done =
      plimsoll::Main(words[1], words[2], count > 3 ? std::stoi(words[3]) : 1);
  if (!done.ok()) std::cerr << done.error().Text() << "\n";
  return done.ok() ? 0 : 1;
}
