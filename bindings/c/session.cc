#include "plimsoll/engine/session.h"

#include <atomic>
#include <deque>
#include <memory>
#include <vector>

#include "c/status.h"
#include "plimsoll/base/text.h"

struct plimsoll_model {
  plimsoll::Model model;
};

struct plimsoll_session {
  plimsoll::Session session;
};

struct plimsoll_cancellation {
  std::atomic<bool> cancelled = false;
};

// Ports with the arrays that C reads.
struct plimsoll_ports {
  struct Port {
    std::string name;
    std::string text;
    plimsoll::DataType type = plimsoll::DataType::kUndefined;
    bool ranked = false;
    std::vector<int64_t> dims;
  };
  std::vector<Port> ports;
};

namespace plimsoll::bindings {
namespace {

constexpr int64_t kOpen = -1;
constexpr int32_t kLargestRank = 1024;

Result<SessionOptions> ReadOptions(const plimsoll_session_options* options) {
  PLIMSOLL_ASSIGN(const plimsoll_session_options read, ReadStruct(options, "options"));
  SessionOptions made;
  if (read.threads != 0) made.threads = read.threads;
  if (read.device != nullptr) made.device_name = read.device;
  made.only_plan = read.only_plan != 0;
  made.npu_run_config = read.npu_run_config != 0;
  if (read.option_count > 0) {
    PLIMSOLL_TRY(CheckGiven(read.option_names, "option_names"));
    PLIMSOLL_TRY(CheckGiven(read.option_values, "option_values"));
  }
  for (size_t i = 0; i < read.option_count; ++i) {
    PLIMSOLL_TRY(CheckGiven(read.option_names[i], "a name in option_names"));
    PLIMSOLL_TRY(CheckGiven(read.option_values[i], "a value in option_values"));
    made.config[read.option_names[i]] = read.option_values[i];
  }
  return made;
}

// The views of what C describes. TensorView and ConstTensorView differ in `data` alone.
template <typename View>
Result<std::vector<View>> ReadTensors(const plimsoll_tensor* tensors, size_t count,
                                      const char* name) {
  std::vector<View> views;
  if (count > 0) PLIMSOLL_TRY(CheckGiven(tensors, name));
  const auto* at = reinterpret_cast<const char*>(tensors);
  for (size_t i = 0; i < count; ++i) {
    const auto* given = reinterpret_cast<const plimsoll_tensor*>(at);
    PLIMSOLL_ASSIGN(const plimsoll_tensor tensor, ReadStruct(given, name));
    at += given->struct_size;
    const std::string where = StrCat(name, "[", i, "]");
    const auto type = DataTypeFromOnnx(tensor.type);
    if (!type || tensor.rank < 0 || tensor.rank > kLargestRank) {
      return BadCall(where, StrCat("it has type ", tensor.type, " and rank ", tensor.rank),
                     "take the type from plimsoll_type and a rank from 0");
    }
    if (*type == DataType::kString) {
      return Error{ErrorKind::kUnsupported,
                   "c.strings",
                   "the call was refused",
                   where,
                   "it holds strings, which C has no tensor for",
                   "use the C++ or the Python API"};
    }
    if (tensor.rank > 0) PLIMSOLL_TRY(CheckGiven(tensor.dims, "dims"));
    View view;
    view.type = *type;
    view.dims.assign(tensor.dims, tensor.dims + tensor.rank);
    view.data = tensor.data;
    if (tensor.strides != nullptr)
      view.strides.emplace(tensor.strides, tensor.strides + tensor.rank);
    views.push_back(std::move(view));
  }
  return views;
}

plimsoll_ports::Port PortOf(const PortInfo& info) {
  plimsoll_ports::Port port{info.name, info.text, info.type, info.shape.has_value(), {}};
  if (info.kind != ValueKind::kTensor) port.type = DataType::kUndefined;
  if (!info.shape) return port;
  for (const Dim& dim : *info.shape) port.dims.push_back(dim.AsNumber().value_or(kOpen));
  return port;
}

Status GivePorts(Result<std::vector<PortInfo>> infos, plimsoll_ports** ports) {
  PLIMSOLL_TRY(CheckGiven(ports, "ports"));
  if (!infos.ok()) return infos.error();
  auto made = std::make_unique<plimsoll_ports>();
  for (const PortInfo& info : *infos) made->ports.push_back(PortOf(info));
  *ports = made.release();
  return {};
}

GraphId GraphOf(plimsoll_graph graph) { return GraphId(static_cast<size_t>(graph)); }

Status SizedOutputs(plimsoll_session& session, plimsoll_graph graph, const plimsoll_tensor* inputs,
                    size_t input_count, plimsoll_ports** ports) {
  PLIMSOLL_TRY(CheckGiven(ports, "ports"));
  PLIMSOLL_ASSIGN(const auto views, ReadTensors<ConstTensorView>(inputs, input_count, "inputs"));
  PLIMSOLL_ASSIGN(const std::vector<PortInfo> infos, session.session.Outputs(GraphOf(graph)));
  PLIMSOLL_ASSIGN(const std::vector<Tensor> outputs,
                  session.session.MakeOutputs(GraphOf(graph), views));
  auto made = std::make_unique<plimsoll_ports>();
  for (size_t i = 0; i < infos.size(); ++i) {
    plimsoll_ports::Port port = PortOf(infos[i]);
    port.type = outputs[i].type;
    port.ranked = true;
    port.dims = outputs[i].dims;
    port.text = StrCat(Name(port.type), "[", Join(port.dims, ","), "]");
    made->ports.push_back(std::move(port));
  }
  *ports = made.release();
  return {};
}

Status PlanInto(plimsoll_session& session, plimsoll_graph graph, const plimsoll_tensor* inputs,
                size_t input_count, plimsoll_plan* plan) {
  PLIMSOLL_ASSIGN(const auto views, ReadTensors<ConstTensorView>(inputs, input_count, "inputs"));
  PLIMSOLL_ASSIGN(const PlanReport report, session.session.Plan(GraphOf(graph), views));
  plimsoll_plan made = PLIMSOLL_PLAN_INIT;
  made.planned = report.planned ? 1 : 0;
  made.optimal_for_order = report.optimal_for_order ? 1 : 0;
  made.peak = report.peak.value();
  made.lower_bound = report.lower_bound.value();
  made.weights = report.weights.value();
  made.feature_map = report.feature_map.value();
  made.nodes = report.nodes;
  made.buffers = report.buffers;
  return WriteStruct(made, "plan", plan);
}

}  // namespace
}  // namespace plimsoll::bindings

