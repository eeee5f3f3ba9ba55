#include "kernels/threads/onednn_heap.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>

#include "kernels/threads/library_imports.h"

namespace plimsoll::kernels {
namespace {

// The functions of the heap that oneDNN calls, as they were before.
struct Heap {
  void* (*make)(size_t size) = nullptr;
  void* (*make_or_null)(size_t size, const std::nothrow_t& none) = nullptr;
  void (*drop)(void* object) = nullptr;
  void* (*allocate)(size_t size) = nullptr;
  int (*allocate_aligned)(void** made, size_t alignment, size_t size) = nullptr;
  void (*free)(void* object) = nullptr;
};
Heap heap;

// Objects of one execution. Anybody may drop them; the thread that holds the block makes them.
struct alignas(64) Block {
  static constexpr size_t kBytes = 4096 - 64;

  std::atomic<int> objects{0};  // that are there
  std::atomic<bool> held{false};
  alignas(64) std::byte bytes[kBytes] = {};
};
// As many as executions that may be under way at once; pages that nobody used take no memory.
constinit std::array<Block, 64> blocks;

constinit thread_local Block* block = nullptr;
constinit thread_local size_t used = 0;       // bytes of the block
constinit thread_local size_t last_held = 0;  // the block's number

// Null where there is no room.
void* InBlock(size_t size, size_t alignment) {
  if (block == nullptr || size > Block::kBytes || alignment > alignof(Block)) return nullptr;
  const size_t begin = (used + alignment - 1) / alignment * alignment;
  if (begin + size > Block::kBytes) return nullptr;
  used = begin + std::max<size_t>(size, 1);
  block->objects.fetch_add(1, std::memory_order_relaxed);
  return block->bytes + begin;
}

// Whether the object lay in a block.
bool DropFromBlock(const void* object) {
  const auto first = reinterpret_cast<uintptr_t>(blocks.data());
  const auto place = reinterpret_cast<uintptr_t>(object);
  if (place < first || place >= first + sizeof(blocks)) return false;
  blocks[(place - first) / sizeof(Block)].objects.fetch_sub(1, std::memory_order_release);
  return true;
}

void* Make(size_t size) {
  void* const made = InBlock(size, alignof(std::max_align_t));
  return made != nullptr ? made : heap.make(size);
}
void* MakeOrNull(size_t size, const std::nothrow_t& none) {
  void* const made = InBlock(size, alignof(std::max_align_t));
  return made != nullptr ? made : heap.make_or_null(size, none);
}
void* Allocate(size_t size) {
  void* const made = InBlock(size, alignof(std::max_align_t));
  return made != nullptr ? made : heap.allocate(size);
}
int AllocateAligned(void** made, size_t alignment, size_t size) {
  *made = InBlock(size, alignment);
  return *made != nullptr ? 0 : heap.allocate_aligned(made, alignment, size);
}
void Drop(void* object) {
  if (!DropFromBlock(object)) heap.drop(object);
}
void Free(void* object) {
  if (!DropFromBlock(object)) heap.free(object);
}

bool RedirectHeap() {
  const LibraryImports imports = LibraryImports::Of("dnnl_primitive_execute");
  // Other builds of the library may give memory back by ways that do not lead here.
  for (const char* const other :
       {"realloc", "_ZdlPvm", "_ZdaPv", "_ZdaPvm", "_ZdlPvSt11align_val_t",
        "_ZdlPvmSt11align_val_t", "_ZdaPvSt11align_val_t"}) {
    if (imports.Has(other)) return false;
  }
  const std::array wanted = {ImportOf("_Znwm", Make, heap.make),
                             ImportOf("_ZnwmRKSt9nothrow_t", MakeOrNull, heap.make_or_null),
                             ImportOf("_ZdlPv", Drop, heap.drop),
                             ImportOf("malloc", Allocate, heap.allocate),
                             ImportOf("posix_memalign", AllocateAligned, heap.allocate_aligned),
                             ImportOf("free", Free, heap.free)};
  return imports.Redirect(wanted);
}

// A block that nobody holds, of this thread's last one on; null where there is none.
Block* Hold() {
  for (size_t i = 0; i < blocks.size(); ++i) {
    const size_t number = (last_held + i) % blocks.size();
    Block& next = blocks[number];
    if (next.held.load(std::memory_order_relaxed)) continue;
    if (next.held.exchange(true, std::memory_order_acquire)) continue;
    last_held = number;
    return &next;
  }
  return nullptr;
}

}  // namespace

bool OneDnnHeap::redirected() {
  static const bool done = RedirectHeap();
  return done;
}

OneDnnHeap::OneDnnHeap() {
  if (!redirected() || block != nullptr) return;
  block = Hold();
  holds_ = block != nullptr;
  used = 0;
}

OneDnnHeap::~OneDnnHeap() {
  if (!holds_) return;
  const bool empty = block->objects.load(std::memory_order_acquire) == 0;
  if (empty) block->held.store(false, std::memory_order_release);
  block = nullptr;
}

}  // namespace plimsoll::kernels
