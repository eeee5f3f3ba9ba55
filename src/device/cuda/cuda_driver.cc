#include "device/cuda/cuda_driver.h"

#include <dlfcn.h>

#include <cstdlib>
#include <utility>

#include "device/cuda/forked_process.h"
#include "plimsoll/base/text.h"

namespace plimsoll::device::cuda {
namespace {

Error DriverError(ErrorKind kind, std::string code, const std::string& library, std::string why,
                  std::string remedy) {
  return {kind,    std::move(code), "cannot use CUDA devices",
          library, std::move(why),  std::move(remedy)};
}

// "13.0".
std::string VersionText(int version) { return StrCat(version / 1000, ".", version % 1000 / 10); }

Error TooOld(const std::string& library, std::string_view has, std::string_view lacks) {
  const std::string missing = lacks.empty() ? "" : StrCat(", it has no ", lacks);
  return DriverError(ErrorKind::kUnsupported, "device.driver_old", library,
                     StrCat("the driver is too old: it serves ", has, missing, "; CUDA ",
                            VersionText(kVersionWanted), " is needed"),
                     "install a newer NVIDIA driver");
}

}  // namespace

::plimsoll::Result<std::unique_ptr<Driver>> Driver::Open(const std::string& named) {
  const char* const variable = std::getenv("PLIMSOLL_CUDA_DRIVER");
  const std::string_view elsewhere = variable == nullptr ? "" : variable;
  const std::string library(!named.empty()       ? std::string_view(named)
                            : !elsewhere.empty() ? elsewhere
                                                 : "libcuda.so.1");
  void* const opened = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (opened == nullptr) {
    return DriverError(ErrorKind::kUnsupported, "device.driver_missing", library, dlerror(),
                       "install the NVIDIA driver, or use the device cpu");
  }
  std::unique_ptr<Driver> driver(new Driver());
  PLIMSOLL_TRY(driver->FindFunctions(opened, library));
  PLIMSOLL_TRY(driver->Start(library));
  return driver;
}

Status Driver::FindFunctions(void* library, const std::string& name) {
  std::string lacks;
  for (FunctionEntry* function : all_) {
    void* const address = dlsym(library, function->symbol());
    if (address == nullptr && lacks.empty()) lacks = function->symbol();
    function->SetAddress(address);
  }
  void* const get_version = dlsym(library, driver_get_version.symbol());
  if (get_version == nullptr) {
    return DriverError(ErrorKind::kUnsupported, "device.driver_missing", name,
                       StrCat("it is not NVIDIA's driver: it has no ", driver_get_version.symbol()),
                       "name the driver's library, libcuda.so.1");
  }
  if (driver_get_version(&version_) != kSuccess) version_ = 0;
  if (lacks.empty() && version_ >= kVersionWanted) return {};
  return TooOld(name, version_ > 0 ? StrCat("CUDA ", VersionText(version_)) : "an unknown version",
                lacks);
}

Status Driver::Start(const std::string& name) {
  if (UsedBeforeFork()) {
    return DriverError(ErrorKind::kRunFailed, "device.driver", name, std::string(kForkedText),
                       std::string(kForkedRemedy));
  }
  Result result = init(0);
  if (result == kSuccess) {
    NoteDriverUse();
    result = device_get_count(&cards_);
  }
  switch (result) {
    case kSuccess:
      if (cards_ > 0) return {};
      [[fallthrough]];
    case kNoDevice:
      return DriverError(ErrorKind::kUnsupported, "device.none", name,
                         "the driver sees no NVIDIA card",
                         "check nvidia-smi and CUDA_VISIBLE_DEVICES, or use the device cpu");
    case kStubLibrary:
      return DriverError(ErrorKind::kUnsupported, "device.driver_missing", name,
                         "it is the empty library of the CUDA toolkit, for linking only",
                         "put the driver's own library before it in the search path");
    case kNotInitialized:
      return DriverError(ErrorKind::kRunFailed, "device.driver", name,
                         StrCat(ErrorText(result), ": ", kForkedText), std::string(kForkedRemedy));
    case kSystemDriverMismatch:
      return DriverError(ErrorKind::kRunFailed, "device.driver", name, ErrorText(result),
                         "restart the machine: the kernel's part of the driver is another version");
    default:
      return DriverError(ErrorKind::kRunFailed, "device.driver", name, ErrorText(result),
                         "check that nvidia-smi works");
  }
}

std::string Driver::ErrorText(Result result) const {
  const char* name = nullptr;
  const char* meaning = nullptr;
  if (get_error_name(result, &name) != kSuccess || name == nullptr) {
    return StrCat("error ", result, " of the driver");
  }
  if (get_error_string(result, &meaning) != kSuccess || meaning == nullptr) return name;
  return StrCat(name, " (", meaning, ")");
}

std::vector<CudaCallTime> Driver::CallTimes() const {
  std::vector<CudaCallTime> times;
  for (const FunctionEntry* function : all_) {
    const CudaCallTime time = function->Time();
    if (time.calls > 0) times.push_back(time);
  }
  return times;
}

std::chrono::nanoseconds Driver::TimeWithoutWaits() const {
  std::chrono::nanoseconds sum{0};
  for (const FunctionEntry* function : all_) sum += function->Time().time;
  for (const FunctionEntry* waits : std::initializer_list<const FunctionEntry*>{
           &context_synchronize, &stream_synchronize, &event_synchronize, &init,
           &primary_context_retain}) {
    sum -= waits->Time().time;
  }
  return sum;
}

}  // namespace plimsoll::device::cuda
