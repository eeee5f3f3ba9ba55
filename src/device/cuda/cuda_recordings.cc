// Recordings of streams of the cuda devices: captures, and the graphs made of them.
#include <utility>

#include "device/cuda/cuda_streams.h"
#include "device/cuda/forked_process.h"

namespace plimsoll::device {

CudaRecording::~CudaRecording() {
  if (cuda::UsedBeforeFork()) return;
  const cuda::Driver& driver = cards_.driver();
  if (exec != nullptr) driver.graph_exec_destroy(exec);
  if (graph != nullptr) driver.graph_destroy(graph);
}

std::vector<Touch> CudaRecording::Touches() const {
  std::vector<Touch> all;
  for (const PendingWork& work : works) {
    all.insert(all.end(), work.touches.begin(), work.touches.end());
  }
  return all;
}

Status CudaStreams::BeginRecording(DeviceId device, StreamId stream) {
  CudaCall call(cards_, DeviceCall::kBeginRecording, device);
  PLIMSOLL_TRY(call.status());
  const std::lock_guard lock(mutex_);
  PLIMSOLL_ASSIGN(const Stream found, FindNotRecording(call, stream));
  PLIMSOLL_TRY(call.Do(call.driver().capture_begin, found->handle, cuda::kCaptureRelaxed));
  found->recording = std::make_shared<CudaRecording>(cards_, device);
  return {};
}

Result<RecordingId> CudaStreams::EndRecording(DeviceId device, StreamId stream) {
  CudaCall call(cards_, DeviceCall::kEndRecording, device);
  PLIMSOLL_TRY(call.status());
  std::shared_ptr<CudaRecording> ended;
  const std::lock_guard lock(mutex_);
  PLIMSOLL_ASSIGN(const Stream found, Find(call, stream));
  if (found->recording == nullptr) {
    return call.Refused("the stream is not under recording", "begin a recording first");
  }
  const cuda::Driver& driver = call.driver();
  ended = std::exchange(found->recording, nullptr);
  PLIMSOLL_TRY(call.Do(driver.capture_end, found->handle, &ended->graph));
  PLIMSOLL_TRY(call.Do(driver.graph_instantiate, &ended->exec, ended->graph, uint64_t{0}));
  const RecordingId recording(next_recording_++);
  recordings_.emplace(recording, ended);
  return recording;
}

Result<std::shared_ptr<CudaRecording>> CudaStreams::Recorded(CudaCall& call,
                                                             RecordingId recording) const {
  const std::lock_guard lock(mutex_);
  const auto found = recordings_.find(recording);
  if (found != recordings_.end() && found->second->device == call.device()) return found->second;
  return call.Refused("no such recording on this device");
}

Status CudaStreams::Launch(CudaCall& call, cuda::Stream stream,
                           const CudaRecording& recording) const {
  const cuda::Driver& driver = call.driver();
  int capturing = cuda::kCaptureNone;
  uint64_t capture = 0;
  cuda::Graph graph = nullptr;
  const cuda::GraphNode* before = nullptr;
  size_t count = 0;
  PLIMSOLL_TRY(call.Do(driver.capture_info, stream, &capturing, &capture, &graph, &before, &count));
  if (capturing == cuda::kCaptureNone) return call.Do(driver.graph_launch, recording.exec, stream);
  cuda::GraphNode node = nullptr;
  PLIMSOLL_TRY(call.Do(driver.graph_add_child, &node, graph, before, count, recording.graph));
  return call.Do(driver.capture_set_dependencies, stream, &node, size_t{1}, cuda::kSetDependencies);
}

Status CudaStreams::DestroyRecording(DeviceId device, RecordingId recording) {
  CudaCall call(cards_, DeviceCall::kDestroyRecording, device);
  PLIMSOLL_TRY(call.status());
  PLIMSOLL_ASSIGN(const std::shared_ptr<CudaRecording> kept, Recorded(call, recording));
  const std::lock_guard lock(mutex_);
  recordings_.erase(recording);
  return {};
}

}  // namespace plimsoll::device
