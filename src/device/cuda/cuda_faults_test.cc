// Bad luck with the driver and the card: a clear error each, and nothing is left behind.
#include <sys/wait.h>
#include <unistd.h>

#include "base/call_in_thread_for_tests.h"
#include "device/conformance_fixture.h"
#include "device/cuda/cuda_driver.h"
#include "plimsoll/device/registry.h"

namespace plimsoll::device {
namespace cuda_faults_test {

using enum DeviceCall;

class CudaFaultsTest : public testing::Test {
 protected:
  static Result<std::unique_ptr<CudaDevice>> Create() {
    return CudaDevice::Create({.driver = StandinLibrary()});
  }
  // The error that no device could be made for.
  static Error CreateError(const std::string& library = StandinLibrary()) {
    const auto device = CudaDevice::Create({.driver = library});
    EXPECT_FALSE(device.ok());
    return device.ok() ? Error{} : device.error();
  }

  Standin standin_;
};

testing::AssertionResult Says(const Error& error, const std::string& code,
                              const std::string& text) {
  const bool whole = error.code == code && error.Text().find(text) != std::string::npos &&
                     !error.what.empty() && !error.why.empty() && !error.remedy.empty();
  return whole ? testing::AssertionSuccess() : testing::AssertionFailure() << error.Text();
}

TEST_F(CudaFaultsTest, WithoutADriverTheErrorSaysWhatToDo) {
  const Error error = CreateError("libno_such_driver.so.1");
  EXPECT_TRUE(Says(error, "device.driver_missing", "libno_such_driver.so.1"));
  EXPECT_EQ(error.kind, ErrorKind::kUnsupported);
  EXPECT_TRUE(Says(CreateError("libm.so.6"), "device.driver_missing", "cuDriverGetVersion"));
}

TEST_F(CudaFaultsTest, AnOldDriverIsToldWithWhatItHasAndWhatIsNeeded) {
  const Error lacking = CreateError(PLIMSOLL_BINARY_DIR "/libplimsoll_cuda_old_standin.so");
  EXPECT_TRUE(Says(lacking, "device.driver_old", "CUDA 10.1"));
  EXPECT_NE(lacking.why.find("CUDA 11.4 is needed"), std::string::npos);
  EXPECT_NE(lacking.why.find("it has no cuGetErrorName"), std::string::npos);
  standin_.set_version(11030);
  EXPECT_TRUE(Says(CreateError(), "device.driver_old", "CUDA 11.3"));
  standin_.set_version(11040);
  EXPECT_TRUE(Create().ok());
}

TEST_F(CudaFaultsTest, WithoutACardOrAStartTheErrorSaysWhatToDo) {
  standin_.set_cards(0);
  EXPECT_TRUE(Says(CreateError(), "device.none", "no NVIDIA card"));
  struct Case {
    cuda::Result result;
    std::string code;
    std::string text;
  };
  for (const Case& c : {Case{cuda::kNoDevice, "device.none", "no NVIDIA card"},
                        Case{cuda::kStubLibrary, "device.driver_missing", "for linking only"},
                        Case{cuda::kNotInitialized, "device.driver", "fork"},
                        Case{cuda::kSystemDriverMismatch, "device.driver", "restart the machine"},
                        Case{cuda::kUnknown, "device.driver", "CUDA_ERROR_UNKNOWN"}}) {
    standin_.reset();
    standin_.fail("cuInit", 1, 1, c.result);
    EXPECT_TRUE(Says(CreateError(), c.code, c.text)) << c.result;
  }
  EXPECT_TRUE(Create().ok());
}

TEST_F(CudaFaultsTest, ACardThatCannotBeLookedAtIsNamed) {
  for (const char* function : {"cuDeviceGetCount", "cuDeviceGet", "cuDeviceGetName",
                               "cuDeviceGetAttribute", "cuMemGetAllocationGranularity"}) {
    standin_.reset();
    standin_.fail(function, 1, 1, cuda::kUnknown);
    EXPECT_TRUE(Says(CreateError(), "device.driver", "CUDA_ERROR_UNKNOWN")) << function;
    EXPECT_TRUE(Create().ok());
    EXPECT_EQ(standin_.outstanding(nullptr), 0) << function;
  }
}

TEST_F(CudaFaultsTest, ACardThatOthersFillIsToldWithItsFigures) {
  standin_.set_memory(static_cast<size_t>(GiB(1).value()));
  standin_.set_used_by_others(static_cast<size_t>(MiB(1000).value()));
  const auto device = Create();
  ASSERT_TRUE(device.ok());
  DeviceMemory& memory = (*device)->memory();
  ASSERT_TRUE(memory.CreateChunk(kFirst, MiB(20), {}).ok());
  const Status chunk = memory.CreateChunk(kFirst, MiB(20), {}).status();
  ASSERT_TRUE(Refused(chunk, kCreateChunk, ErrorKind::kDoesNotFit));
  EXPECT_TRUE(Says(chunk.error(), "device.create_chunk", "CUDA_ERROR_OUT_OF_MEMORY"));
  EXPECT_NE(chunk.error().why.find("1 GiB 4 MiB are free, this device object has 20 MiB"),
            std::string::npos)
      << chunk.error().why;
  const Status plain = memory.AllocatePlain(kFirst, MiB(20), MemoryType::kDevice).status();
  EXPECT_TRUE(Refused(plain, kAllocatePlain, ErrorKind::kDoesNotFit));
  standin_.set_used_by_others(0);
  EXPECT_TRUE(memory.CreateChunk(kFirst, MiB(20), {}).ok());
}

TEST_F(CudaFaultsTest, ACardThatHasNoRoomForAContextFailsTheFirstCallAlone) {
  const auto device = Create();
  ASSERT_TRUE(device.ok());
  standin_.fail("cuDevicePrimaryCtxRetain", 1, 1, cuda::kOutOfMemory);
  const Status refused = (*device)->CreateStream(kFirst).status();
  ASSERT_TRUE(Refused(refused, kCreateStream, ErrorKind::kDoesNotFit));
  EXPECT_TRUE(Says(refused.error(), "device.create_stream", "cuDevicePrimaryCtxRetain"));
  EXPECT_TRUE((*device)->CreateStream(kFirst).ok());
}

// The functions of the driver that serve each call of the seam.
struct Served {
  DeviceCall call;
  std::vector<const char*> functions;
};

std::vector<Served> AllServed() {
  return {{kReserveAddress, {"cuCtxGetCurrent", "cuCtxPushCurrent_v2", "cuMemAddressReserve"}},
          {kReleaseAddress, {"cuMemAddressFree"}},
          {kCreateChunk, {"cuMemCreate"}},
          {kDestroyChunk, {"cuMemRelease"}},
          {kMap, {"cuMemMap"}},
          {kUnmap, {"cuMemUnmap"}},
          {kSetAccess, {"cuMemSetAccess"}},
          {kAllocatePlain, {"cuMemAlloc_v2"}},
          {kFreePlain, {"cuMemFree_v2"}},
          {kInfo, {"cuMemGetInfo_v2"}},
          {kBindThread, {"cuCtxPushCurrent_v2"}},
          {kCreateStream, {"cuStreamCreate"}},
          {kDestroyStream, {"cuStreamQuery", "cuStreamDestroy_v2"}},
          {kRecordEvent, {"cuEventCreate", "cuEventRecord"}},
          {kRecordTimedEvent, {"cuEventCreate", "cuEventRecord"}},
          {kEventReached, {"cuEventQuery"}},
          {kWaitEvent, {"cuStreamWaitEvent"}},
          {kSynchronizeEvent, {"cuEventSynchronize"}},
          {kCopy, {"cuMemcpyAsync"}},
          {kFill, {"cuMemsetD8Async"}},
          {kLaunchHost, {"cuLaunchHostFunc"}},
          {kBeginRecording, {"cuStreamBeginCapture_v2"}},
          {kReplayRecording, {"cuStreamGetCaptureInfo_v2", "cuGraphLaunch"}},
          {kSynchronizeStream, {"cuStreamSynchronize"}},
          {kSynchronizeDevice, {"cuStreamSynchronize"}}};
}

// A device with one of everything, bound to no thread, whose stream holds a pending fill.
struct Prepared {
  std::unique_ptr<CudaDevice> device;
  World world;

