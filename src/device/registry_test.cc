#include "plimsoll/device/registry.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "plimsoll/device/fake_device.h"

namespace plimsoll::device {
namespace registry_test {

TEST(RegistryTest, MakesEveryKindItNames) {
  for (const char* kind : {"cpu", "fake"}) {
    const auto device =
        MakeDevice(kind, {.devices = 3, .capacity = MiB(32), .granularity = KiB(64)});
    ASSERT_TRUE(device.ok()) << kind;
    EXPECT_EQ((*device)->Kind(), kind);
    EXPECT_EQ((*device)->Count(), 3);
    EXPECT_EQ((*device)->memory().Granularity(DeviceId{2}), KiB(64));
    EXPECT_EQ((*device)->memory().Info(DeviceId{2})->total, MiB(32));
  }
}

TEST(RegistryTest, ZeroMeansTheKindsOwn) {
  const auto device = MakeDevice("cpu");
  ASSERT_TRUE(device.ok());
  EXPECT_EQ((*device)->memory().Granularity(DeviceId{0}), MiB(2));
  EXPECT_GT((*device)->memory().Info(DeviceId{0})->total, MiB(64));
}

TEST(RegistryTest, AnUnknownKindIsAnsweredWithTheNearestName) {
  const auto slip = MakeDevice("fakes");
  ASSERT_FALSE(slip.ok());
  EXPECT_EQ(slip.error().kind, ErrorKind::kUsage);
  EXPECT_EQ(slip.error().code, "device.unknown_kind");
  EXPECT_NE(slip.error().Text().find("did you mean \"fake\"?"), std::string::npos);
  EXPECT_NE(MakeDevice("abacus").error().Text().find("cpu, cuda, fake"), std::string::npos);
}

TEST(RegistryTest, ImpossibleSettingsAreRefusedBeforeAnythingIsMade) {
  for (const DeviceSettings& settings :
       {DeviceSettings{.devices = 0}, DeviceSettings{.devices = 65},
        DeviceSettings{.capacity = Bytes(-1)}, DeviceSettings{.granularity = Bytes(3)},
        DeviceSettings{.granularity = Bytes(-4096)}, DeviceSettings{.granularity = KiB(2)},
        DeviceSettings{.granularity = GiB(2)}}) {
    for (const char* kind : {"cpu", "fake"}) {
      const auto device = MakeDevice(kind, settings);
      ASSERT_FALSE(device.ok());
      EXPECT_EQ(device.error().code, "device.setting");
    }
  }
}

TEST(RegistryTest, AKindCanBeAddedOnce) {
  const auto factory = [](const DeviceSettings&) -> Result<std::unique_ptr<Device>> {
    return std::unique_ptr<Device>(std::make_unique<FakeDevice>());
  };
  ASSERT_TRUE(RegisterDeviceKind("added", factory).ok());
  EXPECT_TRUE(MakeDevice("added").ok());
  const std::vector<std::string> kinds = DeviceKinds();
  EXPECT_TRUE(std::is_sorted(kinds.begin(), kinds.end()));
  EXPECT_EQ(std::count(kinds.begin(), kinds.end(), "added"), 1);
  EXPECT_FALSE(RegisterDeviceKind("added", factory).ok());
  EXPECT_FALSE(RegisterDeviceKind("cpu", factory).ok());
  EXPECT_FALSE(RegisterDeviceKind("", factory).ok());
  EXPECT_FALSE(RegisterDeviceKind("empty", nullptr).ok());
}

}  // namespace registry_test
}  // namespace plimsoll::device
