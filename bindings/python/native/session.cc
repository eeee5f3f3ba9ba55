#include "session.h"

#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "errors.h"
#include "model_session.h"
#include "plimsoll/base/log.h"
#include "plimsoll/base/text.h"

namespace nb = nanobind;

namespace plimsoll::python {
namespace {

using Names = std::map<std::string, std::string>;

Model OpenModel(nb::handle source) {
  if (nb::isinstance<nb::bytes>(source)) {
    const auto bytes = nb::cast<nb::bytes>(source);
    const auto copy = std::make_shared<std::string>(bytes.c_str(), bytes.size());
    const std::span<const char> all(*copy);
    const nb::gil_scoped_release released;
    Result<Model> model = Model::FromBytes(std::as_bytes(all), copy);
    if (model.ok()) return *model;
    const nb::gil_scoped_acquire held;
    Raise(model.error());
  }
  const auto path = nb::cast<std::string>(source);
  return Take(Model::Open(path));
}

SessionOptions MakeOptions(int threads, const std::string& device, const Names& config,
                           const std::vector<std::string>& files, bool npu_run_config,
                           const std::string& assigner, bool optimise, bool only_plan,
                           bool profiling) {
  SessionOptions options;
  options.threads = threads;
  options.device_name = device;
  options.config = config;
  options.config_files = files;
  options.npu_run_config = npu_run_config;
  options.assigner = assigner;
  options.optimise = optimise;
  options.only_plan = only_plan;
  options.profiling = profiling;
  return options;
}

// Numbers where a size is known, names where it is the caller's choice, None where it is neither.
nb::object Shape(const PortInfo& port) {
  if (!port.shape) return nb::none();
  nb::list dims;
  for (const Dim& dim : *port.shape) {
    if (const auto number = dim.AsNumber()) {
      dims.append(*number);
    } else if (dim.is_anonymous()) {
      dims.append(nb::none());
    } else {
      dims.append(nb::str(dim.Text().c_str()));
    }
  }
  return dims;
}

nb::list Ports(const std::vector<PortInfo>& ports) {
  nb::list rows;
  for (const PortInfo& port : ports) {
    rows.append(nb::make_tuple(port.name, TypeText(port), Shape(port), port.text));
  }
  return rows;
}

nb::list PortUses(const std::vector<PortUse>& uses) {
  nb::list rows;
  for (const PortUse& use : uses) {
    nb::dict row;
    row["name"] = use.name;
    row["input"] = use.input;
    row["in_place"] = use.in_place;
    row["reason"] = use.reason;
    rows.append(row);
  }
  return rows;
}

nb::list Regions(const PlanReport& report) {
  nb::list rows;
  for (const PlanReport::Region& region : report.regions) {
    nb::dict row;
    row["name"] = region.name;
    row["kind"] = region.kind;
    row["bytes"] = region.bytes.value();
    row["lower_bound_bytes"] = region.lower_bound.value();
    row["alignment"] = region.alignment;
    row["buffers"] = region.buffers;
    row["from_device"] = region.from_device;
    rows.append(row);
  }
  return rows;
}

nb::dict Plan(const ModelSession& self, const Session::Shapes& shapes) {
  const std::vector<Tensor> inputs = self.Inputs(shapes);
  const std::vector<ConstTensorView> views = ConstViewsOf(inputs);
  const auto planned = [&] {
    const nb::gil_scoped_release released;
    return self.session().Plan(self.graph(), views);
  }();
  const PlanReport report = Take(planned);
  nb::dict row;
  row["planned"] = report.planned;
  row["reason"] = report.reason;
  row["peak_bytes"] = report.peak.value();
  row["lower_bound_bytes"] = report.lower_bound.value();
  row["order_lower_bound_bytes"] = report.order_lower_bound.value();
  row["plain_peak_bytes"] = report.plain_peak.value();
  row["weights_bytes"] = report.weights.value();
  row["feature_map_bytes"] = report.feature_map.value();
  row["optimal_for_order"] = report.optimal_for_order;
  row["deadline_hit"] = report.deadline_hit;
  row["nodes"] = report.nodes;
  row["buffer_count"] = report.buffers;
  row["assigner"] = report.assigner;
  row["regions"] = Regions(report);
  row["ports"] = PortUses(report.ports);
  nb::dict sizes;
  for (size_t i = 0; i < inputs.size(); ++i) {
    sizes[self.inputs()[i].name.c_str()] = nb::cast(inputs[i].dims);
  }
  row["inputs"] = sizes;
  return row;
}

// (name, offset, size, begin, end) of each buffer.
nb::list PlacedBuffers(const ModelSession& self, const Session::Shapes& shapes) {
  const std::vector<Tensor> inputs = self.Inputs(shapes);
  const auto placed = [&] {
    const nb::gil_scoped_release released;
    return self.session().PlacedBuffers(self.graph(), ConstViewsOf(inputs));
  }();
  nb::list rows;
  for (const PlacedBuffer& buffer : Take(placed)) {
    rows.append(nb::make_tuple(buffer.name, buffer.offset.value(), buffer.size.value(),
                               buffer.begin, buffer.end));
  }
  return rows;
}

void Reserve(const ModelSession& self, const Session::Shapes& shapes) {
  const std::vector<Tensor> inputs = self.Inputs(shapes);
  const Status reserved = [&] {
    const nb::gil_scoped_release released;
    return self.session().Reserve(self.graph(), ConstViewsOf(inputs));
  }();
  Check(reserved);
}

nb::dict Memory(const ModelSession& self) {
  const SessionMemory memory = self.session().memory();
  nb::dict device;
  device["weights"] = memory.device.weights.value();
  device["feature_maps"] = memory.device.feature_maps.value();
  device["variables"] = memory.device.variables.value();
  device["ports"] = memory.device.ports.value();
  device["granularity"] = memory.device.granularity.value();
  device["total"] = memory.device.total().value();
  nb::dict row;
  row["feature_maps_reserved"] = memory.feature_maps_reserved.value();
  row["peak_feature_maps_reserved"] = memory.peak_feature_maps_reserved.value();
  row["weights"] = memory.weights.value();
  row["variables"] = memory.variables.value();
  row["variables_reserved"] = memory.variables_reserved.value();
  row["host"] = memory.host.value();
  row["device"] = device;
  return row;
}

nb::dict LastRun(const ModelSession& self) {
  const RunReport report = Take(self.session().LastRun(self.graph()));
  nb::dict row;
  row["batch"] = report.batch;
  row["ports"] = PortUses(report.ports);
  row["clears"] = report.clears;
  row["cleared_bytes"] = report.cleared.value();
  row["transfers"] = report.transfers;
  row["fused_inputs"] = report.fused_inputs;
  row["transferred_bytes"] = report.transferred.value();
  row["planned_peak_bytes"] = report.planned_peak.value();
  row["feature_map_bytes"] = report.feature_map.value();
  row["weights_bytes"] = report.weights.value();
  row["plans"] = report.plans;
  return row;
}

nb::dict StopProfiling(const ModelSession& self, const std::string& folder) {
  const auto stopped = [&] {
    const nb::gil_scoped_release released;
    return self.session().StopProfiling(folder);
  }();
  const ProfilingFiles files = Take(stopped);
  nb::dict row;
  row["operator_memory"] = files.operator_memory;
  row["memory_record"] = files.memory_record;
  row["static_op_mem"] = files.static_op_mem;
  row["trace"] = files.trace;
  row["snapshot"] = files.snapshot;
  row["report"] = files.report;
  row["dropped_events"] = files.dropped_events;
  return row;
}

nb::dict Info(const ModelSession& self) {
  const ModelInfo& info = self.model().info();
  nb::dict row;
  row["symbols"] = info.symbols;
  row["nodes"] = info.nodes;
  row["operators"] = info.operators;
  row["weights"] = info.weights;
  row["weight_bytes"] = info.weight_bytes.value();
  row["opsets"] = info.opsets;
  row["metadata"] = info.metadata;
  row["ir_version"] = info.ir_version;
  row["producer"] = info.producer;
  return row;
}

// What is in force, as JSON, and what the library has to say about it: each note is said once in a
// process, so that it must reach the user from here.
std::pair<std::string, std::vector<std::string>> EffectiveConfig(
    const Names& config, const std::vector<std::string>& files, bool npu_run_config) {
  std::vector<std::string> notes;
  const auto effective = [&] {
    const LogCapture capture([&](LogLevel level, std::string_view line) {
      if (level >= LogLevel::kWarning) notes.emplace_back(line);
    });
    return Session::EffectiveConfigJson(
        {.config = config, .config_files = files, .npu_run_config = npu_run_config});
  }();
  return {Take(effective), notes};
}

nb::list Variables(const ModelSession& self) {
  nb::list rows;
  for (const VariableInfo& variable : self.session().Variables()) {
    rows.append(nb::make_tuple(variable.name, ElementText(variable.type), variable.dims));
  }
  return rows;
}

nb::object GetVariable(const ModelSession& self, const std::string& name) {
  for (const VariableInfo& variable : self.session().Variables()) {
    if (variable.name != name) continue;
    const Tensor into = Take(Tensor::Allocate(variable.type, variable.dims));
    Check(self.session().GetVariable(name, into.View()));
    return ToArray(into);
  }
  Raise(BadArgument("variable.unknown", StrCat("variable '", name, "'"), "the session has none",
                    "variables are of sessions whose graph_run_mode is 1"));
}

// Input, output (empty: only read) and sizes (empty: the model's).
using VariableTable = std::vector<std::tuple<std::string, std::string, std::vector<int64_t>>>;

std::vector<VariableName> NamesOf(const VariableTable& table) {
  std::vector<VariableName> names;
  for (const auto& [input, output, dims] : table) {
    names.push_back({.input = input, .output = output, .group = "", .dims = dims});
  }
  return names;
}

}  // namespace

void AddSession(nb::module_& module) {
  nb::class_<RunControl>(module, "RunControl")
      .def(nb::init<>())
      .def_prop_rw(
          "terminate", [](const RunControl& self) { return self.terminate.load(); },
          [](RunControl& self, bool terminate) { self.terminate = terminate; })
      .def_rw("batch", &RunControl::batch);
  nb::class_<ModelSession>(module, "Session")
      .def(
          "__init__",
          [](ModelSession* self, nb::handle source, int threads, const std::string& device,
             const Names& config, const std::vector<std::string>& files, bool npu_run_config,
             const std::string& assigner, bool optimise, bool only_plan, bool profiling,
             const ModelSession* share, const VariableTable& variables) {
            new (self) ModelSession(OpenModel(source),
                                    MakeOptions(threads, device, config, files, npu_run_config,
                                                assigner, optimise, only_plan, profiling),
                                    share, NamesOf(variables));
          },
          nb::arg("source"), nb::arg("threads") = 1, nb::arg("device") = "cpu",
          nb::arg("config") = Names(), nb::arg("config_files") = std::vector<std::string>(),
          nb::arg("npu_run_config") = false, nb::arg("assigner") = "", nb::arg("optimise") = true,
          nb::arg("only_plan") = false, nb::arg("profiling") = false,
          nb::arg("share").none() = nb::none(), nb::arg("variables") = VariableTable())
      .def("run", &ModelSession::Run, nb::arg("feeds"), nb::arg("bound"),
           nb::arg("control").none() = nb::none())
      .def_prop_ro("inputs", [](const ModelSession& self) { return Ports(self.inputs()); })
      .def_prop_ro("outputs", [](const ModelSession& self) { return Ports(self.outputs()); })
      .def_prop_ro("last_shapes", [](const ModelSession& self) { return self.last_shapes(); })
      .def_prop_ro("info", &Info)
      .def_prop_ro("memory", &Memory)
      .def_prop_ro("variables", &Variables)
      .def_prop_ro("steps", [](const ModelSession& self) { return self.session().steps(); })
      .def("plan", &Plan, nb::arg("shapes"))
      .def("placed_buffers", &PlacedBuffers, nb::arg("shapes"))
      .def("reserve", &Reserve, nb::arg("shapes"))
      .def("last_run", &LastRun)
      .def("start_profiling",
           [](const ModelSession& self) { Check(self.session().StartProfiling()); })
      .def("stop_profiling", &StopProfiling, nb::arg("folder"))
      .def("trim", [](const ModelSession& self) { return Take(self.session().Trim()).value(); })
      .def("get_variable", &GetVariable, nb::arg("name"))
      .def(
          "set_variable",
          [](const ModelSession& self, const std::string& name, nb::handle value) {
            const LentArray array = LentArray::ForReading(value, StrCat("variable '", name, "'"));
            Check(self.session().SetVariable(name, array.view()));
          },
          nb::arg("name"), nb::arg("value"))
      .def(
          "save_variables",
          [](const ModelSession& self, const std::string& path) {
            Check(self.session().SaveVariables(path));
          },
          nb::arg("path"))
      .def(
          "restore_variables",
          [](const ModelSession& self, const std::string& path) {
            Check(self.session().RestoreVariables(path));
          },
          nb::arg("path"));
  module.def("effective_config", &EffectiveConfig, nb::arg("config"), nb::arg("config_files"),
             nb::arg("npu_run_config"));
}

}  // namespace plimsoll::python
