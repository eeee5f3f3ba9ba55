#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <sstream>

#include "cli/npy.h"
#include "engine/mapped_pages.h"
#include "engine/session.h"
#include "kernels/element_types.h"
#include "onnx/model_reader.h"
#include "plimsoll/base/text.h"

// Runs one model over a list of sizes, three times, in one session: what bench/dynamic_shapes.py
// drives.
//
//   dynamic_shapes MODEL SIZES FOLDER [EVERY]
//
// SIZES has one run a line: "batch=2 seq=37". Integers are drawn from 0 and 1, floats from -1 to 1.
// Each EVERY-th run of the first pass leaves its inputs and outputs in FOLDER/RUN/{in,out}_N.npy.
// One line of JSON a pass.
namespace plimsoll {
namespace {

using engine::Tensor;
using kernels::HostTensor;
using kernels::HostValue;
using Sizes = std::map<std::string, int64_t>;

std::vector<Sizes> ReadSizes(const std::string& file) {
  std::vector<Sizes> runs;
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) {
    Sizes sizes;
    std::istringstream words(line);
    for (std::string word; words >> word;) {
      const size_t equals = word.find('=');
      sizes[word.substr(0, equals)] = std::stoll(word.substr(equals + 1));
    }
    runs.push_back(std::move(sizes));
  }
  return runs;
}

Result<HostTensor> Draw(const graph::ValueType& declared, const Sizes& sizes, uint32_t seed) {
  kernels::Dims dims;
  for (const graph::Dim& dim : *declared.shape) {
    const graph::Dim known =
        dim.Substitute([&](const std::string& name) -> std::optional<graph::Dim> {
          const auto found = sizes.find(name);
          return found == sizes.end() ? std::nullopt : std::optional<graph::Dim>(found->second);
        });
    dims.push_back(known.AsNumber().value_or(1));
  }
  PLIMSOLL_ASSIGN(HostTensor tensor, kernels::AllocateOnHeap(declared.data_type, dims));
  uint32_t state = seed * 2654435761U + 1;
  for (int64_t i = 0; i < tensor.elements(); ++i) {
    state = state * 1664525U + 1013904223U;
    if (graph::IsFloating(tensor.type)) {
      kernels::StoreDouble(tensor.type, tensor.data.get(), i, (state >> 8) / 8388608.0 - 1.0);
    } else {
      kernels::StoreInteger(tensor.type, tensor.data.get(), i, (state >> 16) & 1);
    }
  }
  return tensor;
}

struct Pass {
  double seconds = 0;
  Bytes largest_plan;
  Bytes reserved;
  Bytes resident;
};

class DynamicShapes {
 public:
  DynamicShapes(engine::Session& session, engine::GraphId id, std::filesystem::path folder)
      : session_(session), id_(id), folder_(std::move(folder)) {}

  Result<Pass> Run(const std::vector<Sizes>& runs, size_t every) {
    Pass pass;
    PLIMSOLL_ASSIGN(const std::vector<engine::Port> ports, session_.Inputs(id_));
    const auto begin = std::chrono::steady_clock::now();
    for (size_t run = 0; run < runs.size(); ++run) {
      std::vector<HostValue> inputs;
      for (const engine::Port& port : ports) {
        PLIMSOLL_ASSIGN(HostTensor input,
                        Draw(port.type, runs[run], static_cast<uint32_t>(run + inputs.size())));
        inputs.push_back(HostValue::Of(std::move(input)));
      }
      PLIMSOLL_ASSIGN(const std::vector<HostValue> outputs, session_.RunValues(id_, inputs));
      PLIMSOLL_ASSIGN(const engine::GraphMemory memory, session_.Memory(id_));
      pass.largest_plan = std::max(pass.largest_plan, memory.planned_peak);
      pass.reserved = memory.reserved;
      if (every == 0 || run % every != 0) continue;
      const auto place = folder_ / std::to_string(run);
      std::filesystem::create_directories(place);
      PLIMSOLL_TRY(Write(place, "in_", inputs));
      PLIMSOLL_TRY(Write(place, "out_", outputs));
    }
    pass.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    pass.resident = engine::ResidentBytes();
    return pass;
  }

 private:
  static Status Write(const std::filesystem::path& place, const std::string& prefix,
                      const std::vector<HostValue>& values) {
    for (size_t i = 0; i < values.size(); ++i) {
      PLIMSOLL_TRY(cli::WriteNpy(place / StrCat(prefix, i, ".npy"), values[i].tensor));
    }
    return {};
  }

  engine::Session& session_;
  engine::GraphId id_;
  std::filesystem::path folder_;
};

Status Main(const std::vector<std::string>& arguments) {
  const std::vector<Sizes> runs = ReadSizes(arguments[1]);
  const size_t every = arguments.size() > 3 ? std::stoul(arguments[3]) : 0;
  PLIMSOLL_ASSIGN(graph::Graph graph, onnx::ReadModel(arguments[0]));
  PLIMSOLL_ASSIGN(const auto session, engine::Session::Create({}));
  PLIMSOLL_ASSIGN(const engine::GraphId id, session->Add(std::move(graph)));
  DynamicShapes bench(*session, id, arguments[2]);
  for (int number = 1; number <= 3; ++number) {
    PLIMSOLL_ASSIGN(const Pass pass, bench.Run(runs, number == 1 ? every : 0));
    PLIMSOLL_ASSIGN(const engine::GraphMemory memory, session->Memory(id));
    std::cout << StrCat("{\"pass\": ", number, ", \"runs\": ", runs.size(),
                        ", \"seconds\": ", pass.seconds,
                        ", \"largest_plan_bytes\": ", pass.largest_plan.value(),
                        ", \"reserved_bytes\": ", pass.reserved.value(),
                        ", \"resident_bytes\": ", pass.resident.value(),
                        ", \"kept_plans\": ", memory.plans, "}")
              << std::endl;
  }
  return {};
}

}  // namespace
}  // namespace plimsoll

int main(int count, char** words) {
  const std::vector<std::string> arguments(words + 1, words + count);
  if (arguments.size() < 3) {
    std::cerr << "usage: dynamic_shapes MODEL SIZES FOLDER [EVERY]\n";
    return 2;
  }
  const plimsoll::Status done = plimsoll::Main(arguments);
  if (!done.ok()) std::cerr << done.error().Text() << "\n";
  return done.ok() ? 0 : 1;
}
