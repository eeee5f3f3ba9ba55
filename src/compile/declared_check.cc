#include <map>

#include "compile/shapes.h"
#include "graph/operator_row.h"

namespace plimsoll::compile {
namespace {

using graph::Dim;
using graph::ValueType;

enum class Verdict { kAgrees, kUndetermined, kDiffers };

Verdict Worse(Verdict a, Verdict b) { return a > b ? a : b; }

// Compares types one by one. Symbols that the file made up for sizes that only data tells are bound
// to ours at their first use and must agree from then on.
class Comparison {
 public:
  explicit Comparison(const Bindings& bindings) : bindings_(bindings) {}

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
      const auto learnt = learnt_.find(name);
      return learnt == learnt_.end() ? std::nullopt : std::optional(learnt->second);
    });
    if (wanted == computed) return Verdict::kAgrees;
    if (!computed.is_anonymous()) return Verdict::kDiffers;
    std::vector<std::string> symbols;
    wanted.CollectSymbols(symbols);
    if (symbols.size() != 1 || wanted.Text() != symbols[0]) return Verdict::kUndetermined;
    learnt_.emplace(symbols[0], computed);
    return Verdict::kAgrees;
  }

  const Bindings& bindings_;
  std::map<std::string, Dim> learnt_;
};

}  // namespace

DeclaredCheck CheckDeclared(const graph::Graph& graph, const Bindings& bindings) {
  Comparison comparison(bindings);
  DeclaredCheck check;
  for (const graph::Value& value : graph.values) {
    const bool says_all = value.declared.kind != ValueType::Kind::kUnknown &&
                          (!value.declared.is_tensor() || value.declared.shape.has_value());
    if (!value.producer.valid() || !says_all) continue;
    const graph::Node& node = graph[value.producer];
    if (graph::FindOperator(node.domain, node.op, node.version) == nullptr) continue;
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
