#include "cli/peer/heap_calls.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || !defined(__GLIBC__)

namespace plimsoll::cli {
int64_t HeapCalls() { return -1; }
void LeaveOutHeapCalls() {}
}  // namespace plimsoll::cli

#else

#include <atomic>
#include <cerrno>
#include <cstddef>

namespace {
std::atomic<int64_t> heap_calls = 0;
thread_local bool left_out = false;
void Count() {
  if (!left_out) heap_calls.fetch_add(1, std::memory_order_relaxed);
}
}  // namespace

// glibc keeps its own functions under these names for whoever replaces the public ones.
extern "C" {
void* __libc_malloc(size_t size);
void* __libc_calloc(size_t count, size_t size);
void* __libc_realloc(void* old, size_t size);
void* __libc_memalign(size_t alignment, size_t size);

void* malloc(size_t size) {
  Count();
  return __libc_malloc(size);
}
void* calloc(size_t count, size_t size) {
  Count();
  return __libc_calloc(count, size);
}
void* realloc(void* old, size_t size) {
  Count();
  return __libc_realloc(old, size);
}
void* memalign(size_t alignment, size_t size) {
  Count();
  return __libc_memalign(alignment, size);
}
void* aligned_alloc(size_t alignment, size_t size) { return memalign(alignment, size); }
int posix_memalign(void** made, size_t alignment, size_t size) {
  *made = memalign(alignment, size);
  return *made == nullptr ? ENOMEM : 0;
}
}

namespace plimsoll::cli {
int64_t HeapCalls() { return heap_calls.load(std::memory_order_relaxed); }
void LeaveOutHeapCalls() { left_out = true; }
}  // namespace plimsoll::cli

#endif
