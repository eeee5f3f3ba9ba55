// An allocator that counts what it hands out.
#include <atomic>
#include <cstdlib>

#include "run_model.h"

namespace consumer {
namespace {

class CountingAllocator : public memory::Allocator {
 public:
  Result<memory::Block> Allocate(const memory::Request& request) override {
    const int64_t alignment = request.alignment.value();
    void* const at =
        std::aligned_alloc(static_cast<size_t>(alignment),
                           static_cast<size_t>(request.size.RoundUp(alignment).value()));
    if (at == nullptr)
      return Error{ErrorKind::kDoesNotFit, "own.memory", "no memory is left", "", "", ""};
    ++taken;
    return memory::Block{reinterpret_cast<memory::Address>(at), request.size, {}};
  }
  Status Free(const memory::Block& block) override {
    std::free(reinterpret_cast<void*>(block.address));
    ++freed;
    return {};
  }
  Status RecordStream(const memory::Block&, memory::StreamId) override { return {}; }

  std::atomic<int> taken = 0;
  std::atomic<int> freed = 0;
};

class EmptyAllocator : public CountingAllocator {
 public:
  Result<memory::Block> Allocate(const memory::Request&) override {
    return Error{ErrorKind::kDoesNotFit, "own.empty", "nothing to give", "", "", ""};
  }
};

Status Work(const char* path) {
  const auto allocator = std::make_shared<CountingAllocator>();
  PLIMSOLL_ASSIGN(const Answer usual, RunModel(path, {}));
  PLIMSOLL_ASSIGN(const Answer own, RunModel(path, {.allocator = allocator}));
  PLIMSOLL_TRY(Expect(own.elements == usual.elements, "the same outputs"));
  PLIMSOLL_TRY(Expect(allocator->taken > 0, "feature maps come from it"));
  PLIMSOLL_TRY(Expect(allocator->freed == allocator->taken, "and go back to it"));
  std::printf("own allocator: %d blocks taken and freed\n", allocator->taken.load());
  const auto refused = RunModel(path, {.allocator = std::make_shared<EmptyAllocator>()});
  return Expect(!refused.ok() && refused.error().kind == ErrorKind::kDoesNotFit,
                "what it refuses is refused");
}

}  // namespace
}  // namespace consumer

int main(int, char** arguments) { return consumer::Report(consumer::Work(arguments[1])); }