using namespace plimsoll;
using namespace plimsoll::bindings;

plimsoll_status* plimsoll_model_open(const char* path, plimsoll_model** model) {
  return Guarded([&]() -> Status {
    PLIMSOLL_TRY(CheckGiven(path, "path"));
    PLIMSOLL_TRY(CheckGiven(model, "model"));
    PLIMSOLL_ASSIGN(Model opened, Model::Open(path));
    *model = new plimsoll_model{std::move(opened)};
    return {};
  });
}

plimsoll_status* plimsoll_model_from_bytes(const void* bytes, size_t size, const char* folder,
                                           plimsoll_model** model) {
  return Guarded([&]() -> Status {
    PLIMSOLL_TRY(CheckGiven(bytes, "bytes"));
    PLIMSOLL_TRY(CheckGiven(model, "model"));
    const auto* first = static_cast<const std::byte*>(bytes);
    const auto copy = std::make_shared<std::vector<std::byte>>(first, first + size);
    PLIMSOLL_ASSIGN(Model read,
                    Model::FromBytes(*copy, copy, folder == nullptr ? std::string() : folder));
    *model = new plimsoll_model{std::move(read)};
    return {};
  });
}

void plimsoll_model_free(plimsoll_model* model) { delete model; }

plimsoll_status* plimsoll_session_create(const plimsoll_session_options* options,
                                         plimsoll_session** session) {
  return Guarded([&]() -> Status {
    PLIMSOLL_TRY(CheckGiven(session, "session"));
    PLIMSOLL_ASSIGN(const SessionOptions read, ReadOptions(options));
    PLIMSOLL_ASSIGN(Session made, Session::Create(read));
    *session = new plimsoll_session{std::move(made)};
    return {};
  });
}

void plimsoll_session_free(plimsoll_session* session) { delete session; }

plimsoll_status* plimsoll_session_add(plimsoll_session* session, const plimsoll_model* model,
                                      plimsoll_graph* graph) {
  return Guarded([&]() -> Status {
    PLIMSOLL_TRY(CheckGiven(session, "session"));
    PLIMSOLL_TRY(CheckGiven(model, "model"));
    PLIMSOLL_TRY(CheckGiven(graph, "graph"));
    PLIMSOLL_ASSIGN(const GraphId id, session->session.Add(model->model));
    *graph = id.index();
    return {};
  });
}

plimsoll_status* plimsoll_session_unload(plimsoll_session* session, plimsoll_graph graph) {
  return Guarded([&]() -> Status {
    PLIMSOLL_TRY(CheckGiven(session, "session"));
    return session->session.Unload(GraphOf(graph));
  });
}

plimsoll_status* plimsoll_session_inputs(const plimsoll_session* session, plimsoll_graph graph,
                                         plimsoll_ports** ports) {
  return Guarded([&]() -> Status {
    PLIMSOLL_TRY(CheckGiven(session, "session"));
    return GivePorts(session->session.Inputs(GraphOf(graph)), ports);
  });
}

