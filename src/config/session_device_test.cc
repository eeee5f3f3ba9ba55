#include "config/session_device.h"

#include <gtest/gtest.h>

namespace plimsoll::config {
namespace {

RunConfig OnDevice(int id) {
  RunConfig config;
  config.session_device_id = id;
  return config;
}

TEST(SessionDeviceTest, R109_AnIdThatDoesNotExistIsRefusedWithTheNumberOfDevices) {
  EXPECT_EQ(CheckSessionDevice(OnDevice(2), 2).error().Text(),
            "option refused: session_device_id: device 2 does not exist, there are 2 devices; use "
            "0 to 1 [config.device]");
  EXPECT_EQ(CheckSessionDevice(OnDevice(1), 1).error().Text(),
            "option refused: session_device_id: device 1 does not exist, there is 1 device; leave "
            "it unset, or use 0 [config.device]");
  EXPECT_FALSE(CheckSessionDevice(OnDevice(0), 0).ok());
}

TEST(SessionDeviceTest, EveryDeviceThatExistsAndNoneAtAllAreRight) {
  for (const int id : {0, 1, 7}) EXPECT_TRUE(CheckSessionDevice(OnDevice(id), 8).ok());
  EXPECT_TRUE(CheckSessionDevice(RunConfig(), 0).ok());
}

}  // namespace
}  // namespace plimsoll::config
