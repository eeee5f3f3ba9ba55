#include <functional>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "graph/graph.h"
#include "graph/operator_row.h"
#include "graph/operators/families.h"
#include "graph/registered_operators.h"

namespace plimsoll::graph {
namespace {

using OperatorFamily = std::span<const OperatorRow> (*)();

constexpr OperatorFamily kFamilies[] = {
    operators::ElementwiseRows,    operators::LogicRows,
    operators::ActivationRows,     operators::CastRows,
    operators::ReductionRows,      operators::LayoutRows,
    operators::ArrangementRows,    operators::SliceRows,
    operators::SplitRows,          operators::PadRows,
    operators::GeneratorRows,      operators::RandomRows,
    operators::IndexingRows,       operators::ScatterRows,
    operators::SelectionRows,      operators::ConvolutionRows,
    operators::PoolingRows,        operators::MatrixRows,
    operators::NormalizationRows,  operators::AttentionRows,
    operators::FusedAttentionRows, operators::FusedRows,
    operators::RecurrentRows,      operators::QuantizationRows,
    operators::LossRows,           operators::ImageRows,
    operators::SignalRows,         operators::TextRows,
    operators::SequenceRows,       operators::OptionalRows,
    operators::ControlFlowRows,    operators::MachineLearningRows,
    operators::ClassifierRows,     operators::TrainingRows,
    operators::QLinearRows,        operators::ContributedProductRows,
    operators::CropRows,           operators::ContributedAttentionRows,
};

// By domain and name.
using OperatorKey = std::pair<std::string_view, std::string_view>;
struct HashOfKey {
  size_t operator()(const OperatorKey& key) const {
    const std::hash<std::string_view> hash;
    return hash(key.second) ^ (hash(key.first) << 1);
  }
};

struct Table {
  std::vector<const OperatorRow*> rows;
  std::unordered_multimap<OperatorKey, const OperatorRow*, HashOfKey> by_name;
};

const Table& TheTable() {
  static const Table table = [] {
    Table made;
    for (const OperatorFamily family : kFamilies) {
      for (const OperatorRow& row : family()) {
        made.rows.push_back(&row);
        made.by_name.emplace(std::pair(row.domain, row.name), &row);
      }
    }
    return made;
  }();
  return table;
}

}  // namespace

const OperatorRow* FindOperator(std::string_view domain, std::string_view name, int version) {
  const auto [first, last] = TheTable().by_name.equal_range({domain, name});
  for (auto row = first; row != last; ++row) {
    if (row->second->since <= version && version <= row->second->until) return row->second;
  }
  const RegisteredOperator* registered = FindRegisteredOperator(domain, name, version);
  return registered == nullptr ? nullptr : &registered->row;
}

const OperatorFacts& FactsOf(const Node& node) {
  static constexpr OperatorFacts kNothingKnown;
  const OperatorRow* row = FindOperator(node.domain, node.op, node.version);
  return row != nullptr ? row->facts : kNothingKnown;
}

std::span<const OperatorRow* const> AllOperators() { return TheTable().rows; }

}  // namespace plimsoll::graph
