#include <algorithm>
#include <map>

#include "compile/shapes/shapes.h"
#include "graph/operator_row.h"

namespace plimsoll::compile {
namespace {

using graph::Dim;
using graph::ValueType;

enum class Verdict { kAgrees, kUndetermined, kDiffers };

Verdict Worse(Verdict a, Verdict b) { return a > b ? a : b; }

// Compares types one by one. A symbol that no input of the model carries is the file's own name for
// a size: it is bound to ours at its first use in a body and must agree from then on.
class Comparison {
 public:
  Comparison(const graph::Graph& graph, const Bindings& bindings) : bindings_(bindings) {
    for (const graph::ValueId input : graph.root().inputs) {
      ValueType type = graph[input].type;
      ForEachDim(type, [&](Dim& dim) { dim.CollectSymbols(carried_); });
    }
  }

  void Enter(graph::SubgraphId body) { body_ = body; }

  Verdict Compare(const ValueType& declared, const ValueType& computed) {
    if (declared.kind == ValueType::Kind::kUnknown) return Verdict::kAgrees;
    if (declared.kind != computed.kind || declared.data_type != computed.data_type) {
      return computed.kind == ValueType::Kind::kUnknown ? Verdict::kUndetermined
                                                        : Verdict::kDiffers;
    }
    Verdict verdict = Verdict::kAgrees;
    if (declared.element != nullptr && computed.element != nullptr) {
      verdict = Compare(*declared.element, *computed.element);
    }
    if (!declared.shape) return verdict;
    if (!computed.shape) return Worse(verdict, Verdict::kUndetermined);
    if (declared.shape->size() != computed.shape->size()) return Verdict::kDiffers;
    for (size_t i = 0; i < declared.shape->size(); ++i) {
      verdict = Worse(verdict, Compare((*declared.shape)[i], (*computed.shape)[i]));
    }
    return verdict;
  }

 private:
  Verdict Compare(const Dim& declared, const Dim& computed) {
    if (declared.is_anonymous()) return Verdict::kAgrees;
    const Dim wanted = declared.Substitute([&](const std::string& name) -> std::optional<Dim> {
      if (const auto found = bindings_.find(name); found != bindings_.end()) {
        return Dim(found->second);
      }
      const auto learnt = learnt_.find({body_, name});
      return learnt == learnt_.end() ? std::nullopt : std::optional(learnt->second);
    });
    if (wanted == computed) return Verdict::kAgrees;
    const std::optional<std::string> symbol = wanted.AsSymbol();
    const bool own_name =
        symbol && std::find(carried_.begin(), carried_.end(), *symbol) == carried_.end();
    if (own_name) {
      learnt_.emplace(std::pair(body_, *symbol), computed);
      return Verdict::kAgrees;
    }
    return computed.is_anonymous() ? Verdict::kUndetermined : Verdict::kDiffers;
  }

  const Bindings& bindings_;
  std::vector<std::string> carried_;  // by the types of the model's inputs
  std::map<std::pair<graph::SubgraphId, std::string>, Dim> learnt_;
  graph::SubgraphId body_;
};

}  // namespace

DeclaredCheck CheckDeclared(const graph::Graph& graph, const Bindings& bindings) {
  Comparison comparison(graph, bindings);
  DeclaredCheck check;
  for (const graph::Value& value : graph.values) {
    const bool says_all = value.declared.kind != ValueType::Kind::kUnknown &&
                          (!value.declared.is_tensor() || value.declared.shape.has_value());
    if (!value.producer.valid() || !says_all) continue;
    const graph::Node& node = graph[value.producer];
    if (graph::FindOperator(node.domain, node.op, node.version) == nullptr) continue;
    comparison.Enter(value.home);
    const Verdict verdict = comparison.Compare(value.declared, value.type);
    if (verdict == Verdict::kUndetermined) {
      ++check.undetermined;
      continue;
    }
    ++check.checked;
    if (verdict == Verdict::kDiffers) {
      check.mismatches.push_back(
          {value.name, Text(value.declared), Text(value.type), Describe(graph, value.producer)});
    }
  }
  return check;
}

}  // namespace plimsoll::compile
