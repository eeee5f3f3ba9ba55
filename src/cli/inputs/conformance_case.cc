#include "cli/inputs/conformance_case.h"

#include <algorithm>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>

#include "cli/inputs/stored_values.h"
#include "compile/shapes/batch_labels.h"
#include "engine/node_by_node/interpreter.h"
#include "engine/run/poisoned_run.h"
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

// Runs one case and compares what comes out.
class CaseRun {
 public:
  CaseRun(const fs::path& folder, const CaseOptions& options, CaseVerdict& verdict)
      : folder_(folder), options_(options), verdict_(verdict) {}

  Status RunAll() {
    PLIMSOLL_ASSIGN(tolerance_, ReadTolerance(folder_));
    PLIMSOLL_ASSIGN(graph_, onnx::ReadModel(folder_ / "model.onnx"));
    PLIMSOLL_ASSIGN(session_, engine::Session::Create(options_.session));
    PLIMSOLL_ASSIGN(id_, session_->Add(graph_));
    PLIMSOLL_ASSIGN(ports_, session_->Outputs(id_));
    for (int set = 0;; ++set) {
      const fs::path data = folder_ / StrCat("test_data_set_", set);
      if (!fs::is_directory(data) || verdict_.outcome == Outcome::kFailed) return {};
      PLIMSOLL_TRY(RunDataSet(data));
    }
  }

 private:
  // Each run is given inputs of its own.
  Status RunDataSet(const fs::path& data) {
    PLIMSOLL_ASSIGN(expected_, ReadValues(graph_, graph_.root().outputs, data, "output"));
    PLIMSOLL_ASSIGN(auto inputs, ReadInputs(data));
    std::vector<TensorView> shapes;
    for (const HostValue& input : inputs) shapes.push_back({input.tensor.type, input.tensor.dims});
    PLIMSOLL_ASSIGN(const auto batches, session_->Batches(id_));
    PLIMSOLL_ASSIGN(batch_, session_->BatchFor(id_, shapes, batches.empty() ? "" : options_.batch));
    PLIMSOLL_ASSIGN(auto outputs, session_->RunValues(id_, std::move(inputs), {.batch = batch_}));
    Judge(outputs, "");
    PLIMSOLL_ASSIGN(const auto executable, session_->Compile(id_, shapes));
    if (verdict_.outcome == Outcome::kFailed) return {};
    if (executable == nullptr) return RunInStretches(data);
    PLIMSOLL_ASSIGN(inputs, ReadInputs(data));
    PLIMSOLL_TRY(RunOverPoison(*executable, inputs, outputs));
    Judge(outputs, "over poison: ");
    if (verdict_.outcome == Outcome::kFailed) return {};
    PLIMSOLL_ASSIGN(inputs, ReadInputs(data));
    PLIMSOLL_ASSIGN(outputs, RunNodeByNode(std::move(inputs)));
    Judge(outputs, "node by node: ");
    return {};
  }

  // Sizes that only data tells are compiled when they come again, and then they are known.
  Status RunInStretches(const fs::path& data) {
    for (int run = 0; run < 2 && verdict_.outcome != Outcome::kFailed; ++run) {
      PLIMSOLL_ASSIGN(auto inputs, ReadInputs(data));
      PLIMSOLL_ASSIGN(auto outputs, session_->RunValues(id_, std::move(inputs), {.batch = batch_}));
      Judge(outputs, "in stretches: ");
    }
    return {};
  }

  // In memory that a plan may write over, which that of a file is not.
  Result<std::vector<HostValue>> ReadInputs(const fs::path& data) const {
    PLIMSOLL_ASSIGN(auto inputs, ReadValues(graph_, graph_.root().inputs, data, "input"));
    for (HostValue& input : inputs) {
      kernels::HostTensor& tensor = input.tensor;
      if (tensor.data == nullptr || tensor.type == graph::DataType::kString) continue;
      PLIMSOLL_ASSIGN(kernels::HostTensor copy, kernels::AllocateOnHeap(tensor.type, tensor.dims));
      std::memcpy(copy.data.get(), tensor.data.get(), static_cast<size_t>(tensor.size().value()));
      tensor = std::move(copy);
    }
    return inputs;
  }

