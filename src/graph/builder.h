#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "graph/graph.h"

namespace plimsoll::graph {

// Makes a graph by hand, for tests and for programs that have no file. Names must be new.
//
//   GraphBuilder b(/*opset=*/20);
//   const ValueId x = b.Input("x", ValueType::Tensor(DataType::kFloat32, Shape{1,
//   Dim::Symbol("n")})); const ValueId y = b.Node("Relu", {x}); b.Output(y); Graph graph =
//   b.Build();
class GraphBuilder {
 public:
  explicit GraphBuilder(int opset = 20);

  ValueId Input(std::string name, ValueType type);
  ValueId Int64s(std::string name, const std::vector<int64_t>& elements);  // rank 1
  ValueId Int64(std::string name, int64_t element);                        // a scalar
  ValueId Float32s(std::string name, std::vector<int64_t> dims, const std::vector<float>& elements);

  // A node with one output, or with several named "<op>_<number>.<output>".
  ValueId Node(std::string op, std::vector<ValueId> inputs, Attributes attributes = {});
  std::vector<ValueId> Nodes(std::string op, std::vector<ValueId> inputs, size_t outputs,
                             Attributes attributes = {}, std::string domain = "");
  void Output(ValueId value);

  // Bodies: what is made between Begin and End belongs to the body.
  SubgraphId BeginBody(std::string name);
  ValueId BodyInput(std::string name, ValueType type);
  void EndBody(std::vector<ValueId> outputs);

  Graph& graph() { return graph_; }
  Graph Build() { return std::move(graph_); }

 private:
  ValueId AddValue(std::string name, ValueType type);
  ValueId AddConstant(std::string name, DataType type, std::vector<int64_t> dims, const void* data,
                      size_t size);

  Graph graph_;
  std::vector<SubgraphId> open_;
  int opset_;
};

}  // namespace plimsoll::graph
