#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/answer.h"
#include "engine/debug/tensor_statistics.h"
#include "graph/graph.h"

namespace plimsoll::cli {

// What the elements of a model's constants are like, one by one: initializers, and what nodes carry
// as attributes, under the node's name.
struct WeightStatistics {
  std::string name;
  std::string type;  // "float32[64,3,7,7]"
  std::string data_type;
  Bytes bytes;
  std::optional<engine::TensorStatistics> elements;  // nothing: texts, or the data is missing
};
std::vector<WeightStatistics> StatisticsOfWeights(const graph::Graph& graph);

std::string WeightsText(const std::vector<WeightStatistics>& weights);
// A list, with null for what is not known.
Json WeightsJson(const std::vector<WeightStatistics>& weights);

}  // namespace plimsoll::cli
