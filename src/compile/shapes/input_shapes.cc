#include "compile/shapes/input_shapes.h"

#include <algorithm>

#include "plimsoll/base/text.h"

namespace plimsoll::compile {
namespace {

using graph::Dim;
using graph::Graph;
using graph::ValueId;
using graph::ValueType;

Error RefuseShape(std::string where, std::string why, std::string remedy) {
  return {ErrorKind::kUsage, "shapes.argument", "shape not accepted",
          std::move(where),  std::move(why),    std::move(remedy)};
}

std::string NameOfDimension(const graph::Value& input, size_t axis) {
  return StrCat(input.name, "[", axis, "]");
}

Status Bind(Bindings& bindings, const std::string& symbol, int64_t number,
            const std::string& where) {
  const auto [entry, added] = bindings.emplace(symbol, number);
  if (added || entry->second == number) return {};
  return RefuseShape(where, StrCat("'", symbol, "' would be both ", entry->second, " and ", number),
                     "give inputs that share a dimension the same number");
}

// Fits the caller's dims to the declared ones and learns what the symbols are.
Status BindShape(Bindings& bindings, const graph::Value& input, const std::vector<int64_t>& dims) {
  const std::string where = StrCat("input '", input.name, "'");
  if (!input.declared.is_tensor()) {
    return RefuseShape(where, StrCat("it is ", Text(input.declared), ", not a tensor"),
                       "leave this input out");
  }
  if (!input.declared.shape) return {};
  const graph::Shape& declared = *input.declared.shape;
  if (declared.size() != dims.size()) {
    return RefuseShape(
        where,
        StrCat("the model says ", Text(input.declared), ", which has ", declared.size(),
               " dimensions; ", dims.size(), " were given"),
        StrCat("give one number per dimension, such as ", ExampleShape(input.declared)));
  }
  for (size_t i = 0; i < dims.size(); ++i) {
    const bool fixed = declared[i].is_number();
    if (fixed && declared[i].number() != dims[i]) {
      return RefuseShape(
          where,
          StrCat("dimension ", i, " is ", declared[i].number(), " in the model, not ", dims[i]),
          StrCat("use ", Text(input.declared)));
    }
    const std::optional<std::string> symbol = declared[i].AsSymbol();
    if (declared[i].is_anonymous()) {
      PLIMSOLL_TRY(Bind(bindings, NameOfDimension(input, i), dims[i], where));
    } else if (symbol) {
      PLIMSOLL_TRY(Bind(bindings, *symbol, dims[i], where));
    }
  }
  return {};
}

}  // namespace

std::vector<std::string> ShapeNames(const Graph& graph) {
  std::vector<std::string> names;
  for (const ValueId id : graph.root().inputs) {
    ValueType type = graph[id].declared;
    size_t axis = 0;
    ForEachDim(type, [&](Dim& dim) {
      if (dim.is_anonymous()) {
        names.push_back(NameOfDimension(graph[id], axis));
      } else {
        dim.CollectSymbols(names);
      }
      ++axis;
    });
  }
  return names;
}

std::string ExampleShape(const ValueType& type) {
  if (!type.shape) return "1x8";
  std::vector<int64_t> sizes;
  for (const Dim& dim : *type.shape) {
    sizes.push_back(dim.AsNumber().value_or(sizes.empty() ? 1 : 8));
  }
  return Join(sizes, "x");
}

Result<ShapeArgument> ParseShapeArgument(std::string_view text) {
  const size_t equals = text.rfind('=');
  const auto bad = [&](std::string why) {
    return RefuseShape(
        StrCat("--shape ", text), std::move(why),
        "write NAME=SIZE, or NAME=SIZExSIZE and so on, one for each dimension of an input");
  };
  if (equals == std::string_view::npos || equals == 0) return bad("there is no 'name='");
  ShapeArgument argument{std::string(text.substr(0, equals)), {}};
  const std::string_view list = text.substr(equals + 1);
  if (list.empty()) return argument;
  const char separator = list.find(',') != std::string_view::npos ? ',' : 'x';
  for (std::string_view part : Split(list, separator)) {
    const auto number = ParseInteger(Trim(part));
    if (!number || *number < 0) return bad(StrCat("'", part, "' is no dimension"));
    argument.dims.push_back(*number);
  }
  return argument;
}

Result<Bindings> GiveInputShapes(Graph& graph, const std::vector<ShapeArgument>& arguments) {
  const std::vector<std::string> symbols = ShapeNames(graph);
  Bindings bindings;
  std::map<ValueId, std::vector<int64_t>> given;
  for (const ShapeArgument& argument : arguments) {
    ValueId match;
    std::vector<std::string> names = symbols;
    for (const ValueId input : graph.root().inputs) {
      names.push_back(graph[input].name);
      if (graph[input].name == argument.name) match = input;
    }
    if (match.valid()) {
      PLIMSOLL_TRY(BindShape(bindings, graph[match], argument.dims));
      given[match] = argument.dims;
      continue;
    }
    const bool symbol = std::find(symbols.begin(), symbols.end(), argument.name) != symbols.end();
    if (symbol && argument.dims.size() == 1) {
      PLIMSOLL_TRY(Bind(bindings, argument.name, argument.dims[0], "--shape " + argument.name));
      continue;
    }
    const auto nearest = NearestName(argument.name, names);
    return RefuseShape(StrCat("'", argument.name, "'"), "the model has no such input or dimension",
                       nearest ? StrCat("did you mean '", *nearest, "'?")
                               : StrCat("the inputs and dimensions are ", Join(names, ", ")));
  }
  const auto lookup = [&](const std::string& name) -> std::optional<Dim> {
    const auto found = bindings.find(name);
    return found == bindings.end() ? std::nullopt : std::optional(Dim(found->second));
  };
  for (const ValueId input : graph.root().inputs) {
    graph::Value& value = graph[input];
    value.type = value.declared;
    size_t axis = 0;
    ForEachDim(value.type, [&](Dim& dim) {
      dim = dim.is_anonymous() ? lookup(NameOfDimension(value, axis))
                                     .value_or(Dim::Symbol(StrCat("?", value.name, ".", axis)))
                               : dim.Substitute(lookup);
      ++axis;
    });
    if (given.contains(input)) value.type.shape = graph::ShapeOf(given[input]);
  }
  return bindings;
}

}  // namespace plimsoll::compile
