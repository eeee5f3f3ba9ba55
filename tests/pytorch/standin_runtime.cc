// The calls of CUDA's runtime library that PyTorch makes for tensors that no kernel touches, by the
// stand-in of the driver that PLIMSOLL_CUDA_DRIVER names. Preloaded, it lets a real PyTorch
// allocate, free, copy and capture on a machine without a GPU
// (tests/pytorch/check_torch_standin.py).
#include <cuda_runtime_api.h>
#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <vector>

namespace {

void* Driver() {
  static void* const library = dlopen(std::getenv("PLIMSOLL_CUDA_DRIVER"), RTLD_NOW | RTLD_LOCAL);
  return library;
}

// A function of the driver; the runtime's errors have the driver's numbers where the stand-in gives
// any.
template <typename... Arguments>
cudaError_t Call(const char* name, Arguments... arguments) {
  auto* function = reinterpret_cast<int (*)(Arguments...)>(dlsym(Driver(), name));
  if (function == nullptr) {
    std::fprintf(stderr, "the stand-in has no %s\n", name);
    std::abort();
  }
  return static_cast<cudaError_t>(function(arguments...));
}

thread_local int current_device = 0;
thread_local int bound_device = -1;

// Calls of the driver need a context; the runtime binds its device's by itself.
void Bind() {
  if (bound_device == current_device) return;
  static std::once_flag once;
  std::call_once(once, [] { Call("cuInit", 0u); });
  void* context = nullptr;
  Call("cuDevicePrimaryCtxRetain", &context, current_device);
  Call("cuCtxPushCurrent_v2", context);
  bound_device = current_device;
}

template <typename... Arguments>
cudaError_t Bound(const char* name, Arguments... arguments) {
  Bind();
  return Call(name, arguments...);
}

}  // namespace

extern "C" {

cudaError_t cudaGetDeviceCount(int* count) { return Bound("cuDeviceGetCount", count); }
cudaError_t cudaGetDevice(int* device) {
  *device = current_device;
  return cudaSuccess;
}
cudaError_t cudaSetDevice(int device) {
  current_device = device;
  Bind();
  return cudaSuccess;
}
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int) {
  std::memset(properties, 0, sizeof(*properties));
  std::strcpy(properties->name, "stand-in");
  properties->major = 9;
  properties->warpSize = 32;
  properties->multiProcessorCount = 1;
  properties->maxThreadsPerMultiProcessor = 1024;
  properties->maxThreadsPerBlock = 1024;
  return cudaSuccess;
}
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr, int) {
  *value = 0;
  return cudaSuccess;
}
cudaError_t cudaDeviceCanAccessPeer(int* can, int, int) {
  *can = 0;
  return cudaSuccess;
}
cudaError_t cudaDriverGetVersion(int* version) { return Call("cuDriverGetVersion", version); }
cudaError_t cudaRuntimeGetVersion(int* version) { return Call("cuDriverGetVersion", version); }
cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  *least = *greatest = 0;
  return cudaSuccess;
}
cudaError_t cudaDeviceSynchronize() { return Bound("cuCtxSynchronize"); }
cudaError_t cudaMemGetInfo(size_t* free, size_t* total) {
  return Bound("cuMemGetInfo_v2", free, total);
}
cudaError_t cudaGetLastError() { return cudaSuccess; }
cudaError_t cudaPeekAtLastError() { return cudaSuccess; }
const char* cudaGetErrorString(cudaError_t) { return "as the stand-in was told"; }
const char* cudaGetErrorName(cudaError_t) { return "cudaErrorStandin"; }

cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned flags, int) {
  return Bound("cuStreamCreate", stream, flags);
}
cudaError_t cudaStreamGetPriority(cudaStream_t, int* priority) {
  *priority = 0;
  return cudaSuccess;
}
cudaError_t cudaStreamQuery(cudaStream_t stream) { return Bound("cuStreamQuery", stream); }
cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  return Bound("cuStreamSynchronize", stream);
}
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags) {
  return Bound("cuStreamWaitEvent", stream, event, flags);
}
cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags) {
  return Bound("cuEventCreate", event, flags);
}
cudaError_t cudaEventDestroy(cudaEvent_t event) { return Bound("cuEventDestroy_v2", event); }
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  return Bound("cuEventRecord", event, stream);
}
cudaError_t cudaEventQuery(cudaEvent_t event) { return Bound("cuEventQuery", event); }
cudaError_t cudaEventSynchronize(cudaEvent_t event) { return Bound("cuEventSynchronize", event); }

cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t count, cudaMemcpyKind,
                            cudaStream_t stream) {
  return Bound("cuMemcpyAsync", to, from, count, stream);
}
cudaError_t cudaMemcpy(void* to, const void* from, size_t count, cudaMemcpyKind kind) {
  const cudaError_t copied = cudaMemcpyAsync(to, from, count, kind, nullptr);
  return copied == cudaSuccess ? cudaStreamSynchronize(nullptr) : copied;
}

cudaError_t cudaMemsetAsync(void* at, int value, size_t count, cudaStream_t stream) {
  return Bound("cuMemsetD8Async", at, static_cast<unsigned char>(value), count, stream);
}

// Kernels do nothing: a graph sets the seed of the random generator by one.
cudaError_t __cudaGetKernel(void** kernel, const void* function) {
  *kernel = const_cast<void*>(function);
  return cudaSuccess;
}
cudaError_t __cudaLaunchKernel(void*, dim3, dim3, void**, size_t, cudaStream_t) {
  return cudaSuccess;
}

cudaError_t cudaThreadExchangeStreamCaptureMode(cudaStreamCaptureMode* mode) {
  return Bound("cuThreadExchangeStreamCaptureMode", mode);
}
cudaError_t cudaStreamIsCapturing(cudaStream_t stream, cudaStreamCaptureStatus* status) {
  return Bound("cuStreamIsCapturing", stream, status);
}
cudaError_t cudaStreamGetCaptureInfo(cudaStream_t stream, cudaStreamCaptureStatus* status,
                                     unsigned long long* id, cudaGraph_t* graph,
                                     const cudaGraphNode_t** nodes, const cudaGraphEdgeData** edges,
                                     size_t* count) {
  // The stand-in fills in everything, the caller may want little of it.
  unsigned long long any_id = 0;
  cudaGraph_t any_graph = nullptr;
  const cudaGraphNode_t* any_nodes = nullptr;
  size_t any_count = 0;
  if (edges != nullptr) *edges = nullptr;
  return Bound("cuStreamGetCaptureInfo_v2", stream, status, id != nullptr ? id : &any_id,
               graph != nullptr ? graph : &any_graph, nodes != nullptr ? nodes : &any_nodes,
               count != nullptr ? count : &any_count);
}
cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode mode) {
  return Bound("cuStreamBeginCapture_v2", stream, mode);
}
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) {
  return Bound("cuStreamEndCapture", stream, graph);
}
cudaError_t cudaGraphGetNodes(cudaGraph_t, cudaGraphNode_t*, size_t* count) {
  *count = 1;
  return cudaSuccess;
}
cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t* executable, cudaGraph_t graph,
                                          unsigned long long flags) {
  return Bound("cuGraphInstantiateWithFlags", executable, graph, flags);
}
cudaError_t cudaGraphLaunch(cudaGraphExec_t executable, cudaStream_t stream) {
  return Bound("cuGraphLaunch", executable, stream);
}
cudaError_t cudaGraphDestroy(cudaGraph_t graph) { return Bound("cuGraphDestroy", graph); }
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t executable) {
  return Bound("cuGraphExecDestroy", executable);
}

// PyTorch asks the driver itself whether a device's context was made.
int cuDevicePrimaryCtxGetState(int, unsigned* flags, int* active) {
  *flags = 0;
  *active = 1;
  return 0;
}
}
