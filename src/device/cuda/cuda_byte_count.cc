#include "device/cuda/cuda_byte_count.h"

#include <algorithm>

#include "device/cuda/forked_process.h"

namespace plimsoll::device {
namespace {

// The threads go through the words of eight bytes in turns, and the first few take a byte each of
// what is left behind the last word.
constexpr const char* kCountOther = R"(.version 6.0
.target sm_50
.address_size 64
.visible .entry count_other(.param .u64 at, .param .u64 size, .param .u32 value,
                            .param .u64 counter) {
  .reg .pred %p;
  .reg .u32 %block, %threads, %thread, %blocks, %byte, %wanted_byte;
  .reg .u64 %base, %size, %counter, %index, %stride, %wanted, %words, %rest, %found, %next;
  .reg .u64 %place, %word;
  ld.param.u64 %base, [at];
  ld.param.u64 %size, [size];
  ld.param.u32 %wanted_byte, [value];
  ld.param.u64 %counter, [counter];
  mov.u32 %block, %ctaid.x;
  mov.u32 %threads, %ntid.x;
  mov.u32 %thread, %tid.x;
  mov.u32 %blocks, %nctaid.x;
  cvt.u64.u32 %next, %thread;
  mad.wide.u32 %index, %block, %threads, %next;
  mul.wide.u32 %stride, %blocks, %threads;
  cvt.u64.u32 %wanted, %wanted_byte;
  mul.lo.u64 %wanted, %wanted, 0x0101010101010101;
  shr.u64 %words, %size, 3;
  mov.u64 %found, 0;
  mov.u64 %next, %index;
whole_words:
  setp.ge.u64 %p, %next, %words;
  @%p bra last_bytes;
  shl.b64 %place, %next, 3;
  add.u64 %place, %place, %base;
  ld.global.u64 %word, [%place];
  setp.ne.u64 %p, %word, %wanted;
  @%p add.u64 %found, %found, 1;
  add.u64 %next, %next, %stride;
  bra whole_words;
last_bytes:
  and.b64 %rest, %size, 7;
  setp.ge.u64 %p, %index, %rest;
  @%p bra tell;
  shl.b64 %place, %words, 3;
  add.u64 %place, %place, %base;
  add.u64 %place, %place, %index;
  ld.global.u8 %byte, [%place];
  setp.ne.u32 %p, %byte, %wanted_byte;
  @%p add.u64 %found, %found, 1;
tell:
  setp.eq.u64 %p, %found, 0;
  @%p ret;
  red.global.add.u64 [%counter], %found;
  ret;
}
)";

constexpr unsigned kThreads = 256;
constexpr int64_t kBytesOfABlock = kThreads * 8 * 8;  // eight words for each thread
constexpr int64_t kMostBlocks = 132 * 16;             // no card has the room to run more at once

}  // namespace

CudaByteCount::~CudaByteCount() {
  if (cuda::UsedBeforeFork()) return;
  for (size_t i = 0; i < loaded_.size(); ++i) {
    if (loaded_[i].module == nullptr) continue;
    const DeviceId device{static_cast<int>(i)};
    const ContextScope context(cards_.driver(), cards_.card(device).context);
    cards_.driver().module_unload(loaded_[i].module);
  }
}

Result<cuda::Kernel> CudaByteCount::KernelOf(CudaCall& call) {
  const std::lock_guard lock(mutex_);
  Loaded& loaded = loaded_[static_cast<size_t>(call.device().ordinal)];
  if (loaded.module == nullptr) {
    PLIMSOLL_TRY(
        call.Do(call.driver().module_load, &loaded.module, static_cast<const void*>(kCountOther)));
  }
  if (loaded.kernel == nullptr) {
    PLIMSOLL_TRY(
        call.Do(call.driver().module_get_function, &loaded.kernel, loaded.module, "count_other"));
  }
  return loaded.kernel;
}

Status CudaByteCount::Launch(CudaCall& call, cuda::Stream stream, Address at, Bytes size,
                             uint8_t value, Address counter) {
  if (size == Bytes(0)) return {};
  PLIMSOLL_ASSIGN(const cuda::Kernel kernel, KernelOf(call));
  auto length = static_cast<uint64_t>(size.value());
  uint32_t wanted = value;
  void* parameters[] = {&at, &length, &wanted, &counter};
  const int64_t blocks = size.RoundUp(kBytesOfABlock).value() / kBytesOfABlock;
  return call.Do(call.driver().launch_kernel, kernel,
                 static_cast<unsigned>(std::min(blocks, kMostBlocks)), 1u, 1u, kThreads, 1u, 1u, 0u,
                 stream, &parameters[0], static_cast<void**>(nullptr));
}

}  // namespace plimsoll::device
