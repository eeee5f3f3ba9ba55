// A device that was lost: every call answers device.lost with the first error.
#include "device/conformance_fixture.h"
#include "plimsoll/base/log.h"
#include "plimsoll/device/thread_binding.h"

namespace plimsoll::device {
namespace lost_device_test {

using enum DeviceCall;

const Error kHardware = CallError(kCopy, kFirst, ErrorKind::kRunFailed, "the hardware failed");

testing::AssertionResult IsLost(const Status& status, const Error& first) {
  if (status.ok()) return testing::AssertionFailure() << "succeeded";
  if (status.error().code == kDeviceLost &&
      status.error().why.find(first.Text()) != std::string::npos) {
    return testing::AssertionSuccess();
  }
  return testing::AssertionFailure() << status.error().Text();
}

TEST(LostDeviceTest, EveryCallAnswersTheFirstErrorAndDoesNothing) {
  for (const DeviceCall call : AllDeviceCalls()) {
    FakeDevice device({.devices = 2});
    const World world = MakeWorld(device, kFirst);
    const FakeOutstanding before = device.outstanding();
    device.Lose(kFirst, kHardware);
    const auto calls = EveryCall(device, world, MiB(2));
    for (int i = 0; i < 2; ++i) {
      EXPECT_TRUE(IsLost(calls[static_cast<size_t>(call)].make(kFirst), kHardware))
          << DeviceCallName(call);
    }
    EXPECT_EQ(device.outstanding(), before);
  }
}

TEST(LostDeviceTest, TheOtherDevicesOfItsKindGoOn) {
  for (const DeviceCall call : AllDeviceCalls()) {
    FakeDevice device({.devices = 2});
    const World world = MakeWorld(device, kSecond);
    device.Lose(kFirst, kHardware);
    EXPECT_TRUE(EveryCall(device, world, MiB(2))[static_cast<size_t>(call)].make(kSecond).ok())
        << DeviceCallName(call);
  }
}

TEST(LostDeviceTest, AFailureOfAnyCallCanLoseTheDevice) {
  for (const DeviceCall call : AllDeviceCalls()) {
    FakeDevice device;
    const World world = MakeWorld(device, kFirst);
    const auto calls = EveryCall(device, world, MiB(2));
    device.Fail({.call = call, .loses_device = true});
    const Status first = calls[static_cast<size_t>(call)].make(kFirst);
    EXPECT_TRUE(Refused(first, call)) << "the first error is the call's own";
    device.Fail({.call = kInfo});
    EXPECT_TRUE(IsLost(device.memory().Info(kFirst).status(), first.error()));
    device.ClearFailures();
    EXPECT_TRUE(IsLost(device.SynchronizeDevice(kFirst), first.error()));
  }
}

TEST(LostDeviceTest, AnOrdinaryFailureLosesNothing) {
  FakeDevice device;
  device.Fail({.call = kInfo});
  EXPECT_TRUE(Refused(device.memory().Info(kFirst).status(), kInfo));
  EXPECT_TRUE(device.memory().Info(kFirst).ok());
}

TEST(LostDeviceTest, AThreadGetsRidOfALostDeviceQuietly) {
  FakeDevice device({.devices = 2});
  std::vector<std::string> lines;
  const LogCapture capture([&](LogLevel, std::string_view line) { lines.emplace_back(line); });
  {
    const auto bound = ThreadBinding::Bind(device, kSecond);
    ASSERT_TRUE(bound.ok());
    EXPECT_EQ(device.Current(), kSecond);
    device.Lose(kSecond, kHardware);
  }
  EXPECT_EQ(device.Current(), kFirst);
  EXPECT_TRUE(lines.empty());
}

}  // namespace lost_device_test
}  // namespace plimsoll::device
