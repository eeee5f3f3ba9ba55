#include "device/cpu/cpu_stream.h"

#include <algorithm>
#include <utility>

namespace plimsoll::device {
namespace {

thread_local bool inside_work = false;

}  // namespace

bool StreamProgress::Reached(uint64_t position) const {
  const std::lock_guard lock(mutex_);
  return completed_ >= position;
}

void StreamProgress::WaitFor(uint64_t position) const {
  std::unique_lock lock(mutex_);
  advanced_.wait(lock, [&] { return completed_ >= position; });
}

CpuStream::CpuStream(DeviceId device) : device_(device), worker_([this] { Run(); }) {}

CpuStream::~CpuStream() {
  Close();
  worker_.join();
}

void CpuStream::Enqueue(Item item) {
  const std::lock_guard lock(mutex_);
  pending_.push_back(std::move(item));
  ++enqueued_;
  arrived_.notify_one();
}

void CpuStream::Close() {
  const std::lock_guard lock(mutex_);
  closing_ = true;
  arrived_.notify_one();
}

uint64_t CpuStream::position() const {
  const std::lock_guard lock(mutex_);
  return enqueued_;
}

bool CpuStream::Uses(Address at, Bytes size) const {
  const std::lock_guard lock(mutex_);
  return std::any_of(pending_.begin(), pending_.end(), [&](const Item& item) {
    return std::any_of(item.uses.begin(), item.uses.end(),
                       [&](const Touch& touch) { return Overlap(touch.range, at, size); });
  });
}

bool CpuStream::InsideWork() { return inside_work; }

void CpuStream::Run() {
  inside_work = true;
  std::unique_lock lock(mutex_);
  for (;;) {
    arrived_.wait(lock, [this] { return !pending_.empty() || closing_; });
    if (pending_.empty()) return;
    Work work = std::move(pending_.front().work);
    lock.unlock();
    work();
    work = nullptr;
    lock.lock();
    pending_.pop_front();
    const std::lock_guard progress_lock(progress_->mutex_);
    ++progress_->completed_;
    progress_->advanced_.notify_all();
  }
}

}  // namespace plimsoll::device
