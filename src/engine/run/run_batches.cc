#include "engine/run/run_batches.h"

#include <algorithm>

#include "compile/shapes/batch_labels.h"
#include "engine/graph/gears.h"
#include "engine/run/port_checks.h"
#include "plimsoll/base/text.h"

namespace plimsoll::engine {

RunBatches::RunBatches(const graph::Graph& graph) : names_(compile::BatchesOf(graph)) {
  if (names_.empty()) return;
  symbols_ = OpenSizes(graph);
  for (const graph::ValueId input : graph.root().inputs) inputs_.push_back(graph[input].type);
}

Result<std::string> RunBatches::Choose(const std::string& named,
                                       std::span<const TensorView> inputs) const {
  const auto known = [&](const std::string& name) {
    return std::find(names_.begin(), names_.end(), name) != names_.end();
  };
  if (names_.empty()) {
    if (named.empty()) return std::string();
    return BadArgument("run.batch", StrCat("batch '", named, "'"),
                       "no node of the graph carries a batch label", "run it without a batch");
  }
  if (!named.empty()) {
    if (known(named)) return named;
    return BadArgument("run.batch", StrCat("batch '", named, "'"), "the graph has no such batch",
                       StrCat("its batches are ", Join(names_, ", ")));
  }
  const std::string sizes = SizesOf(inputs);
  if (known(sizes)) return sizes;
  if (names_.size() == 1) return names_[0];
  return BadArgument("run.batch", "batch",
                     StrCat("the graph has several (", Join(names_, ", "), ")",
                            sizes.empty() ? "" : StrCat(", and none is labelled ", sizes)),
                     "name one of them (RunOptions::batch, --batch NAME)");
}

// Empty where an input tells a symbol only through an expression.
std::string RunBatches::SizesOf(std::span<const TensorView> inputs) const {
  const auto size_of = [&](const graph::Dim& symbol) -> std::optional<int64_t> {
    for (size_t i = 0; i < inputs_.size(); ++i) {
      if (!inputs_[i].is_tensor() || !inputs_[i].shape) continue;
      const graph::Shape& shape = *inputs_[i].shape;
      for (size_t axis = 0; axis < shape.size() && axis < inputs[i].dims.size(); ++axis) {
        if (shape[axis] == symbol) return inputs[i].dims[axis];
      }
    }
    return std::nullopt;
  };
  std::vector<int64_t> sizes;
  for (const std::string& symbol : symbols_) {
    const std::optional<int64_t> size = size_of(graph::Dim::Symbol(symbol));
    if (!size) return "";
    sizes.push_back(*size);
  }
  return SizesText(symbols_, sizes);
}

}  // namespace plimsoll::engine
