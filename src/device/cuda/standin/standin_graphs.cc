// The stand-in's captures and graphs: a graph is a list of operations.
#include <utility>

#include "device/cuda/standin/standin_state.h"

namespace plimsoll::device::cuda::standin {

extern "C" {

Result cuStreamBeginCapture_v2(Stream stream, int mode) {
  Entry call(__func__, Entry::kContext);
  if (call.result != kSuccess) return call.result;
  StreamRecord* const found = call.state.Find(stream, nullptr);
  if (found == nullptr) return kInvalidHandle;
  if (found->capture != nullptr) return kStreamCaptureUnsupported;
  auto graph = std::make_unique<GraphRecord>();
  found->capture = graph.get();
  found->capture_mode = mode;
  found->capture_broken = false;
  found->last_node = nullptr;
  call.state.graphs.emplace(graph.get(), std::move(graph));
  return kSuccess;
}

Result cuStreamEndCapture(Stream stream, Graph* graph) {
  Entry call(__func__, Entry::kContext);
  if (call.result != kSuccess) return call.result;
  StreamRecord* const found = call.state.Find(stream, nullptr);
  if (found == nullptr || found->capture == nullptr) return kInvalidValue;
  *graph = std::exchange(found->capture, nullptr);
  if (!found->capture_broken) return kSuccess;
  call.state.graphs.erase(static_cast<GraphRecord*>(*graph));
  *graph = nullptr;
  return kStreamCaptureUnsupported;
}

Result cuStreamIsCapturing(Stream stream, int* status) {
  Entry call(__func__, Entry::kContext);
  if (call.result != kSuccess) return call.result;
  const StreamRecord* const found = call.state.Find(stream, call.context);
  if (found == nullptr) return kInvalidHandle;
  *status = found->capture != nullptr ? 1 : kCaptureNone;
  return kSuccess;
}

Result cuStreamGetCaptureInfo_v2(Stream stream, int* status, uint64_t* id, Graph* graph,
                                 const GraphNode** dependencies, size_t* count) {
  Entry call(__func__, Entry::kContext);
  if (call.result != kSuccess) return call.result;
  const StreamRecord* const found = call.state.Find(stream, call.context);
  if (found == nullptr) return kInvalidHandle;
  *status = found->capture != nullptr ? 1 : kCaptureNone;
  *id = 1;
  *graph = found->capture;
  *dependencies = &found->last_node;
  *count = found->last_node != nullptr ? 1 : 0;
  return kSuccess;
}

Result cuStreamUpdateCaptureDependencies(Stream stream, GraphNode* nodes, size_t count, unsigned) {
  Entry call(__func__, Entry::kContext);
  if (call.result != kSuccess) return call.result;
  StreamRecord* const found = call.state.Find(stream, call.context);
  if (found == nullptr || found->capture == nullptr || count != 1) return kInvalidValue;
  found->last_node = nodes[0];
  return kSuccess;
}

Result cuGraphAddChildGraphNode(GraphNode* node, Graph graph, const GraphNode*, size_t,
                                Graph child) {
  Entry call(__func__);
  if (call.result != kSuccess) return call.result;
  const auto parent = call.state.graphs.find(static_cast<GraphRecord*>(graph));
  const auto inside = call.state.graphs.find(static_cast<GraphRecord*>(child));
  if (parent == call.state.graphs.end() || inside == call.state.graphs.end()) return kInvalidValue;
  for (const Operation& operation : inside->first->operations) {
    parent->first->operations.push_back(operation);
  }
  *node = reinterpret_cast<GraphNode>(call.state.next_node++);
  return kSuccess;
}

Result cuGraphInstantiateWithFlags(GraphExec* exec, Graph graph, uint64_t) {
  Entry call(__func__);
  if (call.result != kSuccess) return call.result;
  const auto found = call.state.graphs.find(static_cast<GraphRecord*>(graph));
  if (found == call.state.graphs.end()) return kInvalidValue;
  auto made = std::make_unique<GraphRecord>(*found->first);
  *exec = made.get();
  call.state.graphs.emplace(made.get(), std::move(made));
  return kSuccess;
}

Result cuGraphLaunch(GraphExec exec, Stream stream) {
  Entry call(__func__, Entry::kContext);
  if (call.result != kSuccess) return call.result;
  const auto found = call.state.graphs.find(static_cast<GraphRecord*>(exec));
  StreamRecord* const on = call.state.Find(stream, call.context);
  if (found == call.state.graphs.end() || on == nullptr) return kInvalidHandle;
  for (const Operation& operation : found->first->operations) call.state.Put(*on, operation);
  return kSuccess;
}

Result cuGraphExecDestroy(GraphExec exec) {
  Entry call(__func__);
  if (call.result != kSuccess) return call.result;
  return call.state.graphs.erase(static_cast<GraphRecord*>(exec)) == 1 ? kSuccess : kInvalidHandle;
}

Result cuGraphDestroy(Graph graph) {
  Entry call(__func__);
  if (call.result != kSuccess) return call.result;
  return call.state.graphs.erase(static_cast<GraphRecord*>(graph)) == 1 ? kSuccess : kInvalidHandle;
}

}  // extern "C"

}  // namespace plimsoll::device::cuda::standin
