#pragma once

#include <string>

namespace plimsoll::pytorch {

// What the driver says of streams that are captured into graphs. Thread-safe.
class StreamCaptures {
 public:
  virtual ~StreamCaptures() = default;
  // Whether the stream (a CUstream; null: the default one) is being captured, or must not be asked
  // because another is.
  virtual bool IsCapturing(void* stream) const = 0;
  // The calling thread's rule for calls that a capture elsewhere forbids; gives the rule before.
  // 2: none is forbidden.
  virtual int ExchangeMode(int mode) const = 0;
};

inline constexpr int kRelaxedCapture = 2;

// By the driver library that CudaDevice has opened.
class DriverCaptures final : public StreamCaptures {
 public:
  explicit DriverCaptures(const std::string& driver);
  bool IsCapturing(void* stream) const override;
  int ExchangeMode(int mode) const override;

 private:
  int (*is_capturing_)(void* stream, int* status) = nullptr;
  int (*exchange_mode_)(int* mode) = nullptr;
};

// While it lives, the thread may make calls of the driver beside a capture of any thread.
class RelaxedCapture {
 public:
  explicit RelaxedCapture(const StreamCaptures* captures)
      : captures_(captures), before_(captures ? captures->ExchangeMode(kRelaxedCapture) : 0) {}
  ~RelaxedCapture() {
    if (captures_ != nullptr) captures_->ExchangeMode(before_);
  }
  RelaxedCapture(const RelaxedCapture&) = delete;
  RelaxedCapture& operator=(const RelaxedCapture&) = delete;

 private:
  const StreamCaptures* const captures_;
  const int before_;
};

}  // namespace plimsoll::pytorch
