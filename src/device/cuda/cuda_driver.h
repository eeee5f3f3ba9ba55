#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "device/cuda/driver_types.h"
#include "plimsoll/base/status.h"
#include "plimsoll/device/cuda_device.h"

namespace plimsoll::device::cuda {

// One function of the driver library: where it is, and what its calls have cost.
class FunctionEntry {
 public:
  FunctionEntry(std::vector<FunctionEntry*>& all, const char* symbol) : symbol_(symbol) {
    all.push_back(this);
  }
  FunctionEntry(const FunctionEntry&) = delete;
  FunctionEntry& operator=(const FunctionEntry&) = delete;

  const char* symbol() const { return symbol_; }
  void SetAddress(void* address) { address_ = address; }
  CudaCallTime Time() const {
    return {symbol_, calls_.load(std::memory_order_relaxed),
            std::chrono::nanoseconds(nanoseconds_.load(std::memory_order_relaxed))};
  }

 protected:
  const char* const symbol_;
  void* address_ = nullptr;
  mutable std::atomic<int64_t> calls_ = 0;
  mutable std::atomic<int64_t> nanoseconds_ = 0;
};

template <typename... Arguments>
class Function : public FunctionEntry {
 public:
  using FunctionEntry::FunctionEntry;

  Result operator()(Arguments... arguments) const {
    const auto start = std::chrono::steady_clock::now();
    const Result result = reinterpret_cast<Result (*)(Arguments...)>(address_)(arguments...);
    const std::chrono::nanoseconds spent = std::chrono::steady_clock::now() - start;
    calls_.fetch_add(1, std::memory_order_relaxed);
    nanoseconds_.fetch_add(spent.count(), std::memory_order_relaxed);
    return result;
  }
};

// The driver library, opened and initialised. It is never closed: the driver does not bear it.
// Thread-safe. A call adds two readings of the clock and two counters to the driver's own cost.
class Driver {
 public:
  // Fails with device.driver_missing, device.driver_old, device.none or device.driver.
  static ::plimsoll::Result<std::unique_ptr<Driver>> Open(const std::string& named);

  int version() const { return version_; }
  int cards() const { return cards_; }
  // "CUDA_ERROR_OUT_OF_MEMORY (out of memory)".
  std::string ErrorText(Result result) const;
  std::vector<CudaCallTime> CallTimes() const;
  std::chrono::nanoseconds TimeWithoutWaits() const;

 private:
  std::vector<FunctionEntry*> all_;
  int version_ = 0;
  int cards_ = 0;

  Driver() = default;
  Status FindFunctions(void* library, const std::string& name);
  Status Start(const std::string& name);

 public:
  using Text = const char*;
  Function<unsigned> init{all_, "cuInit"};
  Function<int*> driver_get_version{all_, "cuDriverGetVersion"};
  Function<Result, Text*> get_error_name{all_, "cuGetErrorName"};
  Function<Result, Text*> get_error_string{all_, "cuGetErrorString"};
  Function<int*> device_get_count{all_, "cuDeviceGetCount"};
  Function<Ordinal*, int> device_get{all_, "cuDeviceGet"};
  Function<char*, int, Ordinal> device_get_name{all_, "cuDeviceGetName"};
  Function<int*, int, Ordinal> device_get_attribute{all_, "cuDeviceGetAttribute"};
  Function<int*, Ordinal, Ordinal> device_can_access_peer{all_, "cuDeviceCanAccessPeer"};
  Function<Context*, Ordinal> primary_context_retain{all_, "cuDevicePrimaryCtxRetain"};
  Function<Ordinal> primary_context_release{all_, "cuDevicePrimaryCtxRelease_v2"};
  Function<Context*> context_get_current{all_, "cuCtxGetCurrent"};
  Function<Context> context_push{all_, "cuCtxPushCurrent_v2"};
  Function<Context*> context_pop{all_, "cuCtxPopCurrent_v2"};
  Function<> context_synchronize{all_, "cuCtxSynchronize"};
  Function<int*> thread_exchange_capture_mode{all_, "cuThreadExchangeStreamCaptureMode"};

