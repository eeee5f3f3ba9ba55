#include "cli/reports/model/weight_statistics.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "cli/reports/text_table.h"
#include "kernels/host_value.h"
#include "plimsoll/base/text.h"

namespace plimsoll::cli {
namespace {

WeightStatistics StatisticsOfOne(const graph::ConstantTensor& tensor, std::string name) {
  WeightStatistics row;
  row.name = std::move(name);
  row.data_type = graph::Name(tensor.type);
  row.type = StrCat(row.data_type, "[", Join(tensor.dims, ","), "]");
  row.bytes = tensor.Size();
  if (tensor.missing || tensor.type == graph::DataType::kString) return row;
  if (const auto held = kernels::ToHostTensor(tensor); held.ok()) {
    row.elements = engine::StatisticsOf(
        held->type, held->elements(),
        {static_cast<const std::byte*>(held->data.get()), static_cast<size_t>(row.bytes.value())});
  }
  return row;
}

// One row for each type, of everything that has it.
std::vector<WeightStatistics> TotalsByType(const std::vector<WeightStatistics>& weights) {
  std::map<std::string, WeightStatistics> totals;
  std::map<std::string, size_t> tensors;
  for (const WeightStatistics& row : weights) {
    WeightStatistics& total = totals[row.data_type];
    total.bytes += row.bytes;
    ++tensors[row.data_type];
    if (!row.elements) continue;
    if (!total.elements) total.elements.emplace();
    engine::TensorStatistics& all = *total.elements;
    const engine::TensorStatistics& one = *row.elements;
    const auto finite = [](const engine::TensorStatistics& of) {
      return static_cast<double>(of.elements - of.nan - of.infinite);
    };
    if (one.mean) {
      const double before = finite(all);
      const double both = before + finite(one);
      all.mean = all.mean.value_or(0) * (before / both) + *one.mean * (finite(one) / both);
      all.least = std::min(all.least.value_or(*one.least), *one.least);
      all.most = std::max(all.most.value_or(*one.most), *one.most);
    }
    all.elements += one.elements;
    all.nan += one.nan;
    all.infinite += one.infinite;
    all.zeros += one.zeros;
  }
  std::vector<WeightStatistics> rows;
  for (auto& [type, total] : totals) {
    total.name = StrCat("all ", Counted(tensors[type], "tensor"));
    total.type = type;
    rows.push_back(std::move(total));
  }
  std::stable_sort(rows.begin(), rows.end(),
                   [](const auto& a, const auto& b) { return a.bytes > b.bytes; });
  return rows;
}

// Three figures, but whole numbers that a table has room for as they are.
std::string Cell(const std::optional<double>& value) {
  constexpr double kMostWhole = 1e9;
  if (!value) return "";
  const bool whole = std::abs(*value) < kMostWhole && *value == std::trunc(*value);
  return whole ? fmt::format("{:.0f}", *value) : fmt::format("{:.3g}", *value);
}

std::vector<std::string> CellsOf(const WeightStatistics& row) {
  std::vector<std::string> cells = {row.name, row.type, FormatBytes(row.bytes)};
  if (!row.elements) {
    cells.emplace_back(row.data_type == "string" ? "texts" : "missing");
    return cells;
  }
  const engine::TensorStatistics& elements = *row.elements;
  cells.insert(cells.end(), {Cell(elements.least), Cell(elements.most), Cell(elements.mean)});
  const auto count = [](int64_t number) {
    return number > 0 ? Scaled(static_cast<double>(number)) : std::string();
  };
  cells.insert(cells.end(), {count(elements.zeros), count(elements.nan + elements.infinite)});
  return cells;
}

Json NumberOrNullOf(const std::optional<double>& number) {
  return number && std::isfinite(*number) ? Json(*number) : Json();
}

}  // namespace

std::vector<WeightStatistics> StatisticsOfWeights(const graph::Graph& graph) {
  std::vector<WeightStatistics> weights;
  for (const graph::ConstantTensor& tensor : graph.constants) {
    weights.push_back(StatisticsOfOne(tensor, tensor.name));
  }
  for (const graph::Node& node : graph.nodes) {
    for (const auto& [name, value] : node.attributes) {
      const auto* const tensor = std::get_if<graph::ConstantTensor>(&value);
      if (tensor == nullptr) continue;
      const bool made = !node.outputs.empty() && node.outputs[0].valid();
      weights.push_back(StatisticsOfOne(*tensor, made ? graph[node.outputs[0]].name : node.name));
    }
  }
  return weights;
}

std::string WeightsText(const std::vector<WeightStatistics>& weights) {
  if (weights.empty()) return "the model has no weights\n";
  std::vector<std::vector<std::string>> rows = {
      {"tensor", "type", "size", "min", "max", "mean", "zeros", "NaN, inf"}};
  for (const WeightStatistics& row : weights) rows.push_back(CellsOf(row));
  for (const WeightStatistics& row : TotalsByType(weights)) rows.push_back(CellsOf(row));
  return FittedTable(std::move(rows), 2, 0, {"size", "type"});
}

Json WeightsJson(const std::vector<WeightStatistics>& weights) {
  Json list = Json::array();
  for (const WeightStatistics& row : weights) {
    Json one{{"name", row.name}, {"type", row.type}, {"bytes", row.bytes.value()}};
    const bool known = row.elements.has_value();
    const engine::TensorStatistics elements = row.elements.value_or(engine::TensorStatistics());
    const auto count = [&](int64_t number) { return known ? Json(number) : Json(); };
    one["elements"] = count(elements.elements);
    one["min"] = NumberOrNullOf(elements.least);
    one["max"] = NumberOrNullOf(elements.most);
    one["mean"] = NumberOrNullOf(elements.mean);
    one["zero_count"] = count(elements.zeros);
    one["nan_count"] = elements.nan;
    one["infinite_count"] = elements.infinite;
    list.push_back(std::move(one));
  }
  return list;
}

}  // namespace plimsoll::cli
