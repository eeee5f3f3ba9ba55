#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <functional>
#include <utility>

// What libplimsoll_torch.so shows: the functions that PyTorch's CUDAPluggableAllocator takes, and
// those by which plimsoll.torch (ctypes) controls and asks. Functions that give an int answer 0, or
// 1 where memory ran out and 2 where something else failed; plimsoll_torch_error tells why.
extern "C" {

struct CUstream_st;

// --- PyTorch's own. An exception passes through them, since PyTorch calls them from C++: a
// std::runtime_error, which Python sees as RuntimeError. Frees never throw.
void* plimsoll_torch_malloc(ssize_t size, int device, CUstream_st* stream);
void plimsoll_torch_free(void* block, ssize_t size, int device, CUstream_st* stream);
void plimsoll_torch_init(int devices);
void plimsoll_torch_empty_cache(void);
void plimsoll_torch_memory_fraction(double fraction, int device);
void* plimsoll_torch_base_allocation(void* block, size_t* size);
void plimsoll_torch_record_stream(void* block, CUstream_st* stream);
void plimsoll_torch_begin_pool(int device, std::pair<unsigned long long, unsigned long long> pool,
                               std::function<bool(CUstream_st*)> filter);
void plimsoll_torch_end_pool(int device, std::pair<unsigned long long, unsigned long long> pool);
void plimsoll_torch_release_pool(int device,
                                 std::pair<unsigned long long, unsigned long long> pool);

// --- Control, in plain C.
struct plimsoll_torch_options {
  const char* driver;  // null: NVIDIA's library
  int64_t limit;       // bytes of each device; 0: none
  int64_t record;      // bytes of host memory for recorded events; 0: nothing is recorded
  int32_t guarded;     // 1: the debug mode
  int32_t devices;     // at most; 0: all
};
int plimsoll_torch_configure(const plimsoll_torch_options* options);
// The reason of the calling thread's last failure, one line; valid until its next.
const char* plimsoll_torch_error(void);
int plimsoll_torch_try_malloc(int64_t size, int device, CUstream_st* stream, void** block);
int plimsoll_torch_set_limit(int device, int64_t limit);
int plimsoll_torch_trim(int64_t* given_back);

struct plimsoll_torch_counter {
  int64_t current;
  int64_t peak;
  int64_t allocated;
  int64_t freed;
};
// Arrays: all blocks, those of at most 1 MiB, larger ones.
struct plimsoll_torch_statistics {
  plimsoll_torch_counter allocation[3];
  plimsoll_torch_counter allocated_bytes[3];
  plimsoll_torch_counter requested_bytes[3];
  plimsoll_torch_counter segment;
  plimsoll_torch_counter reserved_bytes;
  int64_t pending_blocks;
  int64_t pending_bytes;
  int64_t num_alloc_retries;
  int64_t num_ooms;
  int64_t num_sync_all_streams;
  int64_t stream_peaks;
  int64_t streams;
  int64_t largest_free;
  int64_t pool_bytes;
  int64_t limit;
};
// 2 where the device was not asked for memory yet.
int plimsoll_torch_get_statistics(int device, plimsoll_torch_statistics* statistics);
void plimsoll_torch_reset_peak(int device);
void plimsoll_torch_reset_accumulated(int device);
// Into `text`, at most `size` bytes with the closing zero; gives the length that it has.
int64_t plimsoll_torch_summary(char* text, int64_t size);

void plimsoll_torch_record(int on);
void plimsoll_torch_set_tag(const char* tag);
int plimsoll_torch_write_report(const char* path);
int plimsoll_torch_write_operator_memory(const char* path);
// Time inside the driver's calls so far, but for waits.
int64_t plimsoll_torch_driver_nanoseconds(void);
}
