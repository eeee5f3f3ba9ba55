#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <sstream>

#include "base/mapped_pages.h"
#include "cli/inputs/npy.h"
#include "engine/session.h"
#include "kernels/element_types.h"
#include "onnx/model_reader.h"
#include "plimsoll/base/text.h"

// Runs one model over a list of sizes, three times: what bench/dynamic_shapes.py drives.
//
//   dynamic_shapes MODEL SIZES FOLDER [EVERY [POLICY...]]
//
// One session for each static_memory_policy that is named (0 where none is); they take turns at
// each run.
// SIZES has one run a line: "batch=2 seq=37". Integers are drawn from 0 and 1, floats from -1 to 1.
// Each EVERY-th run of the first pass leaves its inputs and outputs in FOLDER/RUN/{in,out}_N.npy.
// One line of JSON for each pass and policy.
namespace plimsoll {
namespace {

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
};

// One session with the model in it.
class Subject {
 public:
  static Result<Subject> Make(const graph::Graph& graph, int policy) {
    engine::SessionOptions options;
    options.config.memory_config.static_memory_policy =
        static_cast<config::StaticMemoryPolicy>(policy);
    Subject subject;
    subject.policy_ = policy;
    PLIMSOLL_ASSIGN(subject.session_, engine::Session::Create(options));
    PLIMSOLL_ASSIGN(subject.id_, subject.session_->Add(graph));
    return subject;
  }

  Result<std::vector<HostValue>> Run(const std::vector<HostValue>& inputs) {
    const auto begin = std::chrono::steady_clock::now();
    auto outputs = session_->RunValues(id_, inputs);
    pass_.seconds +=
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    PLIMSOLL_ASSIGN(const engine::GraphMemory memory, session_->Memory(id_));
    pass_.largest_plan = std::max(pass_.largest_plan, memory.planned_peak);
    pass_.reserved = session_->Memory().peak_feature_maps_reserved;
    return outputs;
  }

  Result<std::string> EndPass(int number, size_t runs) {
    PLIMSOLL_ASSIGN(const engine::GraphMemory memory, session_->Memory(id_));
    const Pass pass = std::exchange(pass_, {});
    return StrCat(
        "{\"policy\": ", policy_, ", \"pass\": ", number, ", \"runs\": ", runs,
        ", \"seconds\": ", pass.seconds, ", \"largest_plan_bytes\": ", pass.largest_plan.value(),
        ", \"reserved_bytes\": ", pass.reserved.value(),
        ", \"resident_bytes\": ", ResidentBytes().value(), ", \"kept_plans\": ", memory.plans, "}");
  }

  Result<std::vector<engine::Port>> Inputs() const { return session_->Inputs(id_); }

 private:
  int policy_ = 0;
  std::unique_ptr<engine::Session> session_;
  engine::GraphId id_;
  Pass pass_;
};

Status Write(const std::filesystem::path& place, const std::string& prefix,
             const std::vector<HostValue>& values) {
  std::filesystem::create_directories(place);
  for (size_t i = 0; i < values.size(); ++i) {
    PLIMSOLL_TRY(cli::WriteNpy(place / StrCat(prefix, i, ".npy"), values[i].tensor));
  }
  return {};
}

// One pass of all subjects over the list; `every` as above, 0: no run is written.
Status RunPass(std::vector<Subject>& subjects, const std::vector<Sizes>& runs,
               const std::filesystem::path& folder, size_t every) {
  PLIMSOLL_ASSIGN(const std::vector<engine::Port> ports, subjects[0].Inputs());
  for (size_t run = 0; run < runs.size(); ++run) {
    std::vector<HostValue> inputs;
    for (const engine::Port& port : ports) {
      PLIMSOLL_ASSIGN(HostTensor input,
                      Draw(port.type, runs[run], static_cast<uint32_t>(run + inputs.size())));
      inputs.push_back(HostValue::Of(std::move(input)));
    }
    for (Subject& subject : subjects) {
      PLIMSOLL_ASSIGN(const std::vector<HostValue> outputs, subject.Run(inputs));
      if (every == 0 || run % every != 0) continue;
      PLIMSOLL_TRY(Write(folder / std::to_string(run), "in_", inputs));
      PLIMSOLL_TRY(Write(folder / std::to_string(run), "out_", outputs));
    }
  }
  return {};
}

Status Main(const std::vector<std::string>& arguments) {
  const std::vector<Sizes> runs = ReadSizes(arguments[1]);
  const size_t every = arguments.size() > 3 ? std::stoul(arguments[3]) : 0;
  PLIMSOLL_ASSIGN(const graph::Graph graph, onnx::ReadModel(arguments[0]));
  std::vector<Subject> subjects;
  for (size_t i = 4; i < std::max<size_t>(arguments.size(), 5); ++i) {
    const int policy = i < arguments.size() ? std::stoi(arguments[i]) : 0;
    PLIMSOLL_ASSIGN(Subject subject, Subject::Make(graph, policy));
    subjects.push_back(std::move(subject));
  }
  for (int number = 1; number <= 3; ++number) {
    PLIMSOLL_TRY(RunPass(subjects, runs, arguments[2], number == 1 ? every : 0));
    for (Subject& subject : subjects) {
      PLIMSOLL_ASSIGN(const std::string line, subject.EndPass(number, runs.size()));
      std::cout << line << std::endl;
    }
  }
  return {};
}

}  // namespace
}  // namespace plimsoll

int main(int count, char** words) {
  const std::vector<std::string> arguments(words + 1, words + count);
  if (arguments.size() < 3) {
    std::cerr << "usage: dynamic_shapes MODEL SIZES FOLDER [EVERY [POLICY...]]\n";
    return 2;
  }
  const plimsoll::Status done = plimsoll::Main(arguments);
  if (!done.ok()) std::cerr << done.error().Text() << "\n";
  return done.ok() ? 0 : 1;
}
