#include "cli/conformance_case.h"

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>

#include "cli/stored_values.h"
#include "engine/poisoned_run.h"
#include "engine/session.h"
#include "kernels/catalogue.h"
#include "onnx/model_reader.h"
#include "plimsoll/base/text.h"

namespace plimsoll::cli {
namespace {

namespace fs = std::filesystem;
using kernels::HostValue;
using Outcome = CaseVerdict::Outcome;

Result<std::vector<HostValue>> ReadValues(const graph::Graph& graph,
                                          const std::vector<graph::ValueId>& ports,
                                          const fs::path& folder, const char* word) {
  std::vector<HostValue> values(ports.size());
  for (size_t i = 0; i < ports.size(); ++i) {
    const fs::path file = folder / StrCat(word, "_", i, ".pb");
    if (!fs::exists(file)) continue;
    PLIMSOLL_ASSIGN(values[i], ReadHostValue(file, graph[ports[i]].declared));
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

// Compares what a run gave; `how` says which run it was.
void Judge(const graph::Graph& graph, const std::vector<HostValue>& outputs,
           const std::vector<HostValue>& expected, const Tolerance& tolerance, const char* how,
           CaseVerdict& verdict) {
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
    verdict.reason = StrCat(how, "output '", port.name, "': ", *difference);
    return;
  }
}

// The same run once more over memory full of NaN patterns: nothing may change.
Status RunOverPoison(const engine::Executable& executable, const std::vector<HostValue>& inputs,
                     std::vector<HostValue>& outputs) {
  std::vector<const void*> read;
  std::vector<void*> written;
  for (const HostValue& input : inputs) read.push_back(input.tensor.data.get());
  for (HostValue& output : outputs) {
    PLIMSOLL_ASSIGN(output.tensor, kernels::AllocateOnHeap(output.tensor.type, output.tensor.dims));
    written.push_back(output.tensor.data.get());
  }
  PLIMSOLL_ASSIGN(const engine::PoisonedRun seen,
                  engine::RunPoisoned(executable, {.inputs = read, .outputs = written}));
  if (!seen.wrote_outside) return {};
  return Error{.kind = ErrorKind::kRunFailed,
               .code = "run.outside",
               .what = "a run wrote outside of its plan",
               .where = "",
               .why = "a byte beside the arena changed",
               .remedy = "this is a bug of ours: please report it"};
}

Status RunDataSet(const graph::Graph& graph, engine::Session& session, engine::GraphId id,
                  const fs::path& folder, const Tolerance& tolerance, CaseVerdict& verdict) {
  PLIMSOLL_ASSIGN(auto inputs, ReadValues(graph, graph.root().inputs, folder, "input"));
  PLIMSOLL_ASSIGN(const auto expected, ReadValues(graph, graph.root().outputs, folder, "output"));
  PLIMSOLL_ASSIGN(auto outputs, session.RunValues(id, inputs));
  Judge(graph, outputs, expected, tolerance, "", verdict);
  std::vector<engine::Tensor> shapes;
  for (const HostValue& input : inputs) shapes.push_back({input.tensor.type, input.tensor.dims});
  PLIMSOLL_ASSIGN(const auto executable, session.Compile(id, shapes));
  if (executable == nullptr || verdict.outcome == Outcome::kFailed) return {};
  PLIMSOLL_TRY(RunOverPoison(*executable, inputs, outputs));
  Judge(graph, outputs, expected, tolerance, "over poison: ", verdict);
  return {};
}

Status RunAll(const fs::path& folder, CaseVerdict& verdict) {
  PLIMSOLL_ASSIGN(const Tolerance tolerance, ReadTolerance(folder));
  PLIMSOLL_ASSIGN(const graph::Graph graph, onnx::ReadModel(folder / "model.onnx"));
  PLIMSOLL_ASSIGN(const auto session, engine::Session::Create({}));
  PLIMSOLL_ASSIGN(const engine::GraphId id, session->Add(graph));
  for (int set = 0;; ++set) {
    const fs::path data = folder / StrCat("test_data_set_", set);
    if (!fs::is_directory(data) || verdict.outcome == Outcome::kFailed) return {};
    PLIMSOLL_TRY(RunDataSet(graph, *session, id, data, tolerance, verdict));
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
