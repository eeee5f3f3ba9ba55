#pragma once

#include <cstddef>
#include <cstdint>

// What of NVIDIA's driver interface is used here, declared anew so that no CUDA header is needed.
// Names and layouts are those of cuda.h, which promises to keep them.
namespace plimsoll::device::cuda {

using Result = int;
using Ordinal = int;           // CUdevice
using Context = void*;         // CUcontext
using Stream = void*;          // CUstream
using Event = void*;           // CUevent
using Graph = void*;           // CUgraph
using GraphNode = void*;       // CUgraphNode
using GraphExec = void*;       // CUgraphExec
using Module = void*;          // CUmodule
using Kernel = void*;          // CUfunction
using Pointer = uint64_t;      // CUdeviceptr
using ChunkHandle = uint64_t;  // CUmemGenericAllocationHandle
using HostFunction = void (*)(void*);

inline constexpr Result kSuccess = 0;
inline constexpr Result kInvalidValue = 1;
inline constexpr Result kOutOfMemory = 2;
inline constexpr Result kNotInitialized = 3;
inline constexpr Result kDeinitialized = 4;
inline constexpr Result kStubLibrary = 34;
inline constexpr Result kDeviceUnavailable = 46;
inline constexpr Result kNoDevice = 100;
inline constexpr Result kInvalidContext = 201;
inline constexpr Result kEccUncorrectable = 214;
inline constexpr Result kNvlinkUncorrectable = 220;
inline constexpr Result kContained = 226;
inline constexpr Result kInvalidHandle = 400;
inline constexpr Result kNotReady = 600;
inline constexpr Result kIllegalAddress = 700;
inline constexpr Result kLaunchTimeout = 702;
inline constexpr Result kContextIsDestroyed = 709;
inline constexpr Result kAssert = 710;
inline constexpr Result kHostMemoryAlreadyRegistered = 712;
inline constexpr Result kHostMemoryNotRegistered = 713;
inline constexpr Result kHardwareStackError = 714;
inline constexpr Result kLaunchFailed = 719;
inline constexpr Result kNotSupported = 801;
inline constexpr Result kSystemNotReady = 802;
inline constexpr Result kSystemDriverMismatch = 803;
inline constexpr Result kMpsRpcFailure = 806;
inline constexpr Result kMpsClientTerminated = 810;
inline constexpr Result kStreamCaptureUnsupported = 900;
inline constexpr Result kUnknown = 999;

inline constexpr int kVirtualMemorySupported = 102;  // CUdevice_attribute
inline constexpr int kCapabilityMajor = 75;
inline constexpr int kCapabilityMinor = 76;
inline constexpr unsigned kStreamNonBlocking = 1;
inline constexpr unsigned kEventDisableTiming = 2;
inline constexpr unsigned kHostAllocPortable = 1;
inline constexpr unsigned kHostAllocDeviceMap = 2;
inline constexpr unsigned kHostRegisterPortable = 1;
inline constexpr int kCaptureRelaxed = 2;        // CUstreamCaptureMode
inline constexpr int kCaptureNone = 0;           // CUstreamCaptureStatus
inline constexpr unsigned kSetDependencies = 1;  // CUstreamUpdateCaptureDependencies_flags
inline constexpr int kGranularityMinimum = 0;    // CUmemAllocationGranularity_flags
inline constexpr int kAllocationPinned = 1;      // CUmemAllocationType
inline constexpr int kLocationDevice = 1;        // CUmemLocationType
inline constexpr int kAccessReadWrite = 3;       // CUmemAccess_flags
inline constexpr int kVersionWanted = 11040;     // 11.4: graphs are made by flags, captures told

struct MemoryLocation {
  int type = kLocationDevice;
  int id = 0;
};

struct AllocationProperties {
  int type = kAllocationPinned;
  int handle_types = 0;
  MemoryLocation location;
  void* metadata = nullptr;
  struct {
    unsigned char compression = 0;
    unsigned char direct_access = 0;
    unsigned short usage = 0;
    unsigned char reserved[4] = {};
  } flags;
};
static_assert(sizeof(AllocationProperties) == 32);

struct AccessDescription {
  MemoryLocation location;
  int flags = kAccessReadWrite;
};
static_assert(sizeof(AccessDescription) == 12);

}  // namespace plimsoll::device::cuda
