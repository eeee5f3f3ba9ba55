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
    {"register_host", "cannot register host memory"},
    {"unregister_host", "cannot unregister host memory"},
    {"info", "cannot tell how much memory there is"},
    {"set_current", "cannot make the device current"},
    {"bind_thread", "cannot bind the device to the thread"},
    {"unbind_thread", "cannot unbind the device from the thread"},
    {"create_stream", "cannot create a stream"},
    {"destroy_stream", "cannot destroy the stream"},
    {"record_event", "cannot record an event"},
    {"record_timed_event", "cannot record a timed event"},
    {"event_reached", "cannot ask for the event"},
    {"wait_event", "cannot make the stream wait for the event"},
    {"synchronize_event", "cannot wait for the event"},
    {"elapsed_time", "cannot tell the time between events"},
    {"destroy_event", "cannot destroy the event"},
    {"copy", "cannot copy"},
    {"fill", "cannot fill memory"},
    {"enqueue", "cannot enqueue work"},
    {"launch_host", "cannot launch a host callback"},
    {"begin_recording", "cannot begin to record the stream"},
    {"end_recording", "cannot end the recording of the stream"},
    {"replay_recording", "cannot replay the recording"},
    {"destroy_recording", "cannot destroy the recording"},
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

Error UnsupportedCall(DeviceCall call, DeviceId device, std::string why) {
  return CallError(call, device, ErrorKind::kUnsupported, std::move(why),
                   "ask the device's properties first");
}

Error LostError(DeviceId device, const Error& first) {
  return Error{ErrorKind::kRunFailed,
               std::string(kDeviceLost),
               "the device is lost",
               StrCat("device ", device.ordinal),
               StrCat("an earlier error ended it: ", first.Text()),
               "free what is on it and make the device anew"};
}

}  // namespace plimsoll::device
