#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "graph/graph.h"

namespace plimsoll::compile {

// Whether a pass may change the node or move its work elsewhere: nothing special was asked for its
// memory, and it runs on the main stream.
bool MayRewrite(const graph::Node& node);

// Edits a graph and keeps track of who reads what. Values and nodes keep their ids; a dropped node
// is in no body any more and its `home` is not valid.
//
// One rewriter at a time over a graph, and no edits of inputs past it. The bodies' own lists of
// nodes are out of date while it works: `NodesOf` knows better, and its end brings them up to date.
// Making one, and ending it, is linear in the graph; an edit takes as long as what it changes is
// large.
class Rewriter {
 public:
  explicit Rewriter(graph::Graph& graph);
  ~Rewriter();
  Rewriter(const Rewriter&) = delete;
  Rewriter& operator=(const Rewriter&) = delete;

  graph::Graph& graph() { return graph_; }
  const graph::Graph& graph() const { return graph_; }

  // The nodes that list the value as an input, one entry for each place, in every body.
  std::vector<graph::NodeId> readers(graph::ValueId value) const;
  size_t ReaderCount(graph::ValueId value) const { return places_[value.index()]; }
  // Whether a body returns the value.
  bool IsOutput(graph::ValueId value) const { return output_[value.index()]; }
  // Whether one place alone needs the value, so that it may vanish into that reader.
  bool HasOneReader(graph::ValueId value) const {
    return ReaderCount(value) == 1 && !IsOutput(value);
  }
  // Whether a reader makes another value of these bytes (reference_output), so that who reads the
  // value must not become somebody else.
  bool IsOverwritten(graph::ValueId value) const;
  // The nodes of a body that are still in it, as they are now.
  std::vector<graph::NodeId> NodesOf(graph::SubgraphId body) const {
    BringUpToDate(body);
    return graph_[body].nodes;
  }
  bool IsDropped(graph::NodeId node) const { return !graph_[node].home.valid(); }

  void SetInputs(graph::NodeId node, std::vector<graph::ValueId> inputs);
  void SetInput(graph::NodeId node, size_t index, graph::ValueId value);

  // Every reader of `from` reads `to` instead. `from` must not be returned by a body.
  void ReplaceUses(graph::ValueId from, graph::ValueId to);

  // `other` takes the place of `value`, which it always equals; the node that made `value` is to be
  // dropped. A value that a body returns keeps its name and place: then the node that makes `other`
  // makes `value` instead. False, and nothing is changed, where that cannot be.
  bool StandIn(graph::ValueId value, graph::ValueId other);

  // Takes the node, which carries no body, out of its own. Its outputs must have no readers left,
  // or be made otherwise.
  void Drop(graph::NodeId node);
  // Drops the node where nobody reads what it makes, then what fed it likewise.
  void DropUnused(graph::NodeId node);

  // A new node with one output in the body of `place`, just before it. The output's type is left to
  // shape inference. Gives the output.
  graph::ValueId InsertBefore(graph::NodeId place, graph::Node node);

  // A constant as a value of the body of `place`.
  graph::ValueId AddConstant(graph::NodeId place, std::string name, graph::ConstantTensor tensor);
  graph::ValueId AddInt64s(graph::NodeId place, std::string name, std::vector<int64_t> elements);

  // The value is that constant from now on; the node that made it no longer does.
  void MakeConstant(graph::ValueId value, graph::ConstantTensor tensor);

 private:
  graph::ValueId AddValue(graph::SubgraphId home, std::string name);
  void AddReader(graph::ValueId value, graph::NodeId node);
  void ForgetReader(graph::ValueId value);
  template <typename Visit>
  void ForEachNode(graph::SubgraphId body, const Visit& visit) const;
  void ListReaders() const;
  void BringUpToDate(graph::SubgraphId body) const;
  void Append(graph::NodeId node, std::vector<graph::NodeId>& nodes) const;

  graph::Graph& graph_;
  std::vector<uint32_t> places_;  // by value: that read it now
  // Who has read each value since the first time somebody asked: readers_[first_[value]] to
  // readers_[first_[value + 1]], then `added_`. Some no longer do.
  mutable std::vector<graph::NodeId> readers_;
  mutable std::vector<uint32_t> first_;
  std::unordered_map<size_t, std::vector<graph::NodeId>> added_;  // by value
  std::vector<bool> output_;                                      // by value
  bool overwrites_ = false;            // some node has a reference_output
  mutable std::vector<bool> changed_;  // by body: its list of nodes is out of date
  // By node: what was put just before it since then, in that order.
  mutable std::unordered_map<size_t, std::vector<graph::NodeId>> inserted_;
};

}  // namespace plimsoll::compile
