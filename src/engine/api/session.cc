#include "plimsoll/engine/session.h"

#include <algorithm>
#include <cstring>
#include <mutex>

#include "base/usable_cores.h"
#include "config/effective_config.h"
#include "config/files/config_file.h"
#include "config/settings.h"
#include "engine/api/feature_map_lives.h"
#include "engine/api/model_parts.h"
#include "engine/api/plan_report.h"
#include "engine/api/port_tensors.h"
#include "engine/run/port_checks.h"
#include "engine/session.h"
#include "engine/weights/shared_forms.h"
#include "plimsoll/base/text.h"
#include "plimsoll/device/registry.h"
#include "plimsoll/plan/assigner.h"

namespace plimsoll {
namespace {

std::optional<compile::WeightForms> WeightFormsOf(WeightForm form) {
  switch (form) {
    case WeightForm::kPacked:
      return compile::WeightForms::kPacked;
    case WeightForm::kSmaller:
      return compile::WeightForms::kSmaller;
    case WeightForm::kPlain:
      return compile::WeightForms::kPlain;
    case WeightForm::kAsConfigured:
      break;
  }
  return std::nullopt;
}

Result<config::Settings> SettingsOf(const SessionOptions& options) {
  config::Settings settings;
  for (const std::string& file : options.config_files) {
    PLIMSOLL_ASSIGN(const config::Settings from_file, config::ReadConfigFile(file));
    settings.Append(from_file);
  }
  for (const auto& [name, value] : options.config) settings.Set(name, value);
  if (options.npu_run_config) settings.UseNpuRunConfigDefaults();
  return settings;
}

Result<engine::SessionOptions> EngineOptions(const SessionOptions& options) {
  engine::SessionOptions made;
  PLIMSOLL_ASSIGN(const config::Settings settings, SettingsOf(options));
  PLIMSOLL_ASSIGN(made.config, config::Resolve(settings, config::ProcessEnvironment()));
  if (!options.assigner.empty()) {
    PLIMSOLL_TRY(plan::MakeAssigner(options.assigner).status());
    made.config.memory_assigner = options.assigner;
  }
  if (options.threads < 0) {
    return Error{
        .kind = ErrorKind::kUsage,
        .code = "session.threads",
        .what = "cannot make the session",
        .where = StrCat("threads ", options.threads),
        .why = "a run cannot have fewer than none",
        .remedy = "give a number from 1, or 0 for the processors that this process may use"};
  }
  made.threads = options.threads == 0 ? UsableCores() : options.threads;
  made.pin_threads = options.pin_threads;
  made.load.optimise = options.optimise;
  made.load.only_plan = options.only_plan;
  made.profiling = options.profiling;
  made.load.weight_forms = WeightFormsOf(options.weights);
  made.allocator = options.allocator;
  made.device = options.device;
  if (made.device == nullptr && options.device_name != SessionOptions().device_name) {
    PLIMSOLL_ASSIGN(const device::DeviceName name, device::ParseDeviceName(options.device_name));
    PLIMSOLL_ASSIGN(made.device,
                    device::MakeDevice(name.kind, {.devices = name.id.ordinal + 1,
                                                   .granularity = engine::kSessionGranularity}));
    if (name.id.ordinal > 0) made.config.session_device_id = name.id.ordinal;
  }
  return made;
}

// The one place where what callers lend to be read becomes what the engine takes: it reads it, save
// where the caller lends it to be overwritten.
void SetViews(std::span<const ConstTensorView> from, std::vector<TensorView>& to) {
  to.resize(from.size());
  for (size_t i = 0; i < from.size(); ++i) {
    to[i].type = from[i].type;
    to[i].dims = from[i].dims;
    to[i].data = const_cast<void*>(from[i].data);
    to[i].strides = from[i].strides;
    to[i].on_device = from[i].on_device;
  }
}

std::vector<TensorView> EngineViews(std::span<const ConstTensorView> from) {
  std::vector<TensorView> views;
  SetViews(from, views);
  return views;
}

engine::RunOptions EngineOptions(const RunOptions& options) {
  engine::RunOptions made{.cancelled = options.cancelled, .batch = options.batch};
  if (options.feed == nullptr) return made;
  made.feed = [feed = options.feed, kept = std::make_shared<std::vector<TensorView>>()](
                  int64_t step) -> Result<std::span<const TensorView>> {
    PLIMSOLL_ASSIGN(const std::vector<ConstTensorView> inputs, feed(step));
    SetViews(inputs, *kept);
    return std::span<const TensorView>(*kept);
  };
  return made;
}

std::vector<PortInfo> PortInfosOf(const std::vector<engine::Port>& ports) {
  std::vector<PortInfo> infos;
  for (const engine::Port& port : ports) {
    infos.push_back(MakePortInfo(port.name, port.type, port.batch));
  }
  return infos;
}

std::vector<std::string> NamesOf(const std::vector<engine::Port>& ports) {
  std::vector<std::string> names;
  for (const engine::Port& port : ports) names.push_back(port.name);
  return names;
}

Result<Tensor> Zeros(const graph::Value& input) {
  const graph::ValueType& type = input.type;
  const std::string where = StrCat("input '", input.name, "'");
  if (!type.is_tensor()) {
    return engine::BadArgument("input.kind", where, StrCat("it is ", Text(type), ", no tensor"),
                               "make it yourself and call RunValues");
  }
  if (!type.shape || !graph::IsStatic(*type.shape)) {
    return engine::BadArgument("input.shape", where, StrCat("its size is open: ", Text(type)),
                               "say the sizes of its symbols, or its whole shape");
  }
  PLIMSOLL_ASSIGN(Tensor zeros, Tensor::Allocate(type.data_type, graph::StaticDims(*type.shape)));
  if (type.data_type != DataType::kString) {
    std::memset(zeros.data.get(), 0, static_cast<size_t>(zeros.size().value()));
  }
  return zeros;
}

}  // namespace

struct SharedWeights::Parts {
  engine::SharedForms forms;
};

SharedWeights::SharedWeights() : parts_(std::make_shared<Parts>()) {}
SharedWeights::~SharedWeights() = default;

struct Session::Parts {
  std::unique_ptr<engine::Session> session;
  std::mutex views_mutex;
  std::vector<TensorView> views;  // kept between runs, so that a run allocates none

