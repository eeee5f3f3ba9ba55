#include <chrono>
#include <iostream>
#include <string>
#include <vector>

#include "cli/model_inputs.h"
#include "engine/mapped_pages.h"
#include "engine/session.h"
#include "engine/weight_hash.h"
#include "onnx/model_reader.h"
#include "plimsoll/base/text.h"

// Adds models to one session and runs each once: what bench/external_weight.py drives.
//
//   external_weight true|false WORK_PATH MODEL...
//
// One line of JSON a model, with what the whole session holds by then.
namespace plimsoll {
namespace {

using kernels::HostValue;

std::string HashOfOutputs(const std::vector<HostValue>& outputs) {
  std::vector<std::string> hashes;
  for (const HostValue& output : outputs) {
    const kernels::HostTensor& tensor = output.tensor;
    const std::span bytes(static_cast<const std::byte*>(tensor.data.get()),
                          static_cast<size_t>(tensor.size().value()));
    hashes.push_back(engine::HashOf(bytes).Text());
  }
  return Join(hashes, " ");
}

Status Main(const std::vector<std::string>& arguments) {
  engine::SessionOptions options;
  options.config.external_weight = arguments[0] == "true";
  options.config.work_path = arguments[1];
  PLIMSOLL_ASSIGN(const auto session, engine::Session::Create(options));
  for (size_t i = 2; i < arguments.size(); ++i) {
    const auto begin = std::chrono::steady_clock::now();
    PLIMSOLL_ASSIGN(graph::Graph graph, onnx::ReadModel(arguments[i]));
    PLIMSOLL_ASSIGN(std::vector<HostValue> inputs, cli::MakeInputs(graph, {}, {}));
    PLIMSOLL_ASSIGN(const engine::GraphId id, session->Add(std::move(graph)));
    std::string outputs;
    {
      PLIMSOLL_ASSIGN(const auto values, session->RunValues(id, std::move(inputs)));
      outputs = HashOfOutputs(values);
    }
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    const engine::SessionMemory memory = session->Memory();
    std::cout << StrCat("{\"model\": \"", arguments[i], "\", \"seconds\": ", took.count(),
                        ", \"weights_bytes\": ", memory.weights.value(),
                        ", \"resident_bytes\": ", engine::ResidentBytes().value(),
                        ", \"reserved_bytes\": ", memory.feature_maps_reserved.value(),
                        ", \"outputs\": \"", outputs, "\"}")
              << std::endl;
  }
  return {};
}

}  // namespace
}  // namespace plimsoll

int main(int count, char** words) {
  const std::vector<std::string> arguments(words + 1, words + count);
  if (arguments.size() < 3) {
    std::cerr << "usage: external_weight true|false WORK_PATH MODEL...\n";
    return 2;
  }
  const plimsoll::Status done = plimsoll::Main(arguments);
  if (!done.ok()) std::cerr << done.error().Text() << "\n";
  return done.ok() ? 0 : 1;
}
