#include "engine/run/host_side.h"

#include <gtest/gtest.h>

#include "engine/session_for_tests.h"
#include "engine/streams/scheduled_device_for_tests.h"
#include "kernels/parallel.h"
#include "plimsoll/device/cpu_device.h"
#include "plimsoll/device/watched_device.h"

// Work that a walk hands to the other stream: what it touches, and what becomes of its errors.
namespace plimsoll::engine {
namespace host_side_test {

using graph::ValueId;

// Nothing runs on its streams before somebody waits.
class HostSideTest : public testing::Test {
 protected:
  HostSideTest() { EXPECT_TRUE(streams_.Grow(2).ok()); }
  // Work that notes its name and ends so.
  std::function<Status()> Work(const std::string& name, Status end = {}) {
    return [this, name, end] {
      ran_ += name;
      threads_ = kernels::Threads();
      return end;
    };
  }
  static Status Failed(const std::string& code) {
    return Error{ErrorKind::kRunFailed, code, "", "", "", ""};
  }

  const std::shared_ptr<device::WatchedDevice> device_ =
      std::make_shared<device::WatchedDevice>(std::make_shared<ScheduledDevice>(
          std::make_shared<device::CpuDevice>(), std::vector<size_t>{0, 1}));
  StreamSet streams_{device_, device_->Current()};
  std::string ran_;
  int threads_ = 0;
};

TEST_F(HostSideTest, WhatIsReadAndMadeIsTouchedUntilItWasWaitedFor) {
  HostSide side(streams_);
  EXPECT_EQ(CodeOf(side.Finish()), "") << "nothing is there to wait for";
  ASSERT_TRUE(side.Launch({ValueId(1)}, {ValueId(2)}, Work("a")).ok());
  ASSERT_TRUE(side.Launch({ValueId(2), ValueId(3)}, {ValueId(4)}, Work("b")).ok());
  for (const size_t made : {2, 4}) EXPECT_TRUE(side.Makes(ValueId(made))) << made;
  for (const size_t read : {1, 3, 5}) EXPECT_FALSE(side.Makes(ValueId(read))) << read;
  for (const size_t touched : {1, 2, 3, 4}) EXPECT_TRUE(side.Touches(ValueId(touched)));
  EXPECT_FALSE(side.Touches(ValueId(5)));
  EXPECT_EQ(ran_, "");
  EXPECT_EQ(CodeOf(side.Finish()), "");
  EXPECT_EQ(ran_, "ab");
  for (const size_t value : {1, 2, 3, 4}) EXPECT_FALSE(side.Touches(ValueId(value))) << value;
}

TEST_F(HostSideTest, TheFirstErrorIsToldOnceAndWhatFollowsItIsLeftOut) {
  HostSide side(streams_);
  ASSERT_TRUE(side.Launch({}, {}, Work("a")).ok());
  ASSERT_TRUE(side.Launch({}, {}, Work("b", Failed("first"))).ok());
  ASSERT_TRUE(side.Launch({}, {}, Work("c")).ok());
  ASSERT_TRUE(side.Launch({}, {}, Work("d", Failed("second"))).ok());
  EXPECT_EQ(CodeOf(side.Finish()), "first");
  EXPECT_EQ(ran_, "ab");
  EXPECT_EQ(threads_, 1) << "small work uses one thread";
  EXPECT_EQ(CodeOf(side.Finish()), "");
  ASSERT_TRUE(side.Launch({}, {}, Work("e")).ok());
  EXPECT_EQ(CodeOf(side.Finish()), "") << "the error is over";
  EXPECT_EQ(ran_, "abe");
}

TEST_F(HostSideTest, WorkThatWasLaunchedEndsBeforeItGoesAway) {
  {
    HostSide side(streams_);
    ASSERT_TRUE(side.Launch({}, {}, Work("a", Failed("nobody asks"))).ok());
  }
  EXPECT_EQ(ran_, "a");
}

TEST_F(HostSideTest, WorkThatTheDeviceRefusesTouchesNothing) {
  HostSide side(streams_);
  device_->FailAfter(0, ErrorKind::kRunFailed);
  EXPECT_FALSE(side.Launch({ValueId(1)}, {ValueId(2)}, Work("a")).ok());
  device_->FailNoMore();
  EXPECT_FALSE(side.Touches(ValueId(1)) || side.Touches(ValueId(2)));
  EXPECT_EQ(CodeOf(side.Finish()), "");
  EXPECT_EQ(ran_, "");
}

TEST_F(HostSideTest, AWaitThatFailsIsToldAndTriedAgain) {
  HostSide side(streams_);
  ASSERT_TRUE(side.Launch({ValueId(1)}, {ValueId(2)}, Work("a")).ok());
  device_->FailAfter(0, ErrorKind::kRunFailed);
  EXPECT_NE(CodeOf(side.Finish()), "");
  device_->FailNoMore();
  EXPECT_TRUE(side.Touches(ValueId(1)) && side.Makes(ValueId(2))) << "it was not waited for";
  EXPECT_EQ(CodeOf(side.Finish()), "");
  EXPECT_EQ(ran_, "a");
  EXPECT_FALSE(side.Touches(ValueId(1)));
}

}  // namespace host_side_test
}  // namespace plimsoll::engine
