#include "engine/session.h"

#include <cstdlib>

#include "engine/fusion/fusion_results.h"
#include "engine/graph/compile_request.h"
#include "engine/tuning/open_tuning.h"
#include "kernels/backend.h"
#include "plimsoll/base/log.h"
#include "plimsoll/base/text.h"
#include "plimsoll/device/fake_device.h"
#include "plimsoll/device/registry.h"

namespace plimsoll::engine {

using kernels::HostValue;

namespace {

// `named`: the device that a name says, where one is given.
Result<device::DeviceId> ChooseDevice(const SessionOptions& options, const device::Device& device,
                                      std::optional<device::DeviceId> named) {
  std::optional<int> wanted = options.config.session_device_id;
  if (!wanted && named) wanted = named->ordinal;
  if (!wanted) return device.Current();
  if (*wanted >= 0 && *wanted < device.Count()) return device::DeviceId{*wanted};
  return Error{.kind = ErrorKind::kUsage,
               .code = "session.device",
               .what = "no such device",
               .where = StrCat("session_device_id ", *wanted),
               .why = StrCat(device.Kind(), " devices here: ", device.Count()),
               .remedy = StrCat("give a number from 0 to ", device.Count() - 1)};
}

// Numbers alone can be taken without end.
constexpr Bytes kEndless = GiB(1 << 12);

Result<device::DeviceName> NameOfDevice(const SessionOptions& options) {
  if (!options.device_name.empty()) return device::ParseDeviceName(options.device_name);
  const char* const set = std::getenv("PLIMSOLL_DEVICE");
  if (set == nullptr || *set == '\0') return device::DeviceName{"cpu", device::DeviceId{0}};
  auto name = device::ParseDeviceName(set);
  if (name.ok()) return name;
  Error error = name.error();
  error.where = StrCat("PLIMSOLL_DEVICE=", set);
  return error;
}

// For sessions that only plan: a device of numbers in its place.
Result<std::unique_ptr<device::Device>> MakeDeviceFor(const device::DeviceName& name,
                                                      bool only_plan) {
  PLIMSOLL_ASSIGN(auto device, device::MakeDevice(name.kind, {.devices = name.id.ordinal + 1,
                                                              .granularity = kSessionGranularity}));
  if (!only_plan) return device;
  device::FakeOptions numbers;
  numbers.kind = name.kind;
  numbers.devices = name.id.ordinal + 1;
  numbers.capacity = kEndless;
  numbers.granularity = kSessionGranularity;
  numbers.host_reachable = device->Properties(name.id).host_reachable;
  return std::unique_ptr<device::Device>(std::make_unique<device::FakeDevice>(numbers));
}

// The CPU's kernels stand in on devices that run code of the host, and nowhere else.
Status CheckKernels(const device::Device& device, device::DeviceId id) {
  const bool of_the_host = &kernels::BackendFor(device.Kind()) == &kernels::HostBackend();
  if (!of_the_host || !device.Properties(id).native_streams) return {};
  return Error{.kind = ErrorKind::kUnsupported,
               .code = "session.no_kernels",
               .what = "cannot run models on the device",
               .where = StrCat(device.Kind(), ":", id.ordinal),
               .why = StrCat("there are no kernels for ", device.Kind(), " devices"),
               .remedy = "use the device cpu, or register a backend"};
}

// What cannot be done as asked is a line in the log.
compile::FusionSwitches SwitchesFor(const config::FusionSwitches& asked) {
  const auto group = [](const config::FusionGroup& from) {
    return compile::GroupSwitches{from.all_off, from.patterns};
  };
  std::vector<std::string> notes;
  compile::FusionSwitches switches(group(asked.graph_fusion), group(asked.ub_fusion), notes);
  for (const std::string& note : notes) Log(LogLevel::kWarning, note);
  return switches;
}

// The recorder that is asked for; its window is open where profiling_config asks. Null where nobody
// does.
Result<std::shared_ptr<SessionProfile>> ProfileFor(const SessionOptions& options) {
  const config::ProfilingSettings& asked = options.config.profiling;
  std::shared_ptr<SessionProfile> profile = options.load.only_plan ? nullptr : options.profile;
  const bool wanted = (asked.enabled || options.profiling) && !options.load.only_plan;
  if (profile != nullptr || !wanted) return profile;
  PLIMSOLL_ASSIGN(const ProfileOptions settings, ParseProfileOptions(asked.options));
  profile = std::make_shared<SessionProfile>(settings);
  if (asked.enabled) profile->Start();
  return profile;
}

LoadOptions LoadOptionsFor(const SessionOptions& options, const DeviceSide& side) {
  LoadOptions load = options.load;
  load.plan = PlanOptionsFor(options.config, load.plan);
  load.open_shapes |= options.config.compile_dynamic_mode;
  if (options.config.dynamic_inputs_shape_range) {
    load.shape_ranges = options.config.dynamic_inputs_shape_range;
  }
  if (load.dynamic_dims.empty()) load.dynamic_dims = options.config.dynamic_dims;
  load.separate_host_operators |= options.config.ac_parallel_enable;
  const bool smaller = options.config.memory_config.memory_optimization_policy ==
                       config::MemoryOptimizationPolicy::kMemoryPriority;
  if (!load.weight_forms && smaller) load.weight_forms = compile::WeightForms::kSmaller;
  load.threads = options.threads;
  load.pin_threads = options.pin_threads;
  load.deterministic = options.config.deterministic;
  load.steps = options.config.iterations_per_loop;
  DebugSettings debug = DebugSettings::Of(options.config);
  debug.clock = options.clock;
  load.debug = std::make_shared<SessionDebug>(std::move(debug), side, options.profile);
  return load;
}

}  // namespace

Session::Session(const SessionOptions& options, std::shared_ptr<device::Device> device,
                 device::DeviceId id, bool writes_profile)
    : options_(options),
      writes_profile_(writes_profile),
      weights_(std::make_shared<SessionWeights>(options.config, device, id, options.shared_forms)),
      profile_(options.profile),
      load_(LoadOptionsFor(options, DeviceSide::Of(device, id))),
      memory_(std::make_shared<FeatureMemory>(
          device, id, options.config.memory_config.static_memory_policy, options.allocator,
          profile_ == nullptr ? nullptr : profile_->recorder())),
      gate_(memory_->policy(), options.config.graph_max_parallel_model_num),
      variables_(VariableMemory(device, id, weights_, options.config.variable_placement), device,
                 id) {}

Result<std::unique_ptr<Session>> Session::Create(const SessionOptions& options) {
  std::shared_ptr<device::Device> device = options.device;
  std::optional<device::DeviceId> named;
  if (device == nullptr) {
    PLIMSOLL_ASSIGN(const device::DeviceName name, NameOfDevice(options));
    PLIMSOLL_ASSIGN(device, MakeDeviceFor(name, options.load.only_plan));
    named = name.id;
  }
  PLIMSOLL_ASSIGN(const device::DeviceId id, ChooseDevice(options, *device, named));
  PLIMSOLL_TRY(CheckKernels(*device, id));
  SessionOptions own = options;
  PLIMSOLL_ASSIGN(own.profile, ProfileFor(options));
  if (own.profile != nullptr) own.profile->SetDevice(std::string(device->Kind()), id.ordinal);
  if (own.load.tuning.store == nullptr) {
    PLIMSOLL_ASSIGN(own.load.tuning, OpenTuning(options.config.aoe));
  }
  if (options.config.fusion_switches)
    own.load.switches = SwitchesFor(*options.config.fusion_switches);
  return std::unique_ptr<Session>(
      new Session(own, std::move(device), id, options.profile == nullptr));
}

Session::~Session() {
  if (profile_ == nullptr || !writes_profile_ || !profile_->recorder()->recording()) return;
  TellHeld();
  const auto written = StopProfiling({});
  if (!written.ok()) Log(LogLevel::kWarning, written.error().Text());
}

Status Session::StartProfiling() {
  if (profile_ == nullptr) {
    return Error{.kind = ErrorKind::kUsage,
                 .code = "profile.off",
                 .what = "cannot open a profiling window",
                 .where = "session",
                 .why = "it was made without a recorder, so what it holds was not counted",
                 .remedy = "make it with SessionOptions::profiling, or with profiling_config"};
  }
  profile_->Start();
  return {};
}

Result<ProfileFiles> Session::StopProfiling(const std::filesystem::path& folder) {
  if (profile_ == nullptr || !profile_->recorder()->recording()) {
    return Error{.kind = ErrorKind::kUsage,
                 .code = "profile.closed",
                 .what = "cannot close the profiling window",
                 .where = "session",
                 .why = "none is open",
                 .remedy =
                     "open one with StartProfiling, and leave 'events' of profiling_options "
                     "as it is"};
  }
  PLIMSOLL_ASSIGN(ProfileFiles written, profile_->Write(profile_->Take(), {.folder = folder}));
  if (written.dropped > 0) {
    Log(LogLevel::kWarning,
        StrCat("the recorder's memory was full: ", written.dropped,
               " events are not in its files; profiling_options takes memory_limit "
               "[profile.full]"));
  }
  return written;
}

void Session::TellHeld() const {
  if (profile_ == nullptr) return;
  std::vector<HeldPiece> weights;
  for (const auto& graph : Graphs()) {
    HeldWeights held;
    graph->AddWeightsTo(held);
    for (auto& [address, weight] : held) {
      weights.push_back({address, weight.size, std::move(weight.name), graph->name()});
    }
  }
  profile_->SetHeld(profile::Component::kWeights, weights);
  std::vector<HeldPiece> variables;
  for (const Variable& variable : variables_.List()) {
    variables.push_back({variable.address, variable.size, variable.name, {}});
  }
  profile_->SetHeld(profile::Component::kVariables, variables);
}

std::vector<std::shared_ptr<LoadedGraph>> Session::Graphs() const {
  std::vector<std::shared_ptr<LoadedGraph>> graphs;
  const std::lock_guard lock(mutex_);
  for (const auto& [id, graph] : graphs_) graphs.push_back(graph);
  return graphs;
}

void Session::TellNewPlans() const {
  if (profile_ != nullptr && profile_->HasNewPlans()) TellHeld();
}

Result<std::shared_ptr<LoadedGraph>> Session::Find(GraphId id) const {
  const std::lock_guard lock(mutex_);
  const auto found = graphs_.find(id);
  if (found != graphs_.end()) return found->second;
  return Error{.kind = ErrorKind::kUsage,
               .code = "session.graph",
               .what = "no such graph",
               .where = id.valid() ? StrCat("graph ", id.index()) : "graph",
               .why = StrCat("the session holds ", graphs_.size(), " graphs, and not this one"),
               .remedy = "use an id that Add gave and Unload has not taken back"};
}

Result<GraphId> Session::Add(graph::Graph graph, const std::vector<VariableName>& variables) {
  std::vector<VariableName> names = variables;
  if (names.empty() && options_.config.training) {
    PLIMSOLL_ASSIGN(names, VariablesInMetadata(graph));
  }
  PLIMSOLL_ASSIGN(std::vector<VariablePort> ports, BindVariables(graph, names));
  const GraphId id(next_++);
  LoadOptions load = load_;
  if (load.shape_ranges && ranges_taken_.exchange(true)) {
    Log(LogLevel::kWarning,
        StrCat("dynamic_inputs_shape_range acts on one graph, the first of the session, and not on "
               "graph ",
               id.index(),
               ": give that one a session with ranges of its own, as "
               "set_graph_exec_config does in the documents"));
    load.shape_ranges.reset();
  }
  if (!load.only_plan) {
    load.on_passes = MakeFusionReport(options_.config.export_compile_stat,
                                      options_.config.work_path, {weights_->session(), id.index()});
  }
  const std::string name = StrCat("graph ", id.index(), " '", graph.root().name, "'");
  load.profiled = {name, graph.root().name, static_cast<int64_t>(id.index())};
  PLIMSOLL_ASSIGN(std::shared_ptr<LoadedGraph> loaded,
                  LoadedGraph::Load(std::move(graph), load, {memory_, weights_, &variables_}, name,
                                    std::move(ports)));
  {
    const std::lock_guard lock(mutex_);
    graphs_.emplace(id, std::move(loaded));
  }
  TellHeld();
  return id;
}

Result<std::shared_ptr<const Executable>> Session::Compile(GraphId id,
                                                           std::span<const TensorView> inputs,
                                                           std::string* reason) {
  PLIMSOLL_ASSIGN(const auto graph, Find(id));
  auto compiled = graph->Compile(inputs, reason);
  TellHeld();
  return compiled;
}

Status Session::Reserve(GraphId id, std::span<const TensorView> inputs) {
  PLIMSOLL_ASSIGN(const auto graph, Find(id));
  return graph->Reserve(inputs);
}

Status Session::Run(GraphId id, std::span<const TensorView> inputs,
                    std::span<const TensorView> outputs, const RunOptions& options) {
  PLIMSOLL_ASSIGN(const auto graph, Find(id));
  PLIMSOLL_ASSIGN(const RunGate::Pass pass, gate_.Enter(graph->name()));
  Status done = graph->Run(inputs, outputs, options);
  TellNewPlans();
  return done;
}

Result<std::vector<HostValue>> Session::RunValues(GraphId id, std::vector<HostValue> inputs,
                                                  const RunOptions& options) {
  PLIMSOLL_ASSIGN(const auto graph, Find(id));
  PLIMSOLL_ASSIGN(const RunGate::Pass pass, gate_.Enter(graph->name()));
  auto made = graph->RunValues(std::move(inputs), options);
  TellNewPlans();
  return made;
}

Status Session::Unload(GraphId id) {
  PLIMSOLL_ASSIGN(const auto graph, Find(id));
  {
    const std::lock_guard lock(mutex_);
    graphs_.erase(id);
  }
  TellHeld();
  return {};
}

Result<Bytes> Session::Trim() {
  for (const auto& graph : Graphs()) graph->TrimOutputs();
  return memory_->Trim();
}

Result<GraphShapes> Session::Shapes(GraphId id) const {
  PLIMSOLL_ASSIGN(const auto graph, Find(id));
  return graph->shapes();
}

Result<Bytes> Session::FeatureMapSize(GraphId id, std::span<const TensorView> inputs) {
  PLIMSOLL_ASSIGN(const auto graph, Find(id));
  return graph->FeatureMapSize(inputs);
}

Status Session::SetFeatureMapBase(GraphId id, std::byte* base, Bytes size) {
  PLIMSOLL_ASSIGN(const auto graph, Find(id));
  return graph->SetFeatureMapBase(base, size);
}

Result<std::vector<Port>> Session::Inputs(GraphId id) const {
  PLIMSOLL_ASSIGN(const auto graph, Find(id));
  return graph->inputs();
}

Result<std::vector<Port>> Session::Outputs(GraphId id) const {
  PLIMSOLL_ASSIGN(const auto graph, Find(id));
  return graph->outputs();
}

Result<std::vector<Tensor>> Session::MakeOutputs(GraphId id, const Executable& executable,
                                                 const std::string& batch) const {
  PLIMSOLL_ASSIGN(const auto graph, Find(id));
  return graph->MakeOutputs(executable, batch);
}

Result<std::vector<std::string>> Session::Batches(GraphId id) const {
  PLIMSOLL_ASSIGN(const auto graph, Find(id));
  return graph->batches();
}

Result<std::string> Session::BatchFor(GraphId id, std::span<const TensorView> inputs,
                                      const std::string& named) const {
  PLIMSOLL_ASSIGN(const auto graph, Find(id));
  return graph->BatchFor(inputs, named);
}

Result<UpdateReport> Session::Updates(GraphId id) const {
  PLIMSOLL_ASSIGN(const auto graph, Find(id));
  return graph->updates();
}

Result<GraphMemory> Session::Memory(GraphId id) const {
  PLIMSOLL_ASSIGN(const auto graph, Find(id));
  return graph->memory();
}

SessionMemory Session::Memory() const {
  HeldWeights weights;
  for (const auto& graph : Graphs()) graph->AddWeightsTo(weights);
  SessionMemory held{.feature_maps_reserved = memory_->reserved(),
                     .peak_feature_maps_reserved = memory_->peak_reserved(),
                     .weights = SumOf(weights),
                     .variables = variables_.bytes(),
                     .variables_reserved = variables_.reserved(),
                     .host = memory_->host(),
                     .device = {}};
  const bool of_host = options_.config.variable_placement == config::VariablePlacement::kHost;
  const Bytes pages = weights_->memory().reserved();
  DeviceBytes& device = held.device;
  device.weights = held.weights;
  device.feature_maps = memory_->asked() + memory_->heap();
  device.ports = memory_->ports();
  if (!of_host) device.variables = held.variables;
  const Bytes variables_taken = of_host ? Bytes(0) : held.variables_reserved - pages;
  const Bytes weights_taken = weights_->memory().large_pages() ? pages : held.weights;
  const Bytes taken = held.peak_feature_maps_reserved + memory_->heap() + memory_->ports() +
                      weights_taken + variables_taken;
  device.granularity = taken - device.total();
  return held;
}

Result<RunRecord> Session::LastRun(GraphId id) const {
  PLIMSOLL_ASSIGN(const auto graph, Find(id));
  return graph->last_run();
}

}  // namespace plimsoll::engine
