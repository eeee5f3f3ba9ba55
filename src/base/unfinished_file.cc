#include "base/unfinished_file.h"

#include <unistd.h>

#include <array>
#include <atomic>
#include <climits>
#include <utility>

namespace plimsoll {
namespace {

// A signal handler can be given nothing, so what it reads is the process's.
struct Slot {
  enum State { kFree, kTaken, kKnown };
  std::atomic<int> state = kFree;
  std::array<char, PATH_MAX> path = {};
};
std::array<Slot, 8> slots;

}  // namespace

UnfinishedFile::UnfinishedFile(const std::string& path) {
  if (path.size() >= PATH_MAX) return;
  for (size_t i = 0; i < slots.size(); ++i) {
    int free = Slot::kFree;
    if (!slots[i].state.compare_exchange_strong(free, Slot::kTaken)) continue;
    slots[i].path[path.copy(slots[i].path.data(), path.size())] = '\0';
    slots[i].state.store(Slot::kKnown);
    slot_ = static_cast<int>(i);
    return;
  }
}

UnfinishedFile::UnfinishedFile(UnfinishedFile&& other) noexcept
    : slot_(std::exchange(other.slot_, -1)) {}

UnfinishedFile::~UnfinishedFile() {
  if (slot_ >= 0) slots[static_cast<size_t>(slot_)].state.store(Slot::kFree);
}

void RemoveUnfinishedFiles() {
  for (const Slot& slot : slots) {
    if (slot.state.load() == Slot::kKnown) unlink(slot.path.data());
  }
}

}  // namespace plimsoll
