#include "engine/run/port_checks.h"

#include "engine/node_by_node/host_tensors.h"
#include "plimsoll/base/text.h"

namespace plimsoll::engine {
namespace {

using graph::Graph;
using graph::ValueId;
using graph::ValueType;
using kernels::HostValue;

bool IsRowMajor(const TensorView& tensor) {
  if (!tensor.strides) return true;
  if (tensor.strides->size() != tensor.dims.size()) return false;
  int64_t expected = 1;
  for (size_t i = tensor.dims.size(); i-- > 0;) {
    if (tensor.dims[i] != 1 && (*tensor.strides)[i] != expected) return false;
    expected *= tensor.dims[i];
  }
  return true;
}

}  // namespace

std::vector<Port> PortsOf(const Graph& graph, const std::vector<ValueId>& values) {
  std::vector<Port> ports;
  for (const ValueId value : values) {
    const graph::Value& port = graph[value];
    const bool known = port.type.kind != ValueType::Kind::kUnknown;
    ports.push_back({port.name, known ? port.type : port.declared});
  }
  return ports;
}

Error BadArgument(std::string code, std::string where, std::string why, std::string remedy) {
  return Error{.kind = ErrorKind::kUsage,
               .code = std::move(code),
               .what = "the run was refused",
               .where = std::move(where),
               .why = std::move(why),
               .remedy = std::move(remedy)};
}

std::string PortList(const std::vector<Port>& ports) {
  std::vector<std::string> texts;
  for (const Port& port : ports) texts.push_back(StrCat(port.name, " ", Text(port.type)));
  return Join(texts, ", ");
}

Status CheckPort(const std::string& name, const ValueType& type, const char* what,
                 const TensorView& tensor, Memory memory) {
  const auto& shape = type.shape;
  bool fits = !shape || shape->size() == tensor.dims.size();
  for (size_t i = 0; fits && i < tensor.dims.size(); ++i) {
    const bool fixed = shape && (*shape)[i].is_number();
    fits = tensor.dims[i] >= 0 && (!fixed || (*shape)[i].number() == tensor.dims[i]);
  }
  const bool has_memory = memory == Memory::kNotLookedAt || tensor.data != nullptr ||
                          kernels::ElementCount(tensor.dims) == 0;
  const bool right_type = type.is_tensor() && tensor.type == type.data_type;
  if (right_type && fits && has_memory && IsRowMajor(tensor)) return {};
  const std::string where = StrCat(what, " '", name, "'");
  const std::string given = Text(ValueType::Tensor(tensor.type, graph::ShapeOf(tensor.dims)));
  const std::string mismatch = StrCat("it is ", Text(type), ", given ", given);
  if (!type.is_tensor()) return BadArgument("run.kind", where, mismatch, "run it with values");
  if (!right_type) {
    return BadArgument("run.type", where, mismatch,
                       StrCat("give elements of ", graph::Name(type.data_type)));
  }
  if (!fits) return BadArgument("run.shape", where, mismatch, "give a tensor of that shape");
  if (!has_memory) {
    return BadArgument("run.memory", where, "there is no memory behind it", "give its address");
  }
  return BadArgument("run.strides", where, "its elements do not lie side by side in row order",
                     "give a contiguous copy");
}

Status CheckKind(const Port& port, const HostValue& value) {
  const bool strict = port.type.is_tensor() || port.type.kind == ValueType::Kind::kSequence;
  if (!strict || value.kind == port.type.kind) return {};
  return BadArgument("run.kind", StrCat("input '", port.name, "'"),
                     StrCat("it is ", Text(port.type), ", given ", Text(TypeOf(value))),
                     "give a value of that kind");
}

}  // namespace plimsoll::engine
