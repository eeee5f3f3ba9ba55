#include "onnx/wire/records.h"

#include <algorithm>
#include <iterator>

#include "onnx/values/attribute_parser.h"
#include "onnx/values/tensor_decoder.h"
#include "onnx/wire/schema.h"
#include "onnx/wire/wire.h"
#include "plimsoll/base/text.h"

namespace plimsoll::onnx {
namespace {

using TextPair = std::pair<std::string_view, std::string_view>;

std::string_view NormalDomain(std::string_view domain) {
  return domain == "ai.onnx" ? std::string_view() : domain;
}

class ModelParser : public GraphParser {
 public:
  ModelParser(const Source& source, ExternalFiles& files, Budget& budget)
      : source_(source), files_(files), budget_(budget) {}

  Result<ModelRecord> Model();
  Status Graph(ByteSpan message, int depth, GraphRecord& graph) override;

 private:
  Status Node(ByteSpan message, int depth, std::vector<NodeRecord>& nodes);
  Status Function(ByteSpan message, std::vector<FunctionRecord>& functions);
  Status Attribute(ByteSpan message, int depth, std::vector<AttributeRecord>& attributes);
  Status Opset(ByteSpan message, std::vector<OpsetRecord>& opsets);
  Status Entry(ByteSpan message, std::vector<TextPair>& entries);
  Status ValueInfo(ByteSpan message, std::vector<ValueInfoRecord>& list);
  Status Initializer(ByteSpan message, GraphRecord& graph);
  Error RefuseSparse(ByteSpan message) const;
  Status FindCaptures(GraphRecord& graph);

  // Makes room for one more record, if the file's budget has it.
  template <typename Record>
  Status Add(std::vector<Record>& list) {
    PLIMSOLL_TRY(budget_.Spend(sizeof(Record)));
    list.emplace_back();
    return {};
  }
  Status AddText(std::vector<std::string_view>& list, std::string_view text) {
    PLIMSOLL_TRY(budget_.Spend(sizeof(text)));
    list.push_back(text);
    return {};
  }

