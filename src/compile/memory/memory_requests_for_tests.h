#pragma once

#include <gtest/gtest.h>

#include "compile/graph_for_tests.h"
#include "compile/memory/streams.h"
#include "compile/plan_model.h"

namespace plimsoll::compile {

inline constexpr int64_t kElements = 256;  // of an input
inline constexpr int64_t kBytes = 4 * kElements;

// A graph whose nodes ask something of their memory, and its plan in the order of the file.
class MemoryRequestsTest : public testing::Test {
 protected:
  graph::ValueId Input(const std::string& name) {
    return builder_.Input(name, FloatTensor({kElements}));
  }
  graph::ValueId Node(const std::string& op, const std::vector<graph::ValueId>& inputs) {
    return builder_.Node(op, inputs);
  }
  // Of the node that makes the value.
  graph::MemoryAttributes& Memory(graph::ValueId value) {
    return builder_.graph()[builder_.graph()[value].producer].memory;
  }
  void Plan() {
    graph_ = Inferred(builder_);
    ASSERT_TRUE(SettleStreams(graph_).ok());
    options_.search_order = false;
    options_.threads = 1;
    auto planned = PlanModel(graph_, options_);
    ASSERT_TRUE(planned.ok()) << (planned.ok() ? "" : planned.error().Text());
    model_ = *std::move(planned);
  }
  std::string Refusal() {
    graph_ = Inferred(builder_);
    EXPECT_TRUE(SettleStreams(graph_).ok());
    const auto planned = PlanModel(graph_, options_);
    return planned.ok() ? "" : planned.error().code + ": " + planned.error().why;
  }

  const plan::Buffer& BufferOf(graph::ValueId value) const {
    return model_.buffers.problem.buffer(model_.buffers.buffer_of[value.index()]);
  }
  int64_t OffsetOf(graph::ValueId value) const {
    return (model_.plan.offsets[model_.buffers.buffer_of[value.index()].index()] +
            model_.buffers.offset_in_buffer[value.index()])
        .value();
  }
  bool IsZeroCopy(graph::ValueId value) const { return BufferOf(value).zero_copy; }
  // What the plan notes of a value, node or group; empty: nothing.
  std::string NoteOf(const std::string& name) const {
    for (const PlannedBuffers::Note& note : model_.buffers.notes) {
      if (note.value == name) return note.text;
    }
    return "";
  }

  graph::GraphBuilder builder_;
  graph::Graph graph_;
  PlanOptions options_;
  PlannedModel model_;
};

}  // namespace plimsoll::compile