plimsoll_status* plimsoll_session_outputs(const plimsoll_session* session, plimsoll_graph graph,
                                          plimsoll_ports** ports) {
  return Guarded([&]() -> Status {
    PLIMSOLL_TRY(CheckGiven(session, "session"));
    return GivePorts(session->session.Outputs(GraphOf(graph)), ports);
  });
}

size_t plimsoll_ports_count(const plimsoll_ports* ports) {
  return ports == nullptr ? 0 : ports->ports.size();
}

plimsoll_status* plimsoll_ports_get(const plimsoll_ports* ports, size_t index,
                                    plimsoll_port* port) {
  return Guarded([&]() -> Status {
    PLIMSOLL_TRY(CheckGiven(ports, "ports"));
    if (index >= ports->ports.size()) {
      return BadCall(StrCat("index ", index), StrCat("there are ", ports->ports.size(), " ports"),
                     "ask plimsoll_ports_count");
    }
    const plimsoll_ports::Port& from = ports->ports[index];
    plimsoll_port made = PLIMSOLL_PORT_INIT;
    made.name = from.name.c_str();
    made.text = from.text.c_str();
    made.type = static_cast<int32_t>(from.type);
    made.rank = from.ranked ? static_cast<int32_t>(from.dims.size()) : -1;
    made.dims = from.dims.data();
    return WriteStruct(made, "port", port);
  });
}

plimsoll_status* plimsoll_session_sized_outputs(plimsoll_session* session, plimsoll_graph graph,
                                                const plimsoll_tensor* inputs, size_t input_count,
                                                plimsoll_ports** ports) {
  return Guarded([&]() -> Status {
    PLIMSOLL_TRY(CheckGiven(session, "session"));
    return SizedOutputs(*session, graph, inputs, input_count, ports);
  });
}

void plimsoll_ports_free(plimsoll_ports* ports) { delete ports; }

plimsoll_status* plimsoll_session_plan(plimsoll_session* session, plimsoll_graph graph,
                                       const plimsoll_tensor* inputs, size_t input_count,
                                       plimsoll_plan* plan) {
  return Guarded([&]() -> Status {
    PLIMSOLL_TRY(CheckGiven(session, "session"));
    return PlanInto(*session, graph, inputs, input_count, plan);
  });
}

plimsoll_status* plimsoll_cancellation_create(plimsoll_cancellation** made) {
  return Guarded([&]() -> Status {
    PLIMSOLL_TRY(CheckGiven(made, "made"));
    *made = new plimsoll_cancellation;
    return {};
  });
}

void plimsoll_cancellation_free(plimsoll_cancellation* cancellation) { delete cancellation; }

void plimsoll_cancellation_set(plimsoll_cancellation* cancellation, int cancelled) {
  if (cancellation != nullptr) cancellation->cancelled = cancelled != 0;
}

plimsoll_status* plimsoll_session_run(plimsoll_session* session, plimsoll_graph graph,
                                      const plimsoll_tensor* inputs, size_t input_count,
                                      const plimsoll_tensor* outputs, size_t output_count,
                                      const plimsoll_cancellation* cancellation) {
  return Guarded([&]() -> Status {
    PLIMSOLL_TRY(CheckGiven(session, "session"));
    PLIMSOLL_ASSIGN(const auto from, ReadTensors<ConstTensorView>(inputs, input_count, "inputs"));
    PLIMSOLL_ASSIGN(const auto into, ReadTensors<TensorView>(outputs, output_count, "outputs"));
    const RunOptions options{.cancelled =
                                 cancellation == nullptr ? nullptr : &cancellation->cancelled};
    return session->session.Run(GraphOf(graph), from, into, options);
  });
}

plimsoll_status* plimsoll_session_trim(plimsoll_session* session, int64_t* given_back) {
  return Guarded([&]() -> Status {
    PLIMSOLL_TRY(CheckGiven(session, "session"));
    PLIMSOLL_ASSIGN(const Bytes bytes, session->session.Trim());
    if (given_back != nullptr) *given_back = bytes.value();
    return {};
  });
}

plimsoll_status* plimsoll_session_get_memory(const plimsoll_session* session,
                                             plimsoll_session_memory* memory) {
  return Guarded([&]() -> Status {
    PLIMSOLL_TRY(CheckGiven(session, "session"));
    const SessionMemory now = session->session.memory();
    plimsoll_session_memory made = PLIMSOLL_SESSION_MEMORY_INIT;
    made.feature_maps_reserved = now.feature_maps_reserved.value();
    made.peak_feature_maps_reserved = now.peak_feature_maps_reserved.value();
    made.weights = now.weights.value();
    made.variables = now.variables.value();
    made.device_total = now.device.total().value();
    return WriteStruct(made, "memory", memory);
  });
}
