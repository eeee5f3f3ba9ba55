#include "device/cuda/cuda_cards.h"

#include <algorithm>
#include <array>
#include <utility>

#include "device/cuda/forked_process.h"
#include "plimsoll/base/text.h"

namespace plimsoll::device {
namespace {

// After these nothing of the context works any more.
bool EndsContext(cuda::Result result) {
  using namespace cuda;
  if (result >= kHardwareStackError && result <= kLaunchFailed) return true;
  constexpr std::array kFatal = {kDeinitialized,    kDeviceUnavailable,   kInvalidContext,
                                 kEccUncorrectable, kNvlinkUncorrectable, kContained,
                                 kIllegalAddress,   kLaunchTimeout,       kContextIsDestroyed,
                                 kAssert,           kMpsRpcFailure,       kMpsClientTerminated};
  return std::find(kFatal.begin(), kFatal.end(), result) != kFatal.end();
}

}  // namespace

Result<std::unique_ptr<CudaCards>> CudaCards::Open(const CudaOptions& options) {
  PLIMSOLL_ASSIGN(std::unique_ptr<cuda::Driver> driver, cuda::Driver::Open(options.driver));
  const int found = driver->cards();
  const int devices = options.devices > 0 ? options.devices : found;
  std::unique_ptr<CudaCards> cards(new CudaCards(std::move(driver), devices));
  for (int i = 0; i < std::min(found, devices); ++i) PLIMSOLL_TRY(cards->AddCard(i));
  return cards;
}

CudaCards::CudaCards(std::unique_ptr<cuda::Driver> driver, int devices)
    : driver_(std::move(driver)), devices_(devices) {}

CudaCards::~CudaCards() {
  if (cuda::UsedBeforeFork()) return;
  for (const Card& card : cards_) {
    if (card.context != nullptr) driver_->primary_context_release(card.ordinal);
  }
}

Status CudaCards::AddCard(cuda::Ordinal ordinal) {
  Card card;
  char name[256] = {};
  int able = 0;
  size_t granularity = static_cast<size_t>(MiB(2).value());
  cuda::AllocationProperties properties;
  const auto check = [&](const cuda::FunctionEntry& function, cuda::Result result) -> Status {
    if (result == cuda::kSuccess) return {};
    return Error{ErrorKind::kRunFailed,
                 "device.driver",
                 "cannot use CUDA devices",
                 StrCat("cuda:", ordinal),
                 StrCat(function.symbol(), " says ", driver_->ErrorText(result)),
                 "check that nvidia-smi works"};
  };
  PLIMSOLL_TRY(check(driver_->device_get, driver_->device_get(&card.ordinal, ordinal)));
  PLIMSOLL_TRY(check(driver_->device_get_name,
                     driver_->device_get_name(name, sizeof(name) - 1, card.ordinal)));
  PLIMSOLL_TRY(
      check(driver_->device_get_attribute,
            driver_->device_get_attribute(&able, cuda::kVirtualMemorySupported, card.ordinal)));
  properties.location.id = card.ordinal;
  if (able != 0) {
    PLIMSOLL_TRY(check(
        driver_->granularity,
        driver_->granularity(&granularity, &std::as_const(properties), cuda::kGranularityMinimum)));
  }
  card.name = name;
  card.virtual_memory = able != 0;
  card.granularity = Bytes(static_cast<int64_t>(granularity));
  cards_.push_back(std::move(card));
  return {};
}

Result<cuda::Context> CudaCards::ContextOf(DeviceCall call, DeviceId device) {
  cuda::Result result = cuda::kSuccess;
  {
    const std::lock_guard lock(mutex_);
    Card& card = cards_[IndexOf(device)];
    if (card.context != nullptr) return card.context;
    cuda::Context context = nullptr;
    result = driver_->primary_context_retain(&context, card.ordinal);
    if (result == cuda::kSuccess) {
      card.context = context;
      return context;
    }
  }
  return Check(call, device, driver_->primary_context_retain, result);
}

cuda::Context CudaCards::AnyContext() const {
  const std::lock_guard lock(mutex_);
  for (const Card& card : cards_) {
    if (card.context != nullptr) return card.context;
  }
  return nullptr;
}

Bytes CudaCards::granularity() const {
  Bytes largest;
  for (const Card& card : cards_) largest = std::max(largest, card.granularity);
  return largest;
}

Status CudaCards::Begin(DeviceCall call, DeviceId device) const {
  if (cuda::UsedBeforeFork()) {
    return CallError(call, device, ErrorKind::kRunFailed, std::string(cuda::kForkedText),
                     std::string(cuda::kForkedRemedy));
  }
  if (!exists(device)) {
    return CallError(call, device, ErrorKind::kRunFailed,
                     StrCat("there are ", devices_, " devices, numbered from 0"),
                     "name one of them");
  }
  if (InsideHostCallback()) {
    return CallError(call, device, ErrorKind::kRunFailed,
                     "the call comes from a host callback, where CUDA allows none",
                     "make it on another thread");
  }
  const std::lock_guard lock(mutex_);
  const std::optional<Error>& first = card(device).first_error;
  if (first) return LostError(device, *first);
  return {};
}

Status CudaCards::Check(DeviceCall call, DeviceId device, const cuda::FunctionEntry& function,
                        cuda::Result result) {
  if (result == cuda::kSuccess) return {};
  ErrorKind kind = ErrorKind::kRunFailed;
  std::string remedy;
  if (result == cuda::kOutOfMemory) {
    kind = ErrorKind::kDoesNotFit;
    remedy = "free memory, or end other processes that use the card (see nvidia-smi)";
  } else if (result == cuda::kNotSupported) {
    kind = ErrorKind::kUnsupported;
  } else if (EndsContext(result)) {
    remedy = "the card's context is lost: make the device anew, or start the process again";
  }
  const Error error =
      CallError(call, device, kind, StrCat(function.symbol(), " says ", driver_->ErrorText(result)),
                std::move(remedy));
  if (EndsContext(result)) {
    const std::lock_guard lock(mutex_);
    std::optional<Error>& first = cards_[IndexOf(device)].first_error;
    if (!first) first = error;
  }
  return error;
}

ContextScope::ContextScope(const cuda::Driver& driver, cuda::Context context) : driver_(driver) {
  cuda::Context current = nullptr;
  result_ = driver_.context_get_current(&current);
  if (result_ == cuda::kSuccess && current != context) {
    result_ = driver_.context_push(context);
    pushed_ = result_ == cuda::kSuccess;
  }
  driver_.thread_exchange_capture_mode(&capture_mode_);
}

ContextScope::~ContextScope() {
  driver_.thread_exchange_capture_mode(&capture_mode_);
  cuda::Context popped = nullptr;
  if (pushed_) driver_.context_pop(&popped);
}

CudaCall::CudaCall(CudaCards& cards, DeviceCall call, DeviceId device)
    : cards_(cards), call_(call), device_(device), status_(cards.Begin(call, device)) {
  if (!status_.ok()) return;
  const auto context = cards.ContextOf(call, device);
  status_ = context.status();
  if (!status_.ok()) return;
  context_.emplace(cards.driver(), *context);
  status_ = cards.Check(call, device, cards.driver().context_push, context_->result());
}

Error CudaCall::Refused(std::string why, std::string remedy) const {
  return CallError(call_, device_, ErrorKind::kRunFailed, std::move(why), std::move(remedy));
}

bool& InsideHostCallback() {
  thread_local bool inside = false;
  return inside;
}

}  // namespace plimsoll::device
