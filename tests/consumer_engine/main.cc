// Opens a model, looks at it, plans it without taking memory, and runs it into memory of its own:
// what a program that embeds the engine writes.
#include <cstdio>
#include <vector>

#include "plimsoll/engine/session.h"

using namespace plimsoll;

namespace {

Status Expect(bool holds, const char* what) {
  if (holds) return {};
  return Error{ErrorKind::kMismatch, "consumer", "this does not hold", what, "", ""};
}

Status LookAt(const Model& model) {
  const ModelInfo& info = model.info();
  PLIMSOLL_TRY(Expect(!info.inputs.empty() && !info.outputs.empty(), "the model has ports"));
  PLIMSOLL_TRY(Expect(info.symbols == std::vector<std::string>{"batch"}, "its symbol is batch"));
  PLIMSOLL_TRY(Expect(info.weight_bytes > Bytes(0) && info.opsets.contains(""), "weights, opset"));
  std::printf("%zu nodes, %s %s\n", info.nodes, info.inputs[0].name.c_str(),
              info.inputs[0].text.c_str());
  return {};
}

Result<Bytes> PeakOf(const Model& model, int64_t batch) {
  PLIMSOLL_ASSIGN(Session session, Session::Create({.threads = 2, .only_plan = true}));
  PLIMSOLL_ASSIGN(const GraphId graph, session.Add(model));
  PLIMSOLL_ASSIGN(const std::vector<Tensor> inputs,
                  session.MakeInputs(graph, {{"batch", {batch}}}));
  PLIMSOLL_ASSIGN(const PlanReport plan, session.Plan(graph, ConstViewsOf(inputs)));
  PLIMSOLL_TRY(Expect(plan.planned && plan.peak >= plan.lower_bound, "it is planned"));
  PLIMSOLL_TRY(session.Reserve(graph, ConstViewsOf(inputs)));
  PLIMSOLL_TRY(Expect(session.memory().device.total() >= plan.peak, "the total has the peak"));
  PLIMSOLL_TRY(Expect(!session.Run(graph, inputs).ok(), "a session that plans does not run"));
  return plan.peak;
}

Status RunIt(const Model& model, Bytes peak) {
  PLIMSOLL_ASSIGN(Session session,
                  Session::Create({.threads = 2, .config = {{"static_memory_policy", "2"}}}));
  PLIMSOLL_ASSIGN(const GraphId graph, session.Add(model));
  PLIMSOLL_ASSIGN(const std::vector<Tensor> inputs, session.MakeInputs(graph, {{"batch", {2}}}));
  for (float& element : inputs[0].Elements<float>()) element = 0.5F;
  const std::vector<ConstTensorView> read = ConstViewsOf(inputs);
  PLIMSOLL_ASSIGN(const std::vector<Tensor> outputs, session.MakeOutputs(graph, read));
  PLIMSOLL_TRY(session.Run(graph, read, ViewsOf(outputs)));
  PLIMSOLL_ASSIGN(const RunReport report, session.LastRun(graph));
  PLIMSOLL_TRY(Expect(report.planned_peak == peak, "the run keeps to the peak that was planned"));
  PLIMSOLL_ASSIGN(const std::vector<Tensor> again, session.Run(graph, inputs));
  const auto first = outputs[0].Elements<float>();
  const auto second = again[0].Elements<float>();
  PLIMSOLL_TRY(Expect(std::vector<float>(first.begin(), first.end()) ==
                          std::vector<float>(second.begin(), second.end()),
                      "the same outputs both ways"));
  std::printf("peak %lld bytes, %zu outputs of the first\n", static_cast<long long>(peak.value()),
              first.size());
  return session.Unload(graph);
}

Status Work(const char* path) {
  PLIMSOLL_ASSIGN(const Model model, Model::Open(path));
  PLIMSOLL_TRY(LookAt(model));
  PLIMSOLL_ASSIGN(const Bytes peak, PeakOf(model, 2));
  PLIMSOLL_TRY(RunIt(model, peak));
  const auto missing = Model::Open("no such file.onnx");
  PLIMSOLL_TRY(Expect(!missing.ok() && missing.error().kind == ErrorKind::kBadFile, "bad file"));
  const auto misspelt = Session::Create({.config = {{"static_memory_polcy", "2"}}});
  return Expect(!misspelt.ok() && misspelt.error().code == "config.unknown", "unknown option");
}

}  // namespace

int main(int count, char** arguments) {
  const Status done = count > 1 ? Work(arguments[1]) : Expect(false, "a model is given");
  if (!done.ok()) std::fprintf(stderr, "%s\n", done.error().Text().c_str());
  return done.ok() ? 0 : 1;
}