  bool Makes(size_t output) const {
    return ports_[output].batch.empty() || ports_[output].batch == batch_;
  }

  // Compares what a run gave; `how` says which run it was.
  void Judge(const std::vector<HostValue>& outputs, const char* how) {
    const bool random = DrawsAtRandom(graph_);
    for (size_t i = 0; i < outputs.size(); ++i) {
      if (expected_[i].kind == HostValue::Kind::kUnknown) continue;
      const bool made = outputs[i].kind != HostValue::Kind::kUnknown;
      if (!Makes(i)) {
        if (made) return Fail(i, StrCat(how, "was made, and it is of batch ", ports_[i].batch));
        continue;
      }
      auto difference = FirstDifference(outputs[i], expected_[i], tolerance_);
      if (difference && random) {
        verdict_.outcome = Outcome::kRandom;
        difference = FirstImpossible(outputs[i], expected_[i], tolerance_);
      }
      if (difference) return Fail(i, StrCat(how, "output '", ports_[i].name, "': ", *difference));
    }
  }

  void Fail(size_t output, std::string reason) {
    const graph::Value& port = graph_[graph_.root().outputs[output]];
    if (port.producer.valid()) verdict_.node = graph::Describe(graph_, port.producer);
    verdict_.outcome = Outcome::kFailed;
    verdict_.reason = std::move(reason);
  }

  // The same run once more over memory full of NaN patterns: nothing may change.
  Status RunOverPoison(const engine::Executable& executable, const std::vector<HostValue>& inputs,
                       std::vector<HostValue>& outputs) const {
    std::vector<const void*> read;
    std::vector<void*> written;
    for (const HostValue& input : inputs) read.push_back(input.tensor.data.get());
    for (size_t i = 0; i < outputs.size(); ++i) {
      kernels::HostTensor& made = outputs[i].tensor;
      if (Makes(i)) {
        PLIMSOLL_ASSIGN(made, kernels::AllocateOnHeap(made.type, made.dims));
      }
      written.push_back(made.data.get());
    }
    PLIMSOLL_ASSIGN(
        const engine::PoisonedRun seen,
        engine::RunPoisoned(executable, {.inputs = read,
                                         .outputs = written,
                                         .batch = executable.program().BatchNamed(batch_)}));
    if (!seen.wrote_outside) return {};
    return Error{.kind = ErrorKind::kRunFailed,
                 .code = "run.outside",
                 .what = "a run wrote outside of its plan",
                 .where = "",
                 .why = "a byte next to the arena changed",
                 .remedy = "this is a bug of ours: please report it"};
  }

  // As the file has it, without passes and plan.
  Result<std::vector<HostValue>> RunNodeByNode(std::vector<HostValue> inputs) const {
    graph::Graph graph = graph_;
    PLIMSOLL_TRY(compile::SpreadBatchLabels(graph));
    engine::Interpreter::Options options;
    options.batch = batch_;
    return engine::Interpreter(std::move(graph)).Run(std::move(inputs), options);
  }

  const fs::path& folder_;
  const CaseOptions& options_;
  CaseVerdict& verdict_;
  Tolerance tolerance_;
  graph::Graph graph_;
  std::unique_ptr<engine::Session> session_;
  engine::GraphId id_;
  std::vector<engine::Port> ports_;
  std::vector<HostValue> expected_;  // of the data set
  std::string batch_;                // that it runs; empty: the model has none
};

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

CaseVerdict RunCase(const fs::path& folder, const CaseOptions& options) {
  CaseVerdict verdict;
  verdict.name = folder.filename().string();
  const Status status = CaseRun(folder, options, verdict).RunAll();
  if (!status.ok()) {
    verdict.outcome =
        status.error().kind == ErrorKind::kUnsupported ? Outcome::kUnsupported : Outcome::kFailed;
    verdict.reason = status.error().Text();
  }
  return verdict;
}

}  // namespace plimsoll::cli
