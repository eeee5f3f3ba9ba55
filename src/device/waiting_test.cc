#include "plimsoll/device/waiting.h"

#include "base/must_for_tests.h"
#include "device/conformance_fixture.h"

namespace plimsoll::device {
namespace waiting_test {

// Work that a stream of a fake device has not done when it is waited for.
struct Waited {
  FakeDevice device{FakeOptions{.devices = 1, .capacity = GiB(1)}};
  StreamId stream = Must(device.CreateStream(kFirst));
  bool done = false;

  void Send() {
    EXPECT_TRUE(device.LaunchHost(kFirst, stream, [this] { done = true; }).ok());
    EXPECT_FALSE(done);
  }
};

TEST(WaitingTest, AWaitThatFailsOnceEndsTheWorkAndTellsTheError) {
  Waited waited;
  waited.Send();
  waited.device.Fail({.call = DeviceCall::kSynchronizeStream});
  EXPECT_TRUE(Refused(WaitForStream(waited.device, kFirst, waited.stream),
                      DeviceCall::kSynchronizeStream, ErrorKind::kRunFailed));
  EXPECT_TRUE(waited.done);
}

TEST(WaitingTest, ACopyThatIsRefusedLeavesNothingUnderWay) {
  Waited waited;
  waited.Send();
  const Address memory =
      Must(waited.device.memory().AllocatePlain(kFirst, KiB(1), MemoryType::kDevice));
  waited.device.Fail({.call = DeviceCall::kCopy});
  EXPECT_TRUE(
      Refused(CopyAndWait(waited.device, kFirst, waited.stream, memory, memory + 512, Bytes(512)),
              DeviceCall::kCopy, ErrorKind::kRunFailed));
  EXPECT_TRUE(waited.done);
}

TEST(WaitingTest, ADeviceThatNeverWaitsIsAskedTwice) {
  Waited waited;
  waited.device.Lose(kFirst, Error{ErrorKind::kRunFailed, "device.lost", "gone", "", "", ""});
  const int64_t before = waited.device.statistics().count(DeviceCall::kSynchronizeStream);
  EXPECT_FALSE(WaitForStream(waited.device, kFirst, waited.stream).ok());
  EXPECT_EQ(waited.device.statistics().count(DeviceCall::kSynchronizeStream), before + 2);
}

}  // namespace waiting_test
}  // namespace plimsoll::device
