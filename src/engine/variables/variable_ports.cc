#include "engine/variables/variable_ports.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "graph/operator_row.h"
#include "plimsoll/base/text.h"

namespace plimsoll::engine {
namespace {

using graph::Graph;
using graph::ValueId;
using graph::ValueType;

constexpr const char* kForms = "write {\"input\": \"output\"}, or how many of each kind there are";

Error BadVariable(std::string code, std::string where, std::string why, std::string remedy,
                  ErrorKind kind = ErrorKind::kUsage) {
  return Error{.kind = kind,
               .code = std::move(code),
               .what = "cannot tell the model's variables",
               .where = std::move(where),
               .why = std::move(why),
               .remedy = std::move(remedy)};
}

Error BadState(std::string why, std::string remedy) {
  return BadVariable("variables.metadata", "metadata 'state'", std::move(why), std::move(remedy),
                     ErrorKind::kBadFile);
}

// {"parameters": 54, ...}: the first inputs and the last outputs.
Result<std::vector<VariableName>> Counted(const Graph& graph, const nlohmann::ordered_json& state) {
  const auto& inputs = graph.root().inputs;
  const auto& outputs = graph.root().outputs;
  const size_t most = std::min(inputs.size(), outputs.size());
  std::vector<std::string> groups;
  for (const auto& [name, count] : state.items()) {
    if (!count.is_number()) continue;
    const bool whole = count.is_number_unsigned();
    const size_t room = most - groups.size();
    if (!whole || count.get<uint64_t>() > room) {
      return BadState(StrCat("'", name, "' is ", count.dump(), "; the model has ", inputs.size(),
                             " inputs and ", outputs.size(), " outputs"),
                      "let the numbers count state tensors among the inputs and outputs");
    }
    groups.insert(groups.end(), count.get<uint64_t>(), name);
  }
  std::vector<VariableName> names;
  const size_t first = outputs.size() - groups.size();
  for (size_t i = 0; i < groups.size(); ++i) {
    names.push_back({graph[inputs[i]].name, graph[outputs[first + i]].name, groups[i]});
  }
  return names;
}

// {"w": "w_next", ...}
Result<std::vector<VariableName>> Mapped(const nlohmann::ordered_json& state) {
  std::vector<VariableName> names;
  for (const auto& [input, output] : state.items()) {
    if (!output.is_string()) {
      return BadState(StrCat("'", input, "' is ", output.dump().substr(0, 40)), kForms);
    }
    names.push_back({input, output.get<std::string>(), ""});
  }
  return names;
}

// By name: the place in a list of values; the first of several.
std::optional<size_t> PlaceOf(const Graph& graph, const std::vector<ValueId>& values,
                              const std::string& name) {
  const auto found = std::find_if(values.begin(), values.end(),
                                  [&](ValueId value) { return graph[value].name == name; });
  if (found == values.end()) return std::nullopt;
  return static_cast<size_t>(found - values.begin());
}

std::optional<ValueId> ConstantCalled(const Graph& graph, const std::string& name) {
  for (size_t i = 0; i < graph.values.size(); ++i) {
    const graph::Value& value = graph.values[i];
    if (value.constant.valid() && value.home == Graph::kRoot && value.name == name) {
      return ValueId(i);
    }
  }
  return std::nullopt;
}

Error Unknown(const Graph& graph, const std::vector<ValueId>& values, const std::string& name,
              const char* what) {
  std::vector<std::string> names;
  for (const ValueId value : values) names.push_back(graph[value].name);
  const auto nearest = NearestName(name, names);
  names.resize(std::min<size_t>(names.size(), 8));
  return BadVariable(
      "variables.name", StrCat("variable '", name, "'"), StrCat("the model has no such ", what),
      nearest ? StrCat("did you mean '", *nearest, "'?") : StrCat("it has ", Join(names, ", ")));
}

// "1x2x512x64".
std::optional<std::vector<int64_t>> ParseDims(std::string_view text) {
  std::vector<int64_t> dims;
  for (const std::string_view part : Split(text, 'x')) {
    const std::optional<int64_t> size = ParseInteger(Trim(part));
    if (!size || *size < 0) return std::nullopt;
    dims.push_back(*size);
  }
  return dims;
}

// That an input whose sizes are open may have those of a variable.
Status CheckSizes(const Graph& graph, ValueId input, const VariableName& name) {
  const graph::ValueType& type = graph[input].type;
  const bool tensor = type.is_tensor() && (!type.shape || type.shape->size() == name.dims.size());
  bool fits = tensor;
  for (size_t i = 0; fits && type.shape && i < name.dims.size(); ++i) {
    const graph::Dim& dim = (*type.shape)[i];
    fits = !dim.is_number() || dim == graph::Dim(name.dims[i]);
  }
  if (!fits) {
    return BadVariable("variables.shape", StrCat("variable '", name.input, "'"),
                       StrCat("it is to be ", graph::Text(graph::ShapeOf(name.dims)),
                              ", but the model's input is ", Text(type)),
                       "give the sizes that the model leaves open");
  }
  return {};
}

// A cache that a node adds to is the node's own memory: what is present has the variable's size.
void ShareCache(Graph& graph, ValueId variable, ValueId replacement) {
  const graph::NodeId producer = graph[replacement].producer;
  if (!producer.valid()) return;
  graph::Node& node = graph[producer];
  for (const auto& [output, input] : graph::FactsOf(node).in_place_caches) {
    const auto made = static_cast<size_t>(output);
    const auto read = static_cast<size_t>(input);
    const bool found = output != 0 && made < node.outputs.size() && read < node.inputs.size() &&
                       node.outputs[made] == replacement && node.inputs[read] == variable;
    if (found) node.attributes.Set("past_present_share_buffer", int64_t{1});
  }
}

// The axis along which what replaces the variable is the variable and something behind or before
// it, where the model leaves the variable's size there open.
std::optional<size_t> GrowthAxis(const Graph& graph, ValueId variable, ValueId replacement) {
  graph::NodeId producer = graph[replacement].producer;
  while (producer.valid() && graph::OperatorName(graph[producer]) == "Identity") {
    producer = graph[graph[producer].inputs[0]].producer;
  }
  const ValueType& type = graph[variable].type;
  if (!producer.valid() || !type.is_tensor() || !type.shape) return std::nullopt;
  const graph::Node& node = graph[producer];
  if (!graph::FactsOf(node).grows_over_first_input) return std::nullopt;
  if (std::count(node.inputs.begin(), node.inputs.end(), variable) != 1) return std::nullopt;
  const auto rank = static_cast<int64_t>(type.shape->size());
  int64_t axis = node.attributes.Int("axis", 0);
  if (axis < 0) axis += rank;
  if (axis < 0 || axis >= rank) return std::nullopt;
  const auto place = static_cast<size_t>(axis);
  return (*type.shape)[place].is_number() ? std::nullopt : std::optional(place);
}

}  // namespace

Result<std::vector<VariableName>> ParseVariables(std::string_view text) {
  std::vector<VariableName> names;
  for (const std::string_view part : Split(text, ',')) {
    const std::string_view pair = Trim(part);
    const size_t equals = pair.find('=');
    const std::string_view input = Trim(pair.substr(0, equals));
    std::string_view output = equals == std::string_view::npos ? "" : Trim(pair.substr(equals + 1));
    // Sizes stand behind the last '@'.
    std::optional<std::vector<int64_t>> dims(std::in_place);
    if (const size_t at = output.rfind('@'); at != std::string_view::npos) {
      dims = ParseDims(output.substr(at + 1));
      output = Trim(output.substr(0, at));
    }
    if (input.empty() || !dims || (equals != std::string_view::npos && output.empty())) {
      return BadVariable("variables.argument", StrCat("'", text, "'"),
                         StrCat("'", part, "' is neither INPUT=OUTPUT nor INPUT"),
                         "write input=output,input=output, or input=output@1x2x512x64 for sizes");
    }
    names.push_back({std::string(input), std::string(output), "", *std::move(dims)});
  }
  return names;
}

Result<std::vector<VariableName>> VariablesInMetadata(const Graph& graph) {
  for (const auto& [key, text] : graph.metadata) {
    if (key != "state") continue;
    const auto state = nlohmann::ordered_json::parse(text, nullptr, false);
    if (state.is_object()) {
      const bool counted = std::any_of(state.begin(), state.end(),
                                       [](const auto& member) { return member.is_number(); });
      return counted ? Counted(graph, state) : Mapped(state);
    }
    auto names = ParseVariables(text);
    if (!names.ok() || !state.is_discarded()) {
      return BadState(StrCat("'", text.substr(0, 40), "' is neither an object nor a list of pairs"),
                      kForms);
    }
    return names;
  }
  return std::vector<VariableName>();
}

Result<std::vector<VariablePort>> BindVariables(Graph& graph,
                                                const std::vector<VariableName>& names) {
  std::vector<VariablePort> ports;
  std::vector<ValueId> promoted;
  std::set<std::string> inputs;
  std::set<std::string> outputs;
  for (const VariableName& name : names) {
    const bool new_output = name.output.empty() || outputs.insert(name.output).second;
    if (!inputs.insert(name.input).second || !new_output) {
      return BadVariable("variables.twice", StrCat("variable '", name.input, "'"),
                         new_output ? "it is named twice"
                                    : StrCat("'", name.output, "' replaces another variable too"),
                         "name each input and each output once");
    }
    VariablePort port{.input = 0, .output = std::nullopt, .group = name.group, .initial = {}};
    if (const auto place = PlaceOf(graph, graph.root().inputs, name.input)) {
      port.input = *place;
      if (!name.dims.empty()) {
        PLIMSOLL_TRY(CheckSizes(graph, graph.root().inputs[*place], name));
      }
    } else if (const auto constant = ConstantCalled(graph, name.input)) {
      port.input = graph.root().inputs.size() + promoted.size();
      port.initial = graph[graph[*constant].constant];
      promoted.push_back(*constant);
    } else {
      return Unknown(graph, graph.root().inputs, name.input, "input");
    }
    if (!name.output.empty()) {
      port.output = PlaceOf(graph, graph.root().outputs, name.output);
      if (!port.output) return Unknown(graph, graph.root().outputs, name.output, "output");
    }
    ports.push_back(std::move(port));
  }
  const std::vector<ValueId> given = graph.root().inputs;
  for (size_t i = 0; i < ports.size(); ++i) {
    if (ports[i].input >= given.size()) continue;
    graph::Value& variable = graph[given[ports[i].input]];
    if (!names[i].dims.empty()) {
      graph::Shape shape = graph::ShapeOf(names[i].dims);
      if (ports[i].output) {
        const ValueId replacement = graph.root().outputs[*ports[i].output];
        ports[i].growth_axis = GrowthAxis(graph, given[ports[i].input], replacement);
      }
      if (const auto axis = ports[i].growth_axis) {
        shape[*axis] = (*variable.type.shape)[*axis];
        ports[i].most = names[i].dims;
      }
      variable.type.shape = std::move(shape);
      variable.declared = variable.type;
    }
    if (ports[i].output) {
      ShareCache(graph, given[ports[i].input], graph.root().outputs[*ports[i].output]);
    }
  }
  for (const ValueId constant : promoted) {
    graph::Value& value = graph[constant];
    value.declared = value.type;
    value.constant = {};
    value.content.reset();
    graph[Graph::kRoot].inputs.push_back(constant);
  }
  return ports;
}

Status CheckVariableTypes(const std::string& name, const ValueType& input, const ValueType* output,
                          std::optional<size_t> growth_axis) {
  const std::string where = StrCat("variable '", name, "'");
  const bool plain = input.is_tensor() && input.data_type != graph::DataType::kString;
  bool fixed = plain && input.shape.has_value();
  for (size_t i = 0; fixed && i < input.shape->size(); ++i) {
    fixed = (*input.shape)[i].is_number() || i == growth_axis;
  }
  if (!fixed) {
    return BadVariable("variables.shape", where, StrCat("it is ", Text(input)),
                       "a variable is a tensor of numbers; give sizes that the model leaves open, "
                       "as input=output@1x2x512x64");
  }
  if (output == nullptr) return {};
  bool fits = output->is_tensor() && output->data_type == input.data_type;
  if (fits && output->shape) {
    fits = output->shape->size() == input.shape->size();
    for (size_t i = 0; fits && i < input.shape->size(); ++i) {
      const graph::Dim& dim = (*output->shape)[i];
      fits = !dim.is_number() || i == growth_axis || dim == (*input.shape)[i];
    }
  }
  if (fits || output->kind == ValueType::Kind::kUnknown) return {};
  return BadVariable("variables.type", where,
                     StrCat("it is ", Text(input), ", and what replaces it ", Text(*output)),
                     "let both be of one type and shape");
}

}  // namespace plimsoll::engine