  const Source& source_;
  ExternalFiles& files_;
  Budget& budget_;
  int64_t nodes_ = 0;
};

Result<ModelRecord> ModelParser::Model() {
  ModelRecord model;
  WireCursor cursor(source_, source_.bytes);
  while (cursor.Next()) {
    switch (cursor.number()) {
      case schema::model::kIrVersion:
        model.ir_version = cursor.Int();
        break;
      case schema::model::kProducerName:
        model.producer_name = cursor.Text();
        break;
      case schema::model::kProducerVersion:
        model.producer_version = cursor.Text();
        break;
      case schema::model::kGraph:
        if (model.has_graph) {
          return source_.BadFile("onnx.duplicate", source_.At(cursor.place()),
                                 "the model holds a second graph");
        }
        model.has_graph = true;
        PLIMSOLL_TRY(Graph(cursor.Bytes(), 0, model.graph));
        break;
      case schema::model::kOpsetImport:
        PLIMSOLL_TRY(Opset(cursor.Bytes(), model.opsets));
        break;
      case schema::model::kMetadata:
        PLIMSOLL_TRY(Entry(cursor.Bytes(), model.metadata));
        break;
      case schema::model::kFunctions:
        PLIMSOLL_TRY(Function(cursor.Bytes(), model.functions));
        break;
      default:
        break;
    }
  }
  PLIMSOLL_TRY(cursor.status());
  return model;
}

Status ModelParser::Graph(ByteSpan message, int depth, GraphRecord& graph) {
  if (depth > kMaxNesting) {
    return source_.BadFile("onnx.limit", source_.At(message.data()),
                           StrCat("graphs are nested more than ", kMaxNesting, " deep"));
  }
  PLIMSOLL_TRY(budget_.Spend(sizeof(GraphRecord)));
  WireCursor cursor(source_, message);
  while (cursor.Next()) {
    switch (cursor.number()) {
      case schema::graph::kName:
        graph.name = cursor.Text();
        break;
      case schema::graph::kNode:
        PLIMSOLL_TRY(Node(cursor.Bytes(), depth, graph.nodes));
        break;
      case schema::graph::kInitializer:
        PLIMSOLL_TRY(Initializer(cursor.Bytes(), graph));
        break;
      case schema::graph::kInput:
        PLIMSOLL_TRY(ValueInfo(cursor.Bytes(), graph.inputs));
        break;
      case schema::graph::kOutput:
        PLIMSOLL_TRY(ValueInfo(cursor.Bytes(), graph.outputs));
        break;
      case schema::graph::kValueInfo:
        PLIMSOLL_TRY(ValueInfo(cursor.Bytes(), graph.value_infos));
        break;
      case schema::graph::kSparseInitializer:
        return RefuseSparse(cursor.Bytes());
      default:
        break;
    }
  }
  PLIMSOLL_TRY(cursor.status());
  return depth == 0 ? Status() : FindCaptures(graph);
}

Status ModelParser::Node(ByteSpan message, int depth, std::vector<NodeRecord>& nodes) {
  if (++nodes_ > kMaxNodes) {
    return source_.BadFile("onnx.limit", source_.At(message.data()),
                           StrCat("the model has more than ", kMaxNodes, " nodes"));
  }
  PLIMSOLL_TRY(Add(nodes));
  NodeRecord& node = nodes.back();
  WireCursor cursor(source_, message);
  while (cursor.Next()) {
    switch (cursor.number()) {
      case schema::node::kName:
        node.name = cursor.Text();
        break;
      case schema::node::kOperator:
        node.op = cursor.Text();
        break;
      case schema::node::kDomain:
        node.domain = NormalDomain(cursor.Text());
        break;
      case schema::node::kOverload:
        node.overload = cursor.Text();
        break;
      case schema::node::kInput:
        PLIMSOLL_TRY(AddText(node.inputs, cursor.Text()));
        break;
      case schema::node::kOutput:
        PLIMSOLL_TRY(AddText(node.outputs, cursor.Text()));
        break;
      case schema::node::kAttribute:
        PLIMSOLL_TRY(Attribute(cursor.Bytes(), depth, node.attributes));
        break;
      case schema::node::kMetadata:
        PLIMSOLL_TRY(Entry(cursor.Bytes(), node.metadata));
        break;
      default:
        break;
    }
  }
  PLIMSOLL_TRY(cursor.status());
  if (!node.op.empty()) return {};
  return source_.BadFile("onnx.node", source_.At(message.data()),
                         StrCat("the node ", Quote(node.name), " names no operator"));
}

Status ModelParser::Attribute(ByteSpan message, int depth,
                              std::vector<AttributeRecord>& attributes) {
  if (attributes.size() == kMaxAttributes) {
    return source_.BadFile("onnx.limit", source_.At(message.data()),
                           StrCat("a node has more than ", kMaxAttributes, " attributes"));
  }
  PLIMSOLL_TRY(Add(attributes));
  AttributeRecord& attribute = attributes.back();
  PLIMSOLL_TRY(ParseAttribute(source_, message, depth, files_, budget_, *this, attribute));
  const auto same = [&](const AttributeRecord& other) { return other.name == attribute.name; };
  if (std::count_if(attributes.begin(), attributes.end(), same) == 1) return {};
  return source_.BadFile("onnx.duplicate", source_.At(message.data()),
                         StrCat("a node has two attributes ", Quote(attribute.name)));
}

Status ModelParser::Function(ByteSpan message, std::vector<FunctionRecord>& functions) {
  PLIMSOLL_TRY(Add(functions));
  FunctionRecord& function = functions.back();
  WireCursor cursor(source_, message);
  while (cursor.Next()) {
    switch (cursor.number()) {
      case schema::function::kName:
        function.name = cursor.Text();
        break;
      case schema::function::kDomain:
        function.domain = NormalDomain(cursor.Text());
        break;
      case schema::function::kOverload:
        function.overload = cursor.Text();
        break;
      case schema::function::kInput:
        PLIMSOLL_TRY(AddText(function.inputs, cursor.Text()));
        break;
      case schema::function::kOutput:
        PLIMSOLL_TRY(AddText(function.outputs, cursor.Text()));
        break;
      case schema::function::kNode:
        PLIMSOLL_TRY(Node(cursor.Bytes(), 0, function.nodes));
        break;
      case schema::function::kAttributeDefault:
        PLIMSOLL_TRY(Attribute(cursor.Bytes(), 0, function.defaults));
        break;
      case schema::function::kOpsetImport:
        PLIMSOLL_TRY(Opset(cursor.Bytes(), function.opsets));
        break;
      default:
        break;
    }
  }
  return cursor.status();
}

Status ModelParser::Opset(ByteSpan message, std::vector<OpsetRecord>& opsets) {
  PLIMSOLL_TRY(Add(opsets));
  WireCursor cursor(source_, message);
  while (cursor.Next()) {
    if (cursor.number() == schema::opset::kDomain) {
      opsets.back().domain = NormalDomain(cursor.Text());
    } else if (cursor.number() == schema::opset::kVersion) {
      opsets.back().version = cursor.Int();
    }
  }
  return cursor.status();
}

Status ModelParser::Entry(ByteSpan message, std::vector<TextPair>& entries) {
  PLIMSOLL_TRY(Add(entries));
  WireCursor cursor(source_, message);
  while (cursor.Next()) {
    if (cursor.number() == schema::entry::kKey) entries.back().first = cursor.Text();
    if (cursor.number() == schema::entry::kValue) entries.back().second = cursor.Text();
  }
  return cursor.status();
}

Status ModelParser::ValueInfo(ByteSpan message, std::vector<ValueInfoRecord>& list) {
  PLIMSOLL_TRY(Add(list));
  WireCursor cursor(source_, message);
  while (cursor.Next()) {
    if (cursor.number() == schema::value_info::kName) list.back().name = cursor.Text();
    if (cursor.number() == schema::value_info::kType) list.back().type = cursor.Bytes();
  }
  return cursor.status();
}

Status ModelParser::Initializer(ByteSpan message, GraphRecord& graph) {
  PLIMSOLL_TRY(Add(graph.initializers));
  PLIMSOLL_ASSIGN(graph.initializers.back(), DecodeTensor(source_, message, files_));
  return {};
}

Error ModelParser::RefuseSparse(ByteSpan message) const {
  return source_.Unsupported("onnx.sparse", source_.At(message.data()),
                             "the model has a sparse initializer", "save it as a dense tensor");
}

Status ModelParser::FindCaptures(GraphRecord& graph) {
  std::vector<std::string_view> reads;
  std::vector<std::string_view> made;
  for (const NodeRecord& node : graph.nodes) {
    AppendReads(node, reads);
    made.insert(made.end(), node.outputs.begin(), node.outputs.end());
  }
  for (const ValueInfoRecord& output : graph.outputs) reads.push_back(output.name);
  for (const ValueInfoRecord& input : graph.inputs) made.push_back(input.name);
  for (const auto& initializer : graph.initializers) made.push_back(initializer.name);
  made.emplace_back();  // the name of an input that is left out
  std::sort(reads.begin(), reads.end());
  reads.erase(std::unique(reads.begin(), reads.end()), reads.end());
  std::sort(made.begin(), made.end());
  std::set_difference(reads.begin(), reads.end(), made.begin(), made.end(),
                      std::back_inserter(graph.captures));
  return budget_.Spend(graph.captures.size() * sizeof(std::string_view));
}

}  // namespace

void AppendReads(const NodeRecord& node, std::vector<std::string_view>& names) {
  names.insert(names.end(), node.inputs.begin(), node.inputs.end());
  for (const AttributeRecord& attribute : node.attributes) {
    for (const GraphRecord& graph : attribute.graphs) {
      names.insert(names.end(), graph.captures.begin(), graph.captures.end());
    }
  }
}

Result<ModelRecord> ParseModel(const Source& source, ExternalFiles& files, Budget& budget) {
  return ModelParser(source, files, budget).Model();
}

}  // namespace plimsoll::onnx