  Status Make(DeviceCall call) const {
    return EveryCall(*device, world, MiB(2))[static_cast<size_t>(call)].make(kFirst);
  }
};

Prepared Prepare() {
  Prepared prepared;
  prepared.device = std::move(CudaDevice::Create({.driver = StandinLibrary()})).value();
  prepared.world = MakeWorld(*prepared.device, kFirst);
  EXPECT_TRUE(prepared.device->UnbindThread(kFirst).ok());
  return prepared;
}

TEST_F(CudaFaultsTest, EveryFunctionOfTheDriverFailsOnceAndIsServedTheNextTime) {
  for (const Served& served : AllServed()) {
    for (const char* function : served.functions) {
      standin_.reset();
      {
        const Prepared prepared = Prepare();
        const int64_t before = standin_.outstanding(nullptr);
        standin_.fail(function, 1, 1, cuda::kUnknown);
        const Status status = prepared.Make(served.call);
        ASSERT_TRUE(Refused(status, served.call)) << function;
        EXPECT_NE(status.error().why.find("CUDA_ERROR_UNKNOWN"), std::string::npos) << function;
        EXPECT_EQ(
            standin_.outstanding(nullptr) - (std::string_view(function) == "cuEventRecord" ? 1 : 0),
            before)
            << function << ": events are kept for later";
        const Status again = prepared.Make(served.call);
        EXPECT_TRUE(again.ok()) << function << ": " << again.error().Text();
        const bool bound = served.call == kBindThread;
        EXPECT_TRUE(!bound || prepared.device->UnbindThread(kFirst).ok());
      }
      EXPECT_EQ(standin_.outstanding(nullptr), 0) << function;
    }
  }
}

TEST_F(CudaFaultsTest, AnErrorThatEndsTheContextLosesTheDeviceAndNotTheOther) {
  for (const Served& served : AllServed()) {
    standin_.reset();
    const Prepared prepared = Prepare();
    const World other = MakeWorld(*prepared.device, kSecond);
    standin_.fail(served.functions.back(), 1, 1, cuda::kIllegalAddress);
    const Status first = prepared.Make(served.call);
    ASSERT_TRUE(Refused(first, served.call)) << "the first error is the call's own";
    for (const PreparedCall& call : EveryCall(*prepared.device, prepared.world, MiB(2))) {
      if (call.call == kUnbindThread) continue;
      const Status lost = call.make(kFirst);
      ASSERT_FALSE(lost.ok()) << DeviceCallName(call.call);
      EXPECT_EQ(lost.error().code, kDeviceLost);
      EXPECT_NE(lost.error().why.find("CUDA_ERROR_ILLEGAL_ADDRESS"), std::string::npos);
    }
    EXPECT_TRUE(prepared.device->memory().Info(kSecond).ok());
    EXPECT_TRUE(prepared.device->SynchronizeStream(kSecond, other.stream).ok());
    EXPECT_TRUE(prepared.device->UnbindThread(kSecond).ok());
  }
}

TEST_F(CudaFaultsTest, WhichErrorsEndAContext) {
  for (const cuda::Result result :
       {4, 46, 201, 214, 220, 226, 700, 702, 709, 710, 714, 715, 716, 717, 718, 719, 806, 810}) {
    standin_.reset();
    const auto device = Create();
    standin_.fail("cuMemCreate", 1, 1, result);
    EXPECT_FALSE((*device)->memory().CreateChunk(kFirst, MiB(2), {}).ok());
    EXPECT_EQ((*device)->memory().Info(kFirst).status().error().code, kDeviceLost) << result;
  }
  for (const cuda::Result result : {1, 2, 400, 600, 701, 712, 800, 801, 900, 999}) {
    standin_.reset();
    const auto device = Create();
    standin_.fail("cuMemCreate", 1, 1, result);
    EXPECT_FALSE((*device)->memory().CreateChunk(kFirst, MiB(2), {}).ok());
    EXPECT_TRUE((*device)->memory().Info(kFirst).ok()) << result;
  }
}

TEST_F(CudaFaultsTest, AKernelThatRunsWildIsToldByTheNextWait) {
  auto device = std::move(Create()).value();
  const StreamId stream = device->CreateStream(kFirst).value();
  const auto fill = Standin::Find<cuda::Result(cuda::Pointer, unsigned char, size_t, cuda::Stream)>(
      "cuMemsetD8Async");
  const AddressRange range = device->memory().ReserveAddress(kFirst, MiB(2), Bytes(0)).value();
  const auto wild = [&](const StreamContext& context) {
    EXPECT_EQ(fill(range.base, 1, 100, context.native_stream), cuda::kSuccess);
  };
  ASSERT_TRUE(device->Enqueue(kFirst, stream, wild).ok());
  const Status told = device->SynchronizeStream(kFirst, stream);
  ASSERT_TRUE(Refused(told, kSynchronizeStream));
  EXPECT_NE(told.error().why.find("CUDA_ERROR_ILLEGAL_ADDRESS"), std::string::npos);
  EXPECT_EQ(device->memory().Info(kFirst).status().error().code, kDeviceLost);
  EXPECT_TRUE(device->memory().Info(kSecond).ok());
}

TEST_F(CudaFaultsTest, AContextThatOthersDestroyLosesTheDevice) {
  auto device = std::move(Create()).value();
  ASSERT_TRUE(device->memory().Info(kFirst).ok());
  ASSERT_EQ(Standin::Find<cuda::Result(cuda::Ordinal)>("cuDevicePrimaryCtxRelease_v2")(0),
            cuda::kSuccess);
  const Status first = device->memory().CreateChunk(kFirst, MiB(2), {}).status();
  ASSERT_TRUE(Refused(first, kCreateChunk));
  EXPECT_NE(first.error().why.find("CUDA_ERROR_CONTEXT_IS_DESTROYED"), std::string::npos);
  EXPECT_EQ(device->SynchronizeDevice(kFirst).error().code, kDeviceLost);
}

TEST_F(CudaFaultsTest, ARecordingThatCannotBeEndedLeavesTheStreamUsable) {
  for (const char* function : {"cuStreamEndCapture", "cuGraphInstantiateWithFlags"}) {
    standin_.reset();
    {
      const Prepared prepared = Prepare();
      standin_.fail(function, 1, 1, cuda::kUnknown);
      EXPECT_TRUE(Refused(prepared.Make(kEndRecording), kEndRecording)) << function;
      EXPECT_TRUE(Refused(prepared.Make(kEndRecording), kEndRecording)) << "it has ended";
    }
    EXPECT_EQ(standin_.outstanding("streams"), 0);
  }
}

TEST_F(CudaFaultsTest, AReplayInsideARecordingFailsAtEveryStep) {
  for (const char* function : {"cuStreamGetCaptureInfo_v2", "cuGraphAddChildGraphNode",
                               "cuStreamUpdateCaptureDependencies"}) {
    standin_.reset();
    const Prepared prepared = Prepare();
    const StreamId recorded = prepared.world.stream_under_recording;
    const auto replay = [&] {
      return prepared.device->ReplayRecording(kFirst, recorded, prepared.world.recording);
    };
    standin_.fail(function, 1, 1, cuda::kUnknown);
    EXPECT_TRUE(Refused(replay(), kReplayRecording)) << function;
    EXPECT_TRUE(replay().ok()) << function;
  }
}

TEST_F(CudaFaultsTest, HostMemoryAndKernelsFailAndAreServedTheNextTime) {
  auto device = std::move(Create()).value();
  DeviceMemory& memory = device->memory();
  std::vector<char> host(100);
  const Address at = HostAddress(host.data());
  const StreamId stream = device->CreateStream(kFirst).value();
  const Address counter = memory.AllocatePlain(kFirst, Bytes(8), MemoryType::kDevice).value();
  Address pinned = 0;
  const auto allocate = [&] {
    const auto block = memory.AllocatePlain(kFirst, KiB(4), MemoryType::kHost);
    if (block.ok()) pinned = *block;
    return block.status();
  };
  struct Case {
    const char* function;
    DeviceCall call;
    std::function<Status()> make;
  };
  const auto count = [&] {
    return device->CountOtherBytes(kFirst, stream, counter, Bytes(8), 0, counter);
  };
  for (const Case& c :
       {Case{"cuMemHostAlloc", kAllocatePlain, allocate},
        Case{"cuMemFreeHost", kFreePlain, [&] { return memory.FreePlain(kFirst, pinned); }},
        Case{"cuMemHostRegister_v2", kRegisterHost,
             [&] { return memory.RegisterHost(kFirst, at, Bytes(100)); }},
        Case{"cuMemHostUnregister", kUnregisterHost,
             [&] { return memory.UnregisterHost(kFirst, at); }},
        Case{"cuCtxSynchronize", kSynchronizeDevice,
             [&] { return device->SynchronizeDevice(kFirst); }}}) {
    standin_.fail(c.function, 1, 1, cuda::kUnknown);
    EXPECT_TRUE(Refused(c.make(), c.call)) << c.function;
    EXPECT_TRUE(c.make().ok()) << c.function;
  }
  for (const char* function : {"cuModuleLoadData", "cuModuleGetFunction", "cuLaunchKernel"}) {
    standin_.fail(function, 1, 1, cuda::kUnknown);
    EXPECT_TRUE(Refused(count(), kEnqueue)) << function;
  }
  EXPECT_TRUE(count().ok());
  const auto timed = device->RecordTimedEvent(kFirst, stream);
  ASSERT_TRUE(device->SynchronizeStream(kFirst, stream).ok());
  standin_.fail("cuEventElapsedTime", 1, 1, cuda::kUnknown);
  EXPECT_TRUE(Refused(device->ElapsedTime(kFirst, *timed, *timed).status(), kElapsedTime));
  EXPECT_TRUE(device->ElapsedTime(kFirst, *timed, *timed).ok());
}

TEST_F(CudaFaultsTest, InAForkedProcessEveryCallFailsAtOnceAndTheParentGoesOn) {
  Prepared prepared = Prepare();
  const pid_t child = fork();
  if (child == 0) {
    int wrong = 0;
    for (const PreparedCall& call : EveryCall(*prepared.device, prepared.world, MiB(2))) {
      const Status status = call.make(kFirst);
      wrong += !status.ok() && status.error().why.find("fork") != std::string::npos ? 0 : 1;
    }
    const Error error = CreateError();
    wrong += error.code == "device.driver" && error.why.find("fork") != std::string::npos ? 0 : 1;
    prepared.device.reset();
    _exit(wrong);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0) << "calls that did not say so";
  EXPECT_TRUE(prepared.device->memory().Info(kFirst).ok());
  EXPECT_TRUE(Create().ok());
}

TEST_F(CudaFaultsTest, TheRegistryMakesItOrTellsWhyNot) {
  const auto kinds = DeviceKinds();
  EXPECT_TRUE(std::count(kinds.begin(), kinds.end(), "cuda") == 1);
  ASSERT_EQ(setenv("PLIMSOLL_CUDA_DRIVER", StandinLibrary().c_str(), 1), 0);
  {
    const auto device = MakeDevice("cuda", {.capacity = MiB(64)});
    ASSERT_TRUE(device.ok());
    EXPECT_EQ((*device)->Kind(), "cuda");
    EXPECT_EQ((*device)->Count(), 2);
    EXPECT_EQ((*device)->memory().Info(kFirst)->total, MiB(64));
    EXPECT_EQ(MakeDevice("cuda", {.granularity = MiB(4)}).error().code, "device.setting");
  }
  ASSERT_EQ(setenv("PLIMSOLL_CUDA_DRIVER", "libno_such_driver.so.1", 1), 0);
  EXPECT_EQ(MakeDevice("cuda").error().code, "device.driver_missing");
  ASSERT_EQ(unsetenv("PLIMSOLL_CUDA_DRIVER"), 0);
}

}  // namespace cuda_faults_test
}  // namespace plimsoll::device
