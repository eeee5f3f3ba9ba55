#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <mutex>
#include <utility>
#include <vector>

#include "compile/graph_for_tests.h"
#include "graph/builder.h"
#include "kernels/parallel.h"
#include "plimsoll/engine/operator.h"

// For tests of what kernels are prepared with and run with: an operator that copies its input and
// notes that.
namespace plimsoll::engine {

struct KernelNote {
  bool ran = false;  // else prepared
  int threads = 0;
  bool deterministic = false;  // as it was prepared
};

class KernelNotes {
 public:
  static KernelNotes& Of() {
    static KernelNotes notes;
    return notes;
  }
  void Add(const KernelNote& note) {
    const std::lock_guard lock(mutex_);
    notes_.push_back(note);
  }
  std::vector<KernelNote> Take() {
    const std::lock_guard lock(mutex_);
    return std::exchange(notes_, {});
  }

 private:
  std::mutex mutex_;
  std::vector<KernelNote> notes_;
};

class NotedCopyKernel final : public OperatorKernel {
 public:
  NotedCopyKernel(Bytes bytes, bool deterministic) : bytes_(bytes), deterministic_(deterministic) {
    KernelNotes::Of().Add({false, kernels::Threads(), deterministic});
  }
  Status Run(const OperatorCall& call) const override {
    KernelNotes::Of().Add({true, kernels::Threads(), deterministic_});
    std::memcpy(call.outputs[0], call.inputs[0], static_cast<size_t>(bytes_.value()));
    return {};
  }

 private:
  const Bytes bytes_;
  const bool deterministic_;
};

// Copies of x [4], one on each of `streams` streams. With places of what is not zero too, the graph
// is run node by node.
inline graph::Graph NotedCopies(int streams = 1, bool node_by_node = false) {
  static const bool registered =
      RegisterOperator({.domain = "test.notes",
                        .name = "NotedCopy",
                        .infer_shapes = [](ShapeInference& node) -> Status {
                          node.CopyTypeAndShape(0, 0);
                          return {};
                        },
                        .make_kernel = [](OperatorSite& site) -> Result<OperatorKernelPointer> {
                          return MakeOperatorKernel<NotedCopyKernel>(site.outputs[0].size(),
                                                                     site.deterministic);
                        }})
          .ok();
  EXPECT_TRUE(registered);
  graph::GraphBuilder builder;
  const graph::ValueId x = builder.Input("x", compile::FloatTensor({4}));
  for (int i = 0; i < streams; ++i) {
    builder.Output(builder.Nodes("NotedCopy", {x}, 1, {}, "test.notes")[0]);
  }
  if (node_by_node) builder.Output(builder.Node("NonZero", {x}));
  graph::Graph graph = builder.Build();
  for (int i = 0; i < streams; ++i) {
    graph.nodes[static_cast<size_t>(i)].version = 1;
    graph.nodes[static_cast<size_t>(i)].memory.stream = i;
  }
  return graph;
}

}  // namespace plimsoll::engine