  Function<size_t*, size_t*> memory_get_info{all_, "cuMemGetInfo_v2"};
  Function<size_t*, const AllocationProperties*, int> granularity{all_,
                                                                  "cuMemGetAllocationGranularity"};
  Function<Pointer*, size_t, size_t, Pointer, uint64_t> address_reserve{all_,
                                                                        "cuMemAddressReserve"};
  Function<Pointer, size_t> address_free{all_, "cuMemAddressFree"};
  Function<ChunkHandle*, size_t, const AllocationProperties*, uint64_t> memory_create{
      all_, "cuMemCreate"};
  Function<ChunkHandle> memory_release{all_, "cuMemRelease"};
  Function<Pointer, size_t, size_t, ChunkHandle, uint64_t> memory_map{all_, "cuMemMap"};
  Function<Pointer, size_t> memory_unmap{all_, "cuMemUnmap"};
  Function<Pointer, size_t, const AccessDescription*, size_t> memory_set_access{all_,
                                                                                "cuMemSetAccess"};
  Function<Pointer*, size_t> memory_allocate{all_, "cuMemAlloc_v2"};
  Function<Pointer> memory_free{all_, "cuMemFree_v2"};
  Function<void**, size_t, unsigned> host_allocate{all_, "cuMemHostAlloc"};
  Function<void*> host_free{all_, "cuMemFreeHost"};
  Function<void*, size_t, unsigned> host_register{all_, "cuMemHostRegister_v2"};
  Function<void*> host_unregister{all_, "cuMemHostUnregister"};
  Function<Pointer, Pointer, size_t, Stream> copy{all_, "cuMemcpyAsync"};
  Function<Pointer, unsigned char, size_t, Stream> fill{all_, "cuMemsetD8Async"};

  Function<Module*, const void*> module_load{all_, "cuModuleLoadData"};
  Function<Kernel*, Module, Text> module_get_function{all_, "cuModuleGetFunction"};
  Function<Module> module_unload{all_, "cuModuleUnload"};
  Function<Kernel, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, Stream,
           void**, void**>
      launch_kernel{all_, "cuLaunchKernel"};

  Function<Stream*, unsigned> stream_create{all_, "cuStreamCreate"};
  Function<Stream> stream_destroy{all_, "cuStreamDestroy_v2"};
  Function<Stream> stream_query{all_, "cuStreamQuery"};
  Function<Stream> stream_synchronize{all_, "cuStreamSynchronize"};
  Function<Stream, Event, unsigned> stream_wait_event{all_, "cuStreamWaitEvent"};
  Function<Stream, HostFunction, void*> launch_host{all_, "cuLaunchHostFunc"};
  Function<Event*, unsigned> event_create{all_, "cuEventCreate"};
  Function<Event> event_destroy{all_, "cuEventDestroy_v2"};
  Function<Event, Stream> event_record{all_, "cuEventRecord"};
  Function<Event> event_query{all_, "cuEventQuery"};
  Function<Event> event_synchronize{all_, "cuEventSynchronize"};
  Function<float*, Event, Event> event_elapsed{all_, "cuEventElapsedTime"};

  Function<Stream, int> capture_begin{all_, "cuStreamBeginCapture_v2"};
  Function<Stream, Graph*> capture_end{all_, "cuStreamEndCapture"};
  Function<Stream, int*> is_capturing{all_, "cuStreamIsCapturing"};
  Function<Stream, int*, uint64_t*, Graph*, const GraphNode**, size_t*> capture_info{
      all_, "cuStreamGetCaptureInfo_v2"};
  Function<Stream, GraphNode*, size_t, unsigned> capture_set_dependencies{
      all_, "cuStreamUpdateCaptureDependencies"};
  Function<GraphNode*, Graph, const GraphNode*, size_t, Graph> graph_add_child{
      all_, "cuGraphAddChildGraphNode"};
  Function<GraphExec*, Graph, uint64_t> graph_instantiate{all_, "cuGraphInstantiateWithFlags"};
  Function<GraphExec, Stream> graph_launch{all_, "cuGraphLaunch"};
  Function<GraphExec> graph_exec_destroy{all_, "cuGraphExecDestroy"};
  Function<Graph> graph_destroy{all_, "cuGraphDestroy"};
};

}  // namespace plimsoll::device::cuda
