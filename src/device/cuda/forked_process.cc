#include "device/cuda/forked_process.h"

#include <pthread.h>

#include <atomic>

namespace plimsoll::device::cuda {
namespace {

std::atomic<bool> driver_used = false;
std::atomic<bool> used_before_fork = false;

void InChild() {
  if (driver_used.load(std::memory_order_relaxed)) {
    used_before_fork.store(true, std::memory_order_relaxed);
  }
}

}  // namespace

void NoteDriverUse() {
  driver_used.store(true, std::memory_order_relaxed);
  [[maybe_unused]] static const int registered = pthread_atfork(nullptr, nullptr, InChild);
}

bool UsedBeforeFork() { return used_before_fork.load(std::memory_order_relaxed); }

}  // namespace plimsoll::device::cuda