  // What runs over these inputs; run.dynamic of `what` where only the run tells its sizes.
  Result<std::shared_ptr<const engine::Executable>> Planned(GraphId graph,
                                                            std::span<const TensorView> inputs,
                                                            const std::string& what) {
    std::string reason;
    PLIMSOLL_ASSIGN(auto executable, session->Compile(graph, inputs, &reason));
    if (executable != nullptr) return executable;
    return engine::BadArgument("run.dynamic", what,
                               StrCat("their sizes are known only after the run: ", reason),
                               "let the run make them");
  }
};

Session::Session(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
Session::Session(Session&& other) noexcept = default;
Session& Session::operator=(Session&& other) noexcept = default;
Session::~Session() = default;

Result<Session> Session::Create(const SessionOptions& options) {
  PLIMSOLL_ASSIGN(engine::SessionOptions made, EngineOptions(options));
  if (options.shared_weights != nullptr) {
    const auto& shared = options.shared_weights->parts_;
    made.shared_forms = std::shared_ptr<engine::SharedForms>(shared, &shared->forms);
  }
  auto parts = std::make_unique<Parts>();
  PLIMSOLL_ASSIGN(parts->session, engine::Session::Create(made));
  return Session(std::move(parts));
}

Result<std::string> Session::EffectiveConfigJson(const SessionOptions& options) {
  PLIMSOLL_ASSIGN(const config::Settings settings, SettingsOf(options));
  PLIMSOLL_ASSIGN(const config::EffectiveConfig effective,
                  config::MakeEffectiveConfig(settings, config::ProcessEnvironment()));
  return config::EffectiveConfigJson(effective);
}

Result<GraphId> Session::Add(const Model& model, const std::vector<VariableName>& variables) {
  if (model.parts_->compiled != nullptr) parts_->session->Serve(model.parts_->compiled);
  return parts_->session->Add(model.parts_->graph, variables);
}

Status Session::Unload(GraphId graph) { return parts_->session->Unload(graph); }

Result<std::vector<PortInfo>> Session::Inputs(GraphId graph) const {
  PLIMSOLL_ASSIGN(const std::vector<engine::Port> ports, parts_->session->Inputs(graph));
  return PortInfosOf(ports);
}

Result<std::vector<PortInfo>> Session::Outputs(GraphId graph) const {
  PLIMSOLL_ASSIGN(const std::vector<engine::Port> ports, parts_->session->Outputs(graph));
  return PortInfosOf(ports);
}

Result<std::vector<std::string>> Session::Batches(GraphId graph) const {
  return parts_->session->Batches(graph);
}

Result<std::vector<Tensor>> Session::MakeInputs(GraphId graph, const Shapes& shapes) const {
  PLIMSOLL_ASSIGN(const std::vector<engine::Port> ports, parts_->session->Inputs(graph));
  std::vector<compile::ShapeArgument> arguments;
  for (const auto& [name, dims] : shapes) arguments.push_back({name, dims});
  graph::Graph inputs = engine::GraphOfInputs(ports);
  PLIMSOLL_TRY(compile::GiveInputShapes(inputs, arguments).status());
  std::vector<Tensor> tensors;
  for (const graph::Value& input : inputs.values) {
    PLIMSOLL_ASSIGN(Tensor zeros, Zeros(input));
    tensors.push_back(std::move(zeros));
  }
  return tensors;
}

Result<std::vector<Tensor>> Session::MakeOutputs(GraphId graph,
                                                 std::span<const ConstTensorView> inputs,
                                                 const std::string& batch) {
  const std::vector<TensorView> views = EngineViews(inputs);
  PLIMSOLL_ASSIGN(const auto executable, parts_->Planned(graph, views, "outputs"));
  PLIMSOLL_ASSIGN(const std::string runs, parts_->session->BatchFor(graph, views, batch));
  return parts_->session->MakeOutputs(graph, *executable, runs);
}

Result<PlanReport> Session::Plan(GraphId graph, std::span<const ConstTensorView> inputs) {
  std::string reason;
  PLIMSOLL_ASSIGN(const auto executable,
                  parts_->session->Compile(graph, EngineViews(inputs), &reason));
  if (executable == nullptr) {
    PlanReport unplanned;
    unplanned.reason = std::move(reason);
    return unplanned;
  }
  PLIMSOLL_ASSIGN(const engine::GraphMemory memory, parts_->session->Memory(graph));
  return engine::MakePlanReport(*executable, memory);
}

Result<std::vector<PlacedBuffer>> Session::PlacedBuffers(GraphId graph,
                                                         std::span<const ConstTensorView> inputs) {
  PLIMSOLL_ASSIGN(const auto executable,
                  parts_->Planned(graph, EngineViews(inputs), "buffers of the plan"));
  return engine::FeatureMapLives(executable->model().planned).Placed();
}

Status Session::Reserve(GraphId graph, std::span<const ConstTensorView> inputs) {
  return parts_->session->Reserve(graph, EngineViews(inputs));
}

Status Session::Run(GraphId graph, std::span<const ConstTensorView> inputs,
                    std::span<const TensorView> outputs, const RunOptions& options) {
  const std::unique_lock lock(parts_->views_mutex, std::try_to_lock);
  std::vector<TensorView> own;  // where another run has the views that are kept
  std::vector<TensorView>& views = lock ? parts_->views : own;
  SetViews(inputs, views);
  return parts_->session->Run(graph, views, outputs, EngineOptions(options));
}

Result<std::vector<Tensor>> Session::Run(GraphId graph, const std::vector<Tensor>& inputs,
                                         const RunOptions& options) {
  PLIMSOLL_ASSIGN(const std::vector<engine::Port> ports, parts_->session->Outputs(graph));
  for (const engine::Port& port : ports) {
    if (port.type.is_tensor()) continue;
    return engine::BadArgument("run.output_kind", StrCat("output '", port.name, "'"),
                               StrCat("it is ", Text(port.type), ", no tensor"), "call RunValues");
  }
  std::vector<Value> values;
  for (const Tensor& input : inputs) values.push_back(Value::Of(input));
  PLIMSOLL_ASSIGN(std::vector<Value> made, RunValues(graph, std::move(values), options));
  std::vector<Tensor> outputs;
  for (Value& output : made) outputs.push_back(std::move(output.tensor));
  return outputs;
}

Result<std::vector<Value>> Session::RunValues(GraphId graph, std::vector<Value> inputs,
                                              const RunOptions& options) {
  return parts_->session->RunValues(graph, std::move(inputs), EngineOptions(options));
}

Result<RunReport> Session::LastRun(GraphId graph) const {
  const engine::Session& session = *parts_->session;
  PLIMSOLL_ASSIGN(const engine::RunRecord record, session.LastRun(graph));
  PLIMSOLL_ASSIGN(const engine::GraphMemory memory, session.Memory(graph));
  PLIMSOLL_ASSIGN(const std::vector<engine::Port> inputs, session.Inputs(graph));
  PLIMSOLL_ASSIGN(const std::vector<engine::Port> outputs, session.Outputs(graph));
  RunReport report{.batch = record.batch,
                   .ports = engine::PortUsesOf(NamesOf(inputs), NamesOf(outputs), record.ports),
                   .clears = record.clearing.clears,
                   .cleared = record.clearing.bytes,
                   .clearing_ms = record.clearing.milliseconds(),
                   .transfers = record.transfers.transfers,
                   .transferred_inputs = record.transfers.inputs,
                   .fused_inputs = record.transfers.fused_inputs,
                   .transferred = record.transfers.bytes,
                   .stable = {},
                   .planned_peak = memory.planned_peak,
                   .feature_map = memory.feature_map,
                   .weights = memory.weights,
                   .plans = memory.plans};
  for (const auto& stable : record.stable) {
    report.stable.push_back({stable.operand, stable.value, stable.address});
  }
  return report;
}

Result<Bytes> Session::FeatureMapSize(GraphId graph, std::span<const ConstTensorView> inputs) {
  return parts_->session->FeatureMapSize(graph, EngineViews(inputs));
}

Status Session::SetFeatureMapBase(GraphId graph, std::byte* base, Bytes size) {
  return parts_->session->SetFeatureMapBase(graph, base, size);
}

Status Session::StartProfiling() { return parts_->session->StartProfiling(); }

Result<ProfilingFiles> Session::StopProfiling(const std::string& folder) {
  PLIMSOLL_ASSIGN(const engine::ProfileFiles written, parts_->session->StopProfiling(folder));
  return ProfilingFiles{.operator_memory = written.operator_memory.string(),
                        .memory_record = written.memory_record.string(),
                        .static_op_mem = written.static_op_mem.string(),
                        .trace = written.trace.string(),
                        .snapshot = written.snapshot.string(),
                        .report = written.report.string(),
                        .dropped_events = written.dropped};
}

Result<Bytes> Session::Trim() { return parts_->session->Trim(); }
SessionMemory Session::memory() const { return parts_->session->Memory(); }

std::vector<VariableInfo> Session::Variables() const {
  std::vector<VariableInfo> infos;
  for (const engine::Variable& variable : parts_->session->variables().List()) {
    infos.push_back({variable.name, variable.type, variable.dims, variable.size});
  }
  return infos;
}

Status Session::SetVariable(const std::string& name, const ConstTensorView& from) {
  return parts_->session->variables().Set(name, EngineViews({&from, 1})[0]);
}

Status Session::GetVariable(const std::string& name, const TensorView& into) const {
  return parts_->session->variables().Get(name, into);
}

Status Session::SaveVariables(const std::string& path) const {
  return parts_->session->variables().Save(path);
}

Status Session::RestoreVariables(const std::string& path) {
  return parts_->session->variables().Restore(path);
}

int64_t Session::steps() const { return parts_->session->variables().steps(); }

Result<UpdateReport> Session::Updates(GraphId graph) const {
  return parts_->session->Updates(graph);
}

}  // namespace plimsoll
