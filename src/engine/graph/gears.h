#pragma once

#include <string>
#include <vector>

#include "graph/graph.h"
#include "kernels/kernel.h"
#include "plimsoll/base/status.h"

namespace plimsoll::engine {

// One set of sizes that a model is compiled for when it is loaded.
struct Gear {
  std::string label;                // "batch=4,rows=128"
  std::vector<kernels::Dims> dims;  // of each input
};

inline constexpr size_t kMostGears = 100;

// The symbols of the inputs' sizes, in the order in which the inputs first name them.
std::vector<std::string> OpenSizes(const graph::Graph& graph);
// "batch=4,rows=128": sizes of these symbols as the label of a gear.
std::string SizesText(const std::vector<std::string>& symbols, const std::vector<int64_t>& sizes);

// The gears of a model whose inputs have open sizes, from a text such as "1,128;4,128;8,64": gears
// between semicolons, in each one number for each symbol of the inputs, in the order in which the
// inputs first name them. Where the text is empty, the model's metadata `plimsoll.dynamic_dims` may
// list them.
//
// Refuses (config.gears) numbers that are no sizes, lists of another length, a gear given twice,
// more than kMostGears, and gears for a model that has no open sizes.
Result<std::vector<Gear>> ReadGears(const graph::Graph& graph, const std::string& dynamic_dims);

// The inputs, counted from 0, that do not have the same shape in all gears.
std::vector<int> InputsThatDiffer(const std::vector<Gear>& gears);

}  // namespace plimsoll::engine
