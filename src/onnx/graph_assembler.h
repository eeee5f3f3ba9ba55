#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "graph/graph.h"
#include "onnx/contributed/channel_blocks.h"
#include "onnx/function_table.h"
#include "onnx/name_maker.h"
#include "onnx/opset_table.h"
#include "onnx/scope.h"
#include "onnx/wire/records.h"
#include "onnx/wire/source.h"
#include "plimsoll/base/status.h"

namespace plimsoll::onnx {

// Turns the records of a model into a graph: names become ids, bodies see the names around them,
// calls of the model's functions are replaced by what the functions hold, and operators of
// com.microsoft that are compositions, and those over blocks of channels, by what they are composed
// of. One object makes one graph.
//
// The nodes of an expanded call are named "call/node", its inner values "call/value"; the values
// that the call makes keep the names that the caller gives them. Types that a function declares for
// its inner values are not taken over: their symbols belong to the function, not to the model.
//
// graph_assembler.cc builds bodies and nodes, function_expansion.cc replaces calls.
class GraphAssembler {
 public:
  GraphAssembler(const Source& source, const ModelRecord& model, const OpsetTable& opsets,
                 const FunctionTable& functions, const ChannelBlocks& blocks, Budget& budget)
      : source_(source),
        model_(model),
        opsets_(opsets),
        functions_(functions),
        blocks_(blocks),
        budget_(budget) {}

  Result<graph::Graph> Assemble();

 private:
  struct Body;

  // An attribute, and the body whose names and references the graphs in it mean.
  struct BoundAttribute {
    const AttributeRecord* record = nullptr;
    const Body* body = nullptr;
  };

  // One expansion of a function.
  struct Call {
    const FunctionTable::Entry* function = nullptr;
    std::string prefix;
    std::map<std::string_view, BoundAttribute> attributes;
    std::map<std::string_view, std::string> output_names;  // what the caller calls its outputs
    std::vector<std::pair<std::string_view, std::string_view>> memory;  // for every node in it
  };

  // A list of nodes that is being built: a graph, or what a call expands to.
  struct Body {
    Scope scope;
    graph::SubgraphId home;
    const Call* call = nullptr;      // the expansion that its references and operator sets mean
    const Call* named_by = nullptr;  // the innermost expansion that it lies in
    bool is_expansion = false;       // it is what `call` expands to, not a graph inside that
    int depth = 0;
    // Its place in the file, for errors.
    std::string_view label = "graph";
    const Body* around = nullptr;
    const NodeRecord* owner = nullptr;
    size_t owner_index = 0;
  };

  // A node in a body.
  struct Site {
    const NodeRecord& record;
    size_t index;
    Body& body;
  };

  Status AddGraph(const GraphRecord& record, Body& body);
  Status AddConstants(const GraphRecord& record, Body& body);
  Status AddInputs(const GraphRecord& record, Body& body);
  Status AddOutputs(const GraphRecord& record, Body& body);
  Status Declare(const ValueInfoRecord& info, graph::ValueId id, bool is_model_input);

  Status AddNodes(const std::vector<NodeRecord>& records, Body& body);
  Status AddNode(const Site& site);
  Status AddAttributes(const Site& site, graph::NodeId id);
  Result<graph::SubgraphId> AddBody(const GraphRecord& record, const AttributeRecord& attribute,
                                    const BoundAttribute& bound, const Site& site,
                                    graph::NodeId id);
  Status AddNodeOutputs(const Site& site, graph::NodeId id);
  Status SetMemory(const Site& site, graph::NodeId id);

  Status Expand(const FunctionTable::Entry& function, const Site& site);
  // Whether the node was an operator of ONNX Runtime's that stands for others, which are there now.
  Result<bool> ExpandContributed(const Site& site);
  Status CheckCall(const FunctionRecord& function, const Site& site) const;
  Result<Call> MakeCall(const FunctionTable::Entry& function, const Site& site);
  Status GiveOutputs(const FunctionRecord& function, const Site& site, Body& inner);
  Result<graph::ValueId> AddIdentity(graph::ValueId value, std::string name, const Body& body);

  Result<graph::ValueId> AddValue(std::string name, graph::SubgraphId home);
  Result<graph::NodeId> AddEmptyNode(const Body& body);
  Result<graph::ValueId> Resolve(std::string_view name, const Site& site) const;
  std::optional<BoundAttribute> Bind(const AttributeRecord& record, const Body& body) const;
  std::string ValueName(std::string_view name, const Body& body);
  std::string NodeName(const NodeRecord& record, const Body& body) const;
  const OpsetTable& OpsetsOf(const Body& body) const;
  std::string PlaceOf(const Body& body) const;
  std::string Where(const Site& site) const;

  const Source& source_;
  const ModelRecord& model_;
  const OpsetTable& opsets_;
  const FunctionTable& functions_;
  const ChannelBlocks& blocks_;
  Budget& budget_;
  NameMaker names_;
  bool names_taken_ = false;  // the file's, by names_
  graph::Graph graph_;
};

}  // namespace plimsoll::onnx
