#include "onnx/function_table.h"

#include <optional>
#include <string>

#include "plimsoll/base/text.h"

namespace plimsoll::onnx {
namespace {

std::string Describe(const FunctionRecord& function) {
  return StrCat("function ",
                Quote(function.domain.empty() ? std::string(function.name)
                                              : StrCat(function.domain, "::", function.name)));
}

}  // namespace

// Counts the nodes that a body becomes when every call in it is expanded.
class FunctionTable::ExpansionCounter {
 public:
  ExpansionCounter(const Source& source, const FunctionTable& table)
      : source_(source), table_(table) {}

  Result<int64_t> Count(const std::vector<NodeRecord>& nodes, int depth) {
    if (depth > kMaxNesting) {
      return source_.BadFile("onnx.limit", source_.file,
                             StrCat("functions call each other more than ", kMaxNesting, " deep"));
    }
    int64_t count = 0;
    for (const NodeRecord& node : nodes) {
      count = SaturatingAdd(count, 1);
      if (const Entry* callee = table_.Find(node)) {
        PLIMSOLL_ASSIGN(const int64_t inner, CountFunction(*callee->record, depth));
        count = SaturatingAdd(count, inner);
      }
      for (const AttributeRecord& attribute : node.attributes) {
        for (const GraphRecord& graph : attribute.graphs) {
          PLIMSOLL_ASSIGN(const int64_t inner, Count(graph.nodes, depth + 1));
          count = SaturatingAdd(count, inner);
        }
      }
    }
    return count;
  }

  Result<int64_t> CountFunction(const FunctionRecord& function, int depth) {
    const auto [entry, is_new] = counts_.emplace(&function, std::nullopt);
    if (!is_new) {
      if (entry->second) return *entry->second;
      return source_.BadFile("onnx.function_cycle", source_.At(Describe(function)),
                             "it calls itself, directly or through others",
                             "functions of a model must not be recursive");
    }
    PLIMSOLL_ASSIGN(const int64_t count, Count(function.nodes, depth + 1));
    counts_[&function] = count;
    return count;
  }

 private:
  const Source& source_;
  const FunctionTable& table_;
  std::map<const FunctionRecord*, std::optional<int64_t>> counts_;  // nothing: being counted
};

Result<FunctionTable> FunctionTable::Make(const Source& source, const ModelRecord& model,
                                          const OpsetTable& model_opsets) {
  FunctionTable table;
  for (const FunctionRecord& function : model.functions) {
    PLIMSOLL_ASSIGN(OpsetTable opsets, OpsetTable::Make(source, function.opsets, &model_opsets));
    for (const AttributeRecord& attribute : function.defaults) {
      if (attribute.kind == AttributeRecord::Kind::kValue) continue;
      return source.Unsupported("onnx.function", source.At(Describe(function)),
                                StrCat("the default of its attribute ", Quote(attribute.name),
                                       " is a graph or a reference"));
    }
    const Key key(function.domain, function.name, function.overload);
    if (!table.functions_.emplace(key, Entry{&function, std::move(opsets)}).second) {
      return source.BadFile("onnx.duplicate", source.At(Describe(function)),
                            "the model defines it twice");
    }
  }
  ExpansionCounter counter(source, table);
  for (const FunctionRecord& function : model.functions) {
    PLIMSOLL_TRY(counter.CountFunction(function, 0).status());
  }
  PLIMSOLL_ASSIGN(const int64_t nodes, counter.Count(model.graph.nodes, 0));
  if (nodes <= kMaxNodes) return table;
  return source.BadFile(
      "onnx.limit", source.file,
      StrCat("with its functions expanded the model has more than ", kMaxNodes, " nodes"));
}

const FunctionTable::Entry* FunctionTable::Find(const NodeRecord& node) const {
  const auto entry = functions_.find(Key(node.domain, node.op, node.overload));
  return entry == functions_.end() ? nullptr : &entry->second;
}

}  // namespace plimsoll::onnx
