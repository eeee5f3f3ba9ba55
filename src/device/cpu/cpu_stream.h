#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "device/address_range.h"
#include "plimsoll/device/device.h"

namespace plimsoll::device {

// How far a stream has come. Outlives the stream where an event still points to it. Thread-safe.
class StreamProgress {
 public:
  bool Reached(uint64_t position) const;
  void WaitFor(uint64_t position) const;

 private:
  friend class CpuStream;
  mutable std::mutex mutex_;
  mutable std::condition_variable advanced_;
  uint64_t completed_ = 0;
};

// Work done in order by one thread. Thread-safe. Enqueueing costs a mutex and a wake-up; work runs
// without any lock held. Destruction finishes what is enqueued.
class CpuStream {
 public:
  using Work = std::function<void()>;
  struct Item {
    Work work;
    std::vector<Touch> uses;  // the memory that the work touches, where that is known
  };

  // Throws std::system_error when the system has no thread to give.
  explicit CpuStream(DeviceId device);
  ~CpuStream();
  CpuStream(const CpuStream&) = delete;
  CpuStream& operator=(const CpuStream&) = delete;

  void Enqueue(Item item);
  // Finish what is enqueued and then end; does not wait.
  void Close();

  DeviceId device() const { return device_; }
  uint64_t position() const;  // of the work enqueued last
  bool idle() const { return progress_->Reached(position()); }
  bool Uses(Address at, Bytes size) const;  // whether pending work is known to
  std::shared_ptr<const StreamProgress> progress() const { return progress_; }

  // Whether the calling thread is a stream's, so that waiting for one could wait for itself.
  static bool InsideWork();

 private:
  void Run();

  const DeviceId device_;
  const std::shared_ptr<StreamProgress> progress_ = std::make_shared<StreamProgress>();
  mutable std::mutex mutex_;
  std::condition_variable arrived_;
  std::deque<Item> pending_;  // the first is under way
  uint64_t enqueued_ = 0;
  bool closing_ = false;
  std::thread worker_;
};

}  // namespace plimsoll::device
