#include "cli/conformance_case.h"

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>

#include "engine/interpreter.h"
#include "kernels/catalogue.h"
#include "onnx/model_reader.h"
#include "onnx/tensor_reader.h"
#include "plimsoll/base/text.h"

namespace plimsoll::cli {
namespace {

namespace fs = std::filesystem;
using kernels::HostValue;
using onnx::StoredValue;
using Outcome = CaseVerdict::Outcome;

Result<HostValue> ToHostValue(const StoredValue& stored) {
  if (stored.kind == StoredValue::Kind::kTensor) {
    PLIMSOLL_ASSIGN(kernels::HostTensor tensor, kernels::ToHostTensor(stored.tensor));
    return HostValue::Of(std::move(tensor));
  }
  std::vector<HostValue> elements;
  for (const StoredValue& element : stored.elements) {
    PLIMSOLL_ASSIGN(HostValue value, ToHostValue(element));
    elements.push_back(std::move(value));
  }
  return stored.kind == StoredValue::Kind::kSequence ? HostValue::Sequence(std::move(elements))
                                                     : HostValue::Optional(std::move(elements));
}

Result<std::vector<HostValue>> ReadValues(const graph::Graph& graph,
                                          const std::vector<graph::ValueId>& ports,
                                          const fs::path& folder, const char* word) {
  std::vector<HostValue> values(ports.size());
  for (size_t i = 0; i < ports.size(); ++i) {
    const fs::path file = folder / StrCat(word, "_", i, ".pb");
    if (!fs::exists(file)) continue;
    PLIMSOLL_ASSIGN(const StoredValue stored,
                    onnx::ReadStoredValue(file, graph[ports[i]].declared));
    PLIMSOLL_ASSIGN(values[i], ToHostValue(stored));
  }
  return values;
}

Result<Tolerance> ReadTolerance(const fs::path& folder) {
  Tolerance tolerance;
  std::ifstream file(folder / "tolerance.json");
  if (!file) return tolerance;
  const auto json = nlohmann::json::parse(file, nullptr, false);
  const bool good = json.is_object() && json.value("rtol", nlohmann::json(0.0)).is_number() &&
                    json.value("atol", nlohmann::json(0.0)).is_number();
  if (!good) {
    return Error{.kind = ErrorKind::kBadFile,
                 .code = "conformance.tolerance",
                 .what = "cannot read the tolerance",
                 .where = (folder / "tolerance.json").string(),
                 .why = "it is not an object with the numbers rtol and atol",
                 .remedy = "write {\"rtol\": 1e-3, \"atol\": 1e-7}, or remove the file"};
  }
  tolerance.rtol = json.value("rtol", tolerance.rtol);
  tolerance.atol = json.value("atol", tolerance.atol);
  return tolerance;
}

bool DrawsAtRandom(const graph::Graph& graph) {
  return std::any_of(graph.nodes.begin(), graph.nodes.end(),
                     [](const graph::Node& node) { return !kernels::IsDeterministic(node); });
}

Status RunDataSet(const graph::Graph& graph, const fs::path& folder, const Tolerance& tolerance,
                  CaseVerdict& verdict) {
  PLIMSOLL_ASSIGN(auto inputs, ReadValues(graph, graph.root().inputs, folder, "input"));
  PLIMSOLL_ASSIGN(const auto expected, ReadValues(graph, graph.root().outputs, folder, "output"));
  engine::Interpreter interpreter(graph);
  PLIMSOLL_ASSIGN(const auto outputs, interpreter.Run(std::move(inputs), {}));
  const bool random = DrawsAtRandom(graph);
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (expected[i].kind == HostValue::Kind::kUnknown) continue;
    auto difference = FirstDifference(outputs[i], expected[i], tolerance);
    if (difference && random) {
      verdict.outcome = Outcome::kRandom;
      difference = FirstImpossible(outputs[i], expected[i], tolerance);
    }
    if (!difference) continue;
    const graph::Value& port = graph[graph.root().outputs[i]];
    if (port.producer.valid()) verdict.node = graph::Describe(graph, port.producer);
    verdict.outcome = Outcome::kFailed;
    verdict.reason = StrCat("output '", port.name, "': ", *difference);
    return {};
  }
  return {};
}

Status RunAll(const fs::path& folder, CaseVerdict& verdict) {
  PLIMSOLL_ASSIGN(const Tolerance tolerance, ReadTolerance(folder));
  PLIMSOLL_ASSIGN(const graph::Graph graph, onnx::ReadModel(folder / "model.onnx"));
  for (int set = 0;; ++set) {
    const fs::path data = folder / StrCat("test_data_set_", set);
    if (!fs::is_directory(data) || verdict.outcome == Outcome::kFailed) return {};
    PLIMSOLL_TRY(RunDataSet(graph, data, tolerance, verdict));
  }
}

}  // namespace

Result<std::vector<fs::path>> FindCases(const fs::path& top) {
  std::vector<fs::path> cases;
  std::error_code failed;
  for (fs::recursive_directory_iterator entry(top, failed), end; !failed && entry != end;
       entry.increment(failed)) {
    const fs::path& folder = entry->path();
    if (folder.filename() == "model.onnx" && fs::exists(folder.parent_path() / "test_data_set_0")) {
      cases.push_back(folder.parent_path());
    }
  }
  if (cases.empty()) {
    return Error{.kind = ErrorKind::kBadFile,
                 .code = "conformance.empty",
                 .what = "no cases found",
                 .where = top.string(),
                 .why = failed ? failed.message()
                               : "no folder below it holds model.onnx and test_data_set_0",
                 .remedy = "tests/generate_cases.py DIR writes the standard's cases"};
  }
  std::sort(cases.begin(), cases.end());
  return cases;
}

CaseVerdict RunCase(const fs::path& folder) {
  CaseVerdict verdict;
  verdict.name = folder.filename().string();
  const Status status = RunAll(folder, verdict);
  if (!status.ok()) {
    verdict.outcome =
        status.error().kind == ErrorKind::kUnsupported ? Outcome::kUnsupported : Outcome::kFailed;
    verdict.reason = status.error().Text();
  }
  return verdict;
}

}  // namespace plimsoll::cli
