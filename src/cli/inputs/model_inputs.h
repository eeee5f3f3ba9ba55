#pragma once

#include <string>
#include <vector>

#include "cli/inputs/image.h"
#include "compile/shapes/input_shapes.h"
#include "engine/run/ports.h"
#include "engine/variables/variable_ports.h"
#include "graph/graph.h"
#include "kernels/host_value.h"
#include "plimsoll/base/status.h"

namespace plimsoll::cli {

inline constexpr const char* kInputHelp =
    "name=SOURCE: a file (.npy, .npz, .pb, .png, .jpg), a number, ones, zeros, range or random; or "
    "an archive file.npz with arrays named as the inputs; repeatable";

// What the caller said of a model's inputs: name=SOURCE, as kInputHelp says.
struct InputArgument {
  std::string name;
  std::string source;
};
Result<InputArgument> ParseInputArgument(std::string_view text);
// The same of many, with one for each array of an archive that has no name before it.
Result<std::vector<InputArgument>> ParseInputArguments(const std::vector<std::string>& texts);

// How inputs are made where that is not said by their arguments.
struct InputSettings {
  int64_t seed = 1;                  // of random ones
  Normalization normalization = {};  // of pictures
};

// That each argument of a command with several models, NAME=SOMETHING, names an input, and for
// shapes an input or a symbol, of at least one of them. Code input.name.
Status CheckEachIsKnown(std::span<const graph::Graph* const> graphs,
                        const std::vector<std::string>& inputs,
                        const std::vector<std::string>& shapes);

// Those arguments whose name is an input of the graph or a symbol in an input's shape: what several
// models are given in one command applies to those that have it.
std::vector<compile::ShapeArgument> KnownArguments(
    const graph::Graph& graph, const std::vector<compile::ShapeArgument>& shapes);

// The variables of a model: those that the caller names (`input=output,...`), or in training what
// the model says.
Result<std::vector<engine::VariableName>> VariablesOf(const std::string& named, bool training,
                                                      const graph::Graph& graph);

// A graph of nothing but those inputs that are none of these variables.
graph::Graph WithoutVariables(const graph::Graph& graph,
                              const std::vector<engine::VariableName>& variables);

// Inputs of a session that opens their sizes may be given shapes that the file does not declare.
void OpenShapes(graph::Graph& graph, const std::vector<compile::ShapeArgument>& shapes);

// One value for each input of the graph. An input that no argument names is drawn at random from
// its shape, which `shapes` completes: floats between -1 and 1, integers and bools 0 or 1; the same
// numbers for the same seed. Refuses unknown names with the nearest, and sizes that are still open.
Result<std::vector<kernels::HostValue>> MakeInputs(
    const graph::Graph& graph, const std::vector<InputArgument>& arguments,
    const std::vector<compile::ShapeArgument>& shapes, const InputSettings& settings = {});

}  // namespace plimsoll::cli
