// The rules of recordings of streams, for every backend.
#include "device/conformance_fixture.h"

namespace plimsoll::device {
namespace recording_conformance_test {

using enum DeviceCall;

class RecordingConformance : public DeviceConformance {
 protected:
  // What `enqueue` puts on a stream of its own, recorded.
  RecordingId Recorded(const std::function<void(StreamId)>& enqueue) {
    const StreamId stream = Stream();
    EXPECT_TRUE(device_->BeginRecording(kFirst, stream).ok());
    enqueue(stream);
    const auto recording = device_->EndRecording(kFirst, stream);
    EXPECT_TRUE(recording.ok());
    EXPECT_TRUE(device_->DestroyStream(kFirst, stream).ok()) << "nothing is pending on it";
    return recording.ok() ? *recording : RecordingId();
  }
  void ReplayAndWait(RecordingId recording) {
    const StreamId stream = Stream();
    ASSERT_TRUE(device_->ReplayRecording(kFirst, stream, recording).ok());
    ASSERT_TRUE(device_->SynchronizeStream(kFirst, stream).ok());
  }
};
INSTANTIATE_TEST_SUITE_P(Backends, RecordingConformance,
                         testing::ValuesIn(BackendsThat([](const DeviceProperties& properties) {
                           return properties.records;
                         })),
                         BackendName);

class RecordedBytes : public RecordingConformance {};
INSTANTIATE_TEST_SUITE_P(Backends, RecordedBytes,
                         testing::ValuesIn(BackendsThat([](const DeviceProperties& properties) {
                           return properties.records && properties.holds_bytes;
                         })),
                         BackendName);

class WithoutRecordings : public DeviceConformance {};
INSTANTIATE_TEST_SUITE_P(Backends, WithoutRecordings,
                         testing::ValuesIn(BackendsThat([](const DeviceProperties& properties) {
                           return !properties.records;
                         })),
                         BackendName);

TEST_P(WithoutRecordings, ADeviceThatCannotRecordSaysSo) {
  constexpr ErrorKind kUnable = ErrorKind::kUnsupported;
  const StreamId stream = Stream();
  EXPECT_TRUE(Refused(device_->BeginRecording(kFirst, stream), kBeginRecording, kUnable));
  EXPECT_TRUE(Refused(device_->EndRecording(kFirst, stream).status(), kEndRecording, kUnable));
  EXPECT_TRUE(
      Refused(device_->ReplayRecording(kFirst, stream, RecordingId(0)), kReplayRecording, kUnable));
  EXPECT_TRUE(
      Refused(device_->DestroyRecording(kFirst, RecordingId(0)), kDestroyRecording, kUnable));
  EXPECT_TRUE(device_->LaunchHost(kFirst, stream, [] {}).ok());
  EXPECT_TRUE(device_->SynchronizeStream(kFirst, stream).ok());
}

TEST_P(RecordingConformance, RecordedWorkIsDoneInOrderByEachReplayAndNotBefore) {
  std::string done;
  const RecordingId recording = Recorded([&](StreamId stream) {
    ASSERT_TRUE(device_->LaunchHost(kFirst, stream, [&done] { done += 'a'; }).ok());
    const auto work = [&done](const StreamContext&) { done += 'b'; };
    if (!properties_.native_streams) {
      ASSERT_TRUE(device_->Enqueue(kFirst, stream, work).ok());
    }
    ASSERT_TRUE(device_->LaunchHost(kFirst, stream, [&done] { done += 'c'; }).ok());
  });
  ASSERT_TRUE(device_->SynchronizeDevice(kFirst).ok());
  EXPECT_EQ(done, "");
  const std::string once = properties_.native_streams ? "ac" : "abc";
  ReplayAndWait(recording);
  EXPECT_EQ(done, once);
  ReplayAndWait(recording);
  EXPECT_EQ(done, once + once);
}

TEST_P(RecordingConformance, AReplayTakesItsPlaceInTheStream) {
  std::string done;
  const auto write = [&](StreamId stream, char letter) {
    ASSERT_TRUE(device_->LaunchHost(kFirst, stream, [&done, letter] { done += letter; }).ok());
  };
  const RecordingId recording = Recorded([&](StreamId stream) { write(stream, 'r'); });
  const StreamId stream = Stream();
  write(stream, '1');
  ASSERT_TRUE(device_->ReplayRecording(kFirst, stream, recording).ok());
  write(stream, '2');
  ASSERT_TRUE(device_->ReplayRecording(kFirst, stream, recording).ok());
  ASSERT_TRUE(device_->DestroyRecording(kFirst, recording).ok());
  ASSERT_TRUE(device_->SynchronizeStream(kFirst, stream).ok());
  EXPECT_EQ(done, "1r2r") << "replays outlive the recording";
}

TEST_P(RecordingConformance, ARecordingMayReplayAnother) {
  int done = 0;
  const RecordingId inner = Recorded([&](StreamId stream) {
    ASSERT_TRUE(device_->LaunchHost(kFirst, stream, [&done] { ++done; }).ok());
  });
  const RecordingId outer = Recorded([&](StreamId stream) {
    for (int i = 0; i < 3; ++i) {
      ASSERT_TRUE(device_->ReplayRecording(kFirst, stream, inner).ok());
    }
  });
  EXPECT_EQ(done, 0);
  ReplayAndWait(outer);
  EXPECT_EQ(done, 3);
}

TEST_P(RecordedBytes, CopiesAndFillsReadTheBytesOfTheTimeOfTheReplay) {
  char host[2] = {1, 2};
  char back[2] = {};
  const Address block = Plain(Bytes(2));
  const RecordingId recording = Recorded([&](StreamId stream) {
    ASSERT_TRUE(device_->Copy(kFirst, stream, block, HostAddress(host), Bytes(2)).ok());
    ASSERT_TRUE(device_->Fill(kFirst, stream, block + 1, 9, Bytes(1)).ok());
    ASSERT_TRUE(device_->Copy(kFirst, stream, HostAddress(back), block, Bytes(2)).ok());
  });
  host[0] = 7;
  ReplayAndWait(recording);
  EXPECT_EQ(back[0], 7);
  EXPECT_EQ(back[1], 9);
}

TEST_P(RecordingConformance, AReplayIsRefusedWholeWhenItsMemoryIsGone) {
  bool done = false;
  char host[8] = {};
  const Address kept = Plain(Bytes(8));
  const Address block = Plain(Bytes(8));
  const auto work = [&](StreamId stream) {
    ASSERT_TRUE(device_->LaunchHost(kFirst, stream, [&done] { done = true; }).ok());
  };
  const RecordingId filled = Recorded([&](StreamId stream) {
    work(stream);
    ASSERT_TRUE(device_->Fill(kFirst, stream, block, 1, Bytes(8)).ok());
  });
  const RecordingId copied = Recorded([&](StreamId stream) {
    work(stream);
    ASSERT_TRUE(device_->Copy(kFirst, stream, HostAddress(host), kept, Bytes(8)).ok());
    ASSERT_TRUE(device_->Copy(kFirst, stream, block, HostAddress(host), Bytes(8)).ok());
  });
  ReplayAndWait(copied);
  done = false;
  ASSERT_TRUE(memory_.FreePlain(kFirst, block).ok());
  const StreamId stream = Stream();
  for (const RecordingId recording : {filled, copied}) {
    EXPECT_TRUE(Refused(device_->ReplayRecording(kFirst, stream, recording), kReplayRecording));
  }
  EXPECT_TRUE(device_->DestroyStream(kFirst, stream).ok()) << "nothing is pending on it";
  EXPECT_FALSE(done);
}

TEST_P(RecordingConformance, AStreamUnderRecordingRefusesWhatCannotBeReplayed) {
  const StreamId stream = Stream();
  const StreamId other = Stream();
  const auto event = device_->RecordEvent(kFirst, other);
  ASSERT_TRUE(event.ok());
  ASSERT_TRUE(device_->BeginRecording(kFirst, stream).ok());
  EXPECT_TRUE(Refused(device_->BeginRecording(kFirst, stream), kBeginRecording));
  EXPECT_TRUE(Refused(device_->RecordEvent(kFirst, stream).status(), kRecordEvent));
  EXPECT_TRUE(RefusedOrUnable(properties_, device_->RecordTimedEvent(kFirst, stream).status(),
                              kRecordTimedEvent));
  EXPECT_TRUE(Refused(device_->WaitEvent(kFirst, stream, *event), kWaitEvent));
  EXPECT_TRUE(Refused(device_->SynchronizeStream(kFirst, stream), kSynchronizeStream));
  EXPECT_TRUE(Refused(device_->DestroyStream(kFirst, stream), kDestroyStream));
  EXPECT_TRUE(device_->WaitEvent(kFirst, other, *event).ok());
  EXPECT_TRUE(device_->SynchronizeStream(kFirst, other).ok());
  EXPECT_TRUE(device_->EndRecording(kFirst, stream).ok());
  EXPECT_TRUE(Refused(device_->EndRecording(kFirst, stream).status(), kEndRecording));
  EXPECT_TRUE(device_->WaitEvent(kFirst, stream, *event).ok());
  EXPECT_TRUE(device_->SynchronizeStream(kFirst, stream).ok());
  EXPECT_TRUE(device_->DestroyStream(kFirst, stream).ok());
}

TEST_P(RecordingConformance, ARecordingBelongsToItsDeviceAndIsDestroyedOnce) {
  const RecordingId recording = Recorded([](StreamId) {});
  const StreamId elsewhere = Stream(kSecond);
  EXPECT_TRUE(Refused(device_->ReplayRecording(kSecond, elsewhere, recording), kReplayRecording));
  EXPECT_TRUE(Refused(device_->ReplayRecording(kFirst, elsewhere, recording), kReplayRecording));
  EXPECT_TRUE(Refused(device_->DestroyRecording(kSecond, recording), kDestroyRecording));
  EXPECT_TRUE(Refused(device_->DestroyRecording(kFirst, RecordingId()), kDestroyRecording));
  ReplayAndWait(recording);
  EXPECT_TRUE(device_->DestroyRecording(kFirst, recording).ok());
  EXPECT_TRUE(Refused(device_->DestroyRecording(kFirst, recording), kDestroyRecording));
  EXPECT_TRUE(Refused(device_->ReplayRecording(kFirst, Stream(), recording), kReplayRecording));
  EXPECT_NE(Recorded([](StreamId) {}), recording);
}

}  // namespace recording_conformance_test
}  // namespace plimsoll::device
