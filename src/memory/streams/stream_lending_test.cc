// Idle memory of a stream that has paused serves the others before new memory is taken.
#include "memory/conformance_fixture.h"

namespace plimsoll::memory {
namespace stream_lending_test {

class StreamLending : public testing::Test {
 protected:
  StreamLending()
      : machine_(Machine::Fake({.capacity = GiB(8)})),
        first_(machine_.stream()),
        second_(*machine_.device()->CreateStream(kDevice)),
        allocator_(machine_.StreamOrdered()) {}

  Block Take(Bytes size, StreamId stream) {
    const Result<Block> block = allocator_->Allocate({.size = size, .stream = stream});
    EXPECT_TRUE(block.ok());
    return block.ok() ? *block : Block();
  }
  void Give(const Block& block) { EXPECT_TRUE(allocator_->Free(block).ok()); }
  // The first stream has 512 MiB idle and asks for nothing while the second asks often.
  void Pause(bool works) {
    const Block block = Take(MiB(512), first_);
    if (works) {
      ASSERT_TRUE(machine_.device()->LaunchHost(kDevice, first_, [] {}).ok());
    }
    Give(block);
    for (int i = 0; i < 300; ++i) Give(Take(MiB(4), second_));
  }
  Bytes reserved() const { return machine_.physical()->reserved(); }

  Machine machine_;
  StreamId first_;
  StreamId second_;
  std::unique_ptr<StreamOrderedAllocator> allocator_;
};

TEST_F(StreamLending, IdleMemoryOfAPausedStreamIsUsedBeforeNewMemory) {
  Pause(false);
  const Bytes before = reserved();
  const Block block = Take(MiB(256), second_);
  EXPECT_LE(reserved(), before);
  EXPECT_EQ(machine_.fake().statistics().count(device::DeviceCall::kSynchronizeStream), 0);
  Give(block);
}

TEST_F(StreamLending, AStreamWithWorkInHandLendsNothing) {
  Pause(true);
  const Bytes before = reserved();
  const Block block = Take(MiB(256), second_);
  EXPECT_GE(reserved(), before + MiB(250));
  EXPECT_EQ(machine_.fake().outstanding().events, 0);
  EXPECT_EQ(machine_.fake().statistics().failed, 0);
  Give(block);
  ASSERT_TRUE(machine_.device()->SynchronizeDevice(kDevice).ok());
}

TEST_F(StreamLending, AStreamThatMissedItsMemoryLendsNoMore) {
  Pause(false);
  const Block block = Take(MiB(256), second_);
  Pause(false);
  const Bytes before = reserved();
  const Block more = Take(MiB(256), second_);
  EXPECT_GE(reserved(), before + MiB(250));
  Give(more);
  Give(block);
}

}  // namespace stream_lending_test
}  // namespace plimsoll::memory
