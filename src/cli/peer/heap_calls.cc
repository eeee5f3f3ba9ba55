#include "cli/peer/heap_calls.h"

#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <string_view>
#include <system_error>

#include "base/unfinished_file.h"

namespace {

std::atomic<bool> ends_process = false;

[[noreturn]] void EndWith(std::string_view text) {
  plimsoll::RemoveUnfinishedFiles();
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, text.data(), text.size());
  _exit(1);
}

[[noreturn]] void EndWithoutMemory() {
  EndWith("error: out of host memory; close other programs or use a smaller model [cli.memory]\n");
}

// An exception that no thread has caught.
[[noreturn]] void OnTerminate() {
  try {
    if (const std::exception_ptr thrown = std::current_exception()) std::rethrow_exception(thrown);
  } catch (const std::bad_alloc&) {
    EndWithoutMemory();
  } catch (const std::system_error&) {
    EndWith(
        "error: the system refused something that a thread needs; look at the limits of this "
        "process (ulimit -a), or use --threads 1 [cli.system]\n");
  } catch (...) {
  }
  std::abort();
}

}  // namespace

namespace plimsoll::cli {

OutOfMemoryEnds::OutOfMemoryEnds() : before_(std::set_terminate(OnTerminate)) {
  ends_process = true;
}

OutOfMemoryEnds::~OutOfMemoryEnds() {
  ends_process = false;
  std::set_terminate(before_);
}

}  // namespace plimsoll::cli

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || !defined(__GLIBC__)

namespace plimsoll::cli {
int64_t HeapCalls() { return -1; }
void LeaveOutHeapCalls() {}
}  // namespace plimsoll::cli

#else

#include <cerrno>
#include <cstddef>

namespace {
std::atomic<int64_t> heap_calls = 0;
thread_local bool left_out = false;
void Count() {
  if (!left_out) heap_calls.fetch_add(1, std::memory_order_relaxed);
}
constexpr size_t kMostPieces = size_t{1} << 20;  // of an array whose size cannot overflow
void* Checked(void* made, size_t size) {
  constexpr size_t kSmall = size_t{1} << 20;
  if (made == nullptr && size > 0 && size <= kSmall && ends_process) EndWithoutMemory();
  return made;
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
  return Checked(__libc_malloc(size), size);
}
void* calloc(size_t count, size_t size) {
  Count();
  return Checked(__libc_calloc(count, size),
                 count > kMostPieces || size > kMostPieces ? SIZE_MAX : count * size);
}
void* realloc(void* old, size_t size) {
  Count();
  return Checked(__libc_realloc(old, size), size);
}
void* memalign(size_t alignment, size_t size) {
  Count();
  return Checked(__libc_memalign(alignment, size), size);
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
