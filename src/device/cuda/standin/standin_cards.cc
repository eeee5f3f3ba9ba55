// The stand-in's start, cards, contexts and names of errors.
#include <cstring>

#include "device/cuda/standin/standin_state.h"

namespace plimsoll::device::cuda::standin {

extern "C" {

Result cuInit(unsigned flags) {
  Entry call(__func__);
  if (call.result != kSuccess) return call.result;
  if (flags != 0) return kInvalidValue;
  if (call.state.cards == 0) return kNoDevice;
  call.state.initialized = true;
  return kSuccess;
}

Result cuDriverGetVersion(int* version) {
  Entry call(__func__);
  *version = call.state.version;
  return call.result;
}

Result cuGetErrorName(Result error, const char** name) {
  static const std::map<Result, const char*> names = {
      {kInvalidValue, "CUDA_ERROR_INVALID_VALUE"},
      {kOutOfMemory, "CUDA_ERROR_OUT_OF_MEMORY"},
      {kNotInitialized, "CUDA_ERROR_NOT_INITIALIZED"},
      {kNoDevice, "CUDA_ERROR_NO_DEVICE"},
      {kInvalidContext, "CUDA_ERROR_INVALID_CONTEXT"},
      {kEccUncorrectable, "CUDA_ERROR_ECC_UNCORRECTABLE"},
      {kInvalidHandle, "CUDA_ERROR_INVALID_HANDLE"},
      {kIllegalAddress, "CUDA_ERROR_ILLEGAL_ADDRESS"},
      {kContextIsDestroyed, "CUDA_ERROR_CONTEXT_IS_DESTROYED"},
      {kLaunchFailed, "CUDA_ERROR_LAUNCH_FAILED"},
      {kNotSupported, "CUDA_ERROR_NOT_SUPPORTED"},
      {kSystemDriverMismatch, "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH"},
      {kStreamCaptureUnsupported, "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED"},
      {kUnknown, "CUDA_ERROR_UNKNOWN"}};
  Entry call(__func__);
  const auto found = names.find(error);
  *name = found == names.end() ? nullptr : found->second;
  return found == names.end() ? kInvalidValue : call.result;
}

Result cuGetErrorString(Result, const char** text) {
  Entry call(__func__);
  *text = "as the stand-in was told";
  return call.result;
}

Result cuDeviceGetCount(int* count) {
  Entry call(__func__);
  *count = call.state.cards;
  return call.result;
}

Result cuDeviceGet(Ordinal* card, int ordinal) {
  Entry call(__func__);
  *card = ordinal;
  return call.result;
}

Result cuDeviceGetName(char* name, int length, Ordinal) {
  Entry call(__func__);
  std::strncpy(name, "Stand-in card", static_cast<size_t>(length));
  return call.result;
}

Result cuDeviceGetAttribute(int* value, int attribute, Ordinal) {
  Entry call(__func__);
  *value = attribute == kVirtualMemorySupported ? call.state.virtual_memory : 9;
  return call.result;
}

Result cuDeviceCanAccessPeer(int* able, Ordinal, Ordinal) {
  Entry call(__func__);
  *able = 1;
  return call.result;
}

Result cuDevicePrimaryCtxRetain(Context* context, Ordinal card) {
  Entry call(__func__);
  if (call.result != kSuccess) return call.result;
  auto& contexts = call.state.contexts;
  const auto index = static_cast<size_t>(card);
  if (contexts.size() <= index) contexts.resize(index + 1);
  if (contexts[index] == nullptr) contexts[index] = std::make_unique<ContextRecord>();
  contexts[index]->card = card;
  ++contexts[index]->retained;
  *context = contexts[index].get();
  return kSuccess;
}

Result cuDevicePrimaryCtxRelease_v2(Ordinal card) {
  std::shared_ptr<CpuStream> last;  // outlives the lock, which what it still has to do may take
  Entry call(__func__);
  if (call.result != kSuccess) return call.result;
  ContextRecord& context = *call.state.contexts[static_cast<size_t>(card)];
  if (context.retained == 0) return kInvalidContext;
  if (--context.retained == 0) {
    context.lost = kSuccess;
    last = std::move(context.default_stream.worker);
  }
  return kSuccess;
}

Result cuCtxGetCurrent(Context* context) {
  Entry call(__func__);
  *context = ContextStack().empty() ? nullptr : ContextStack().back();
  return call.result;
}

Result cuCtxPushCurrent_v2(Context context) {
  Entry call(__func__);
  if (call.result == kSuccess) ContextStack().push_back(static_cast<ContextRecord*>(context));
  return call.result;
}

Result cuCtxPopCurrent_v2(Context* context) {
  Entry call(__func__);
  if (call.result != kSuccess) return call.result;
  if (ContextStack().empty()) return kInvalidContext;
  *context = ContextStack().back();
  ContextStack().pop_back();
  return kSuccess;
}

}  // extern "C"

}  // namespace plimsoll::device::cuda::standin
