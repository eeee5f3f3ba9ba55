#include "plimsoll/device/device_call.h"

#include <utility>

#include "plimsoll/base/text.h"

namespace plimsoll::device {
namespace {

struct CallText {
  std::string_view name;
  std::string_view failed;
};

constexpr std::array<CallText, kDeviceCallCount> kTexts = {{
    {"reserve_address", "cannot reserve addresses"},
    {"release_address", "cannot release addresses"},
    {"create_chunk", "cannot create physical memory"},
    {"destroy_chunk", "cannot destroy physical memory"},
    {"map", "cannot map memory"},
    {"unmap", "cannot unmap memory"},
    {"set_access", "cannot give access to memory"},
    {"allocate_plain", "cannot allocate memory"},
    {"free_plain", "cannot free memory"},
    {"info", "cannot tell how much memory there is"},
    {"set_current", "cannot make the device current"},
    {"create_stream", "cannot create a stream"},
    {"destroy_stream", "cannot destroy the stream"},
    {"record_event", "cannot record an event"},
    {"event_reached", "cannot ask for the event"},
    {"wait_event", "cannot make the stream wait for the event"},
    {"destroy_event", "cannot destroy the event"},
    {"copy", "cannot copy"},
    {"fill", "cannot fill memory"},
    {"launch", "cannot launch work"},
    {"synchronize_stream", "cannot wait for the stream"},
    {"synchronize_device", "cannot wait for the device"},
}};

}  // namespace

std::string_view DeviceCallName(DeviceCall call) { return kTexts[static_cast<size_t>(call)].name; }

Error CallError(DeviceCall call, DeviceId device, ErrorKind kind, std::string why,
                std::string remedy) {
  const CallText& text = kTexts[static_cast<size_t>(call)];
  return Error{kind,
               StrCat("device.", text.name),
               std::string(text.failed),
               StrCat("device ", device.ordinal),
               std::move(why),
               std::move(remedy)};
}

}  // namespace plimsoll::device
