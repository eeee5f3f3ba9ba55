#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "device/cuda/cuda_driver.h"
#include "plimsoll/device/cuda_device.h"
#include "plimsoll/device/device_call.h"

namespace plimsoll::device {

// The cards behind the devices: their contexts, and whether they are lost. Several devices may
// share a card. Thread-safe.
class CudaCards {
 public:
  struct Card {
    cuda::Ordinal ordinal = 0;
    cuda::Context context =
        nullptr;  // null: not used yet, since a context takes memory of the card
    std::string name;
    bool virtual_memory = false;
    Bytes granularity;
    std::optional<Error> first_error = std::nullopt;  // by which it was lost
  };

  static Result<std::unique_ptr<CudaCards>> Open(const CudaOptions& options);
  ~CudaCards();
  CudaCards(const CudaCards&) = delete;
  CudaCards& operator=(const CudaCards&) = delete;

  const cuda::Driver& driver() const { return *driver_; }
  int devices() const { return devices_; }
  Bytes granularity() const;  // of all cards
  bool exists(DeviceId device) const { return device.ordinal >= 0 && device.ordinal < devices_; }
  const Card& card(DeviceId device) const { return cards_[IndexOf(device)]; }
  // Whether the device exists, is not lost, and can be called from this thread and process.
  Status Begin(DeviceCall call, DeviceId device) const;
  // The card's context, which the first call takes hold of.
  Result<cuda::Context> ContextOf(DeviceCall call, DeviceId device);
  cuda::Context AnyContext() const;
  // The error of a result of the driver. One that ends the context loses the card.
  Status Check(DeviceCall call, DeviceId device, const cuda::FunctionEntry& function,
               cuda::Result result);

 private:
  CudaCards(std::unique_ptr<cuda::Driver> driver, int devices);
  Status AddCard(cuda::Ordinal ordinal);
  size_t IndexOf(DeviceId device) const {
    return static_cast<size_t>(device.ordinal) % cards_.size();
  }

  const std::unique_ptr<cuda::Driver> driver_;
  const int devices_;
  std::vector<Card> cards_;
  mutable std::mutex mutex_;  // of contexts and first errors
};

// Makes a card's context the calling thread's for as long as it lives, and lifts what a capture of
// some other stream forbids this thread (allocating, asking for events).
class ContextScope {
 public:
  ContextScope(const cuda::Driver& driver, cuda::Context context);
  ~ContextScope();
  ContextScope(const ContextScope&) = delete;
  ContextScope& operator=(const ContextScope&) = delete;

  cuda::Result result() const { return result_; }

 private:
  const cuda::Driver& driver_;
  cuda::Result result_ = cuda::kSuccess;
  bool pushed_ = false;
  int capture_mode_ = cuda::kCaptureRelaxed;
};

// One call on its way to the driver: begun, and with its device's context.
class CudaCall {
 public:
  CudaCall(CudaCards& cards, DeviceCall call, DeviceId device);

  const Status& status() const { return status_; }
  DeviceId device() const { return device_; }
  DeviceCall call() const { return call_; }
  const cuda::Driver& driver() const { return cards_.driver(); }

  template <typename... Parameters, typename... Arguments>
  Status Do(const cuda::Function<Parameters...>& function, Arguments... arguments) {
    return cards_.Check(call_, device_, function, function(arguments...));
  }
  Status Check(const cuda::FunctionEntry& function, cuda::Result result) {
    return cards_.Check(call_, device_, function, result);
  }
  Error Refused(std::string why, std::string remedy = "") const;

 private:
  CudaCards& cards_;
  const DeviceCall call_;
  const DeviceId device_;
  Status status_;
  std::optional<ContextScope> context_;
};

// Whether the calling thread runs a host callback, from where the driver must not be called.
bool& InsideHostCallback();

}  // namespace plimsoll::device
