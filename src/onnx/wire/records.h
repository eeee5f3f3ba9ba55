#pragma once

#include <string_view>
#include <utility>
#include <vector>

#include "graph/attribute.h"
#include "graph/tensor.h"
#include "onnx/wire/external_files.h"
#include "onnx/wire/source.h"
#include "plimsoll/base/status.h"

// What a model file says, message by message, before any name is resolved. Texts are views on the
// file. A record is wanted twice where a function is called twice, which is why the graph is not
// built straight from the wire.
namespace plimsoll::onnx {

struct GraphRecord;

struct AttributeRecord {
  enum class Kind { kValue, kGraph, kGraphs, kReference };

  std::string_view name;
  Kind kind = Kind::kValue;
  std::string_view reference;       // the attribute of the function that stands here
  graph::Attribute value;           // of kValue
  std::vector<GraphRecord> graphs;  // one of kGraph, any number of kGraphs
};

struct NodeRecord {
  std::string_view name;
  std::string_view domain;  // "" for the standard, also where the file says "ai.onnx"
  std::string_view op;
  std::string_view overload;
  std::vector<std::string_view> inputs;
  std::vector<std::string_view> outputs;
  std::vector<AttributeRecord> attributes;
  std::vector<std::pair<std::string_view, std::string_view>> metadata;
};

struct ValueInfoRecord {
  std::string_view name;
  ByteSpan type;  // a TypeProto, decoded when a value takes it
};

struct GraphRecord {
  std::string_view name;
  std::vector<NodeRecord> nodes;
  std::vector<graph::ConstantTensor> initializers;
  std::vector<ValueInfoRecord> inputs;
  std::vector<ValueInfoRecord> outputs;
  std::vector<ValueInfoRecord> value_infos;
  // Names that it reads and does not make, sorted; not filled for the model's own graph.
  std::vector<std::string_view> captures;
};

struct OpsetRecord {
  std::string_view domain;
  int64_t version = 0;
};

struct FunctionRecord {
  std::string_view domain;
  std::string_view name;
  std::string_view overload;
  std::vector<std::string_view> inputs;
  std::vector<std::string_view> outputs;
  std::vector<NodeRecord> nodes;
  std::vector<AttributeRecord> defaults;
  std::vector<OpsetRecord> opsets;
};

struct ModelRecord {
  int64_t ir_version = 0;
  std::string_view producer_name;
  std::string_view producer_version;
  std::vector<OpsetRecord> opsets;
  std::vector<std::pair<std::string_view, std::string_view>> metadata;
  bool has_graph = false;
  GraphRecord graph;
  std::vector<FunctionRecord> functions;
};

// Reads the whole file. Cost: one pass, weights skipped.
Result<ModelRecord> ParseModel(const Source& source, ExternalFiles& files, Budget& budget);

// The names that a node reads: its inputs, and what its bodies capture.
void AppendReads(const NodeRecord& node, std::vector<std::string_view>& names);

}  // namespace plimsoll::onnx
