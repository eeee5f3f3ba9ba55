#include "plimsoll/device/registry.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <map>
#include <mutex>
#include <utility>

#include "plimsoll/base/text.h"
#include "plimsoll/device/cpu_device.h"
#include "plimsoll/device/cuda_device.h"
#include "plimsoll/device/fake_device.h"
#include "plimsoll/device/far_device.h"

namespace plimsoll::device {
namespace {

constexpr int kMostDevices = 64;

Error SettingError(std::string where, std::string why) {
  return Error{ErrorKind::kUsage, "device.setting", "cannot make the device",
               std::move(where),  std::move(why),   "correct the setting"};
}

Status CheckSettings(const DeviceSettings& settings) {
  if (settings.devices < 1 || settings.devices > kMostDevices) {
    return SettingError(StrCat("devices=", settings.devices),
                        StrCat("there can be 1 to ", kMostDevices));
  }
  if (settings.capacity < Bytes(0)) {
    return SettingError(StrCat("capacity=", settings.capacity.value()), "it is negative");
  }
  const int64_t granularity = settings.granularity.value();
  if (granularity != 0 && (settings.granularity < KiB(4) || settings.granularity > GiB(1) ||
                           !std::has_single_bit(static_cast<uint64_t>(granularity)))) {
    return SettingError(StrCat("granularity=", granularity),
                        "it is no power of two from 4 KiB to 1 GiB");
  }
  return {};
}

// Kinds differ in their options, but these three are in all of them.
template <typename Kind, typename Options>
Result<std::unique_ptr<Device>> Make(const DeviceSettings& settings) {
  Options options;
  options.devices = settings.devices;
  if (settings.capacity > Bytes(0)) options.capacity = settings.capacity;
  if (settings.granularity > Bytes(0)) options.granularity = settings.granularity;
  return std::unique_ptr<Device>(std::make_unique<Kind>(options));
}

// As many devices as there are cards, whatever number is asked for, and the cards' own granularity.
Result<std::unique_ptr<Device>> MakeCuda(const DeviceSettings& settings) {
  CudaOptions options;
  options.capacity = settings.capacity;
  PLIMSOLL_ASSIGN(std::unique_ptr<CudaDevice> device, CudaDevice::Create(options));
  const Bytes granularity = device->memory().Granularity(DeviceId{0});
  if (settings.granularity > Bytes(0) && settings.granularity != granularity) {
    return SettingError(StrCat("granularity=", settings.granularity.value()),
                        StrCat("the card's is ", granularity.value()));
  }
  return std::unique_ptr<Device>(std::move(device));
}

struct Registry {
  std::mutex mutex;
  std::map<std::string, DeviceFactory, std::less<>> factories = {
      {"cpu", Make<CpuDevice, CpuOptions>},
      {"cuda", MakeCuda},
      {"fake", Make<FakeDevice, FakeOptions>},
      {"far", Make<FarDevice, CpuOptions>}};
};

Registry& TheRegistry() {
  static Registry registry;
  return registry;
}

Error UnknownKind(std::string_view kind) {
  const std::vector<std::string> known = DeviceKinds();
  const auto nearest = NearestName(kind, known);
  return Error{ErrorKind::kUsage,
               "device.unknown_kind",
               "cannot make the device",
               StrCat("device kind \"", kind, "\""),
               StrCat("the kinds are ", Join(known, ", ")),
               nearest ? StrCat("did you mean \"", *nearest, "\"?") : "name one of them"};
}

}  // namespace

Status RegisterDeviceKind(std::string kind, DeviceFactory factory) {
  Registry& registry = TheRegistry();
  const std::lock_guard lock(registry.mutex);
  if (kind.empty() || factory == nullptr) {
    return SettingError(StrCat("device kind \"", kind, "\""), "a kind has a name and a factory");
  }
  if (registry.factories.contains(kind)) {
    return SettingError(StrCat("device kind \"", kind, "\""), "the name is taken");
  }
  registry.factories.emplace(std::move(kind), std::move(factory));
  return {};
}

std::vector<std::string> DeviceKinds() {
  Registry& registry = TheRegistry();
  const std::lock_guard lock(registry.mutex);
  std::vector<std::string> kinds;
  for (const auto& [kind, factory] : registry.factories) kinds.push_back(kind);
  return kinds;
}

Result<DeviceName> ParseDeviceName(std::string_view text) {
  const size_t colon = text.find(':');
  const std::string_view kind = text.substr(0, colon);
  const std::vector<std::string> known = DeviceKinds();
  if (!std::binary_search(known.begin(), known.end(), kind)) return UnknownKind(kind);
  DeviceName name{.kind = std::string(kind), .id = DeviceId{0}};
  if (colon == std::string_view::npos) return name;
  const std::string_view number = text.substr(colon + 1);
  const auto [end, failure] =
      std::from_chars(number.data(), number.data() + number.size(), name.id.ordinal);
  if (failure == std::errc() && end == number.data() + number.size() && name.id.ordinal >= 0 &&
      name.id.ordinal < kMostDevices) {
    return name;
  }
  return SettingError(StrCat("device \"", text, "\""),
                      StrCat("behind the colon comes a number from 0 to ", kMostDevices - 1));
}

Result<std::unique_ptr<Device>> MakeDevice(std::string_view kind, const DeviceSettings& settings) {
  PLIMSOLL_TRY(CheckSettings(settings));
  DeviceFactory factory;
  {
    Registry& registry = TheRegistry();
    const std::lock_guard lock(registry.mutex);
    const auto found = registry.factories.find(kind);
    if (found != registry.factories.end()) factory = found->second;
  }
  if (factory == nullptr) return UnknownKind(kind);
  return factory(settings);
}

}  // namespace plimsoll::device
