#include "engine/debug/overwrite_check.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include "kernels/catalogue.h"
#include "plimsoll/base/text.h"
#include "plimsoll/plan/problem.h"

namespace plimsoll::engine {
namespace {

constexpr uint8_t kPattern = 0x5a;
constexpr uint8_t kOtherPattern = 0xa5;

// Bytes that the kernel is given, where the run has them and where it finds them here.
struct GuardedRange {
  std::string name = {};
  std::byte* original = nullptr;
  int64_t size = 0;
  bool written = false;  // an output, or the workspace
  int64_t at = 0;        // in the memory with the zones

  std::byte* end() const { return original + size; }
};

// Memory for the operands of one kernel.
class GuardedMemory {
 public:
  static Result<GuardedMemory> Take(const DeviceSide* side, Bytes size) {
    GuardedMemory memory;
    if (side == nullptr) {
      memory.on_host_ = kernels::AllocateBytes(size + Bytes(plan::kDefaultAlignment));
      if (memory.on_host_ == nullptr) {
        return Error{.kind = ErrorKind::kDoesNotFit,
                     .code = "run.memory",
                     .what = "no memory for guard zones",
                     .where = "oom",
                     .why = StrCat(size, " could not be allocated"),
                     .remedy = "name the operators to check in op_debug_list"};
      }
      const auto at = reinterpret_cast<uintptr_t>(memory.on_host_.get());
      const auto alignment = static_cast<uintptr_t>(plan::kDefaultAlignment);
      memory.base_ = reinterpret_cast<std::byte*>((at + alignment - 1) / alignment * alignment);
      return memory;
    }
    PLIMSOLL_ASSIGN(const device::Address at, side->device->memory().AllocatePlain(
                                                  side->id, size, device::MemoryType::kDevice));
    memory.side_ = side;
    memory.base_ = reinterpret_cast<std::byte*>(at);
    return memory;
  }
  GuardedMemory(GuardedMemory&& other) noexcept
      : side_(std::exchange(other.side_, nullptr)),
        on_host_(std::move(other.on_host_)),
        base_(other.base_) {}
  GuardedMemory& operator=(GuardedMemory&&) = delete;
  ~GuardedMemory() {
    // A device that refuses leaves nothing to be done about it here.
    if (side_ == nullptr) return;
    (void)side_->device->memory()
        .FreePlain(side_->id, reinterpret_cast<device::Address>(base_))
        .ok();
  }

  std::byte* base() const { return base_; }

 private:
  GuardedMemory() = default;

  const DeviceSide* side_ = nullptr;
  std::shared_ptr<void> on_host_;
  std::byte* base_ = nullptr;
};

class GuardedRun {
 public:
  GuardedRun(const KernelRun& run, const OperatorTensors& tensors) : run_(run), tensors_(tensors) {
    for (const OperandTensor& input : tensors.inputs) AddRange(input);
    for (const OperandTensor& output : tensors.outputs) AddRange(output);
    if (run.call.workspace != nullptr && run.kernel.workspace() > Bytes(0)) {
      ranges_.push_back({.name = "workspace",
                         .original = static_cast<std::byte*>(run.call.workspace),
                         .size = run.kernel.workspace().value(),
                         .written = true});
    }
    LayOut();
  }

  Status Run(const DeviceSide& side) {
    PLIMSOLL_ASSIGN(const GuardedMemory memory,
                    GuardedMemory::Take(run_.later ? &side : nullptr, Bytes(total_)));
    base_ = memory.base();
    PLIMSOLL_ASSIGN(const std::vector<std::byte> first, RunOver(kPattern));
    if (kernels::IsDeterministic(run_.graph[run_.node])) {
      PLIMSOLL_ASSIGN(const std::vector<std::byte> second, RunOver(kOtherPattern));
      PLIMSOLL_TRY(CheckReads(first, second));
    }
    for (const GuardedRange& range : ranges_) {
      if (!range.written) continue;
      PLIMSOLL_TRY(run_.queue.Copy(range.original, first.data() + range.at, Bytes(range.size)));
    }
    return run_.queue.Finish();
  }

 private:
  void AddRange(const OperandTensor& operand) {
    if (!operand.has_bytes()) return;
    ranges_.push_back({.name = Describe(operand),
                       .original = static_cast<std::byte*>(operand.address),
                       .size = operand.size().value(),
                       .written = !operand.input});
  }

  // Ranges that share bytes in the run do so here, at the same distance: outputs in place, views.
  void LayOut() {
    std::vector<GuardedRange*> sorted;
    for (GuardedRange& range : ranges_) sorted.push_back(&range);
    std::ranges::stable_sort(sorted, {}, &GuardedRange::original);
    // Operands that must lie side by side stay so.
    const graph::MemoryAttributes& memory = run_.graph[run_.node].memory;
    using Continuous = graph::MemoryAttributes::Continuous;
    const bool side_by_side = memory.continuous_input != Continuous::kNone ||
                              memory.continuous_output != Continuous::kNone;
    const int64_t gap = side_by_side ? plan::kDefaultAlignment : 0;
    const std::byte* group = nullptr;
    const std::byte* group_end = nullptr;
    for (GuardedRange* range : sorted) {
      if (group == nullptr || range->original >= group_end + gap) {
        total_ = (Bytes(total_) + kGuardZone).RoundUp(plan::kDefaultAlignment).value();
        group = range->original;
        group_end = group;
        group_at_ = total_;
        // As far from a border of alignment as in the run.
        group_at_ += static_cast<int64_t>(reinterpret_cast<uintptr_t>(group) %
                                          static_cast<uintptr_t>(plan::kDefaultAlignment));
      }
      range->at = group_at_ + (range->original - group);
      group_end = std::max<const std::byte*>(group_end, range->end());
      total_ = std::max(total_, range->at + range->size);
    }
    total_ += kGuardZone.value();
  }

  std::byte* Moved(const void* original, const std::string& name) const {
    for (const GuardedRange& range : ranges_) {
      if (range.original == original && range.name == name) return base_ + range.at;
    }
    return static_cast<std::byte*>(const_cast<void*>(original));
  }

  Status Fill(uint8_t pattern) {
    PLIMSOLL_TRY(run_.queue.Fill(base_, pattern, Bytes(total_)));
    for (const GuardedRange& range : ranges_) {
      PLIMSOLL_TRY(run_.queue.Copy(base_ + range.at, range.original, Bytes(range.size)));
    }
    return {};
  }

  Result<std::vector<std::byte>> FetchAll() {
    std::vector<std::byte> all(static_cast<size_t>(total_));
    PLIMSOLL_TRY(run_.queue.Copy(all.data(), base_, Bytes(total_)));
    PLIMSOLL_TRY(run_.queue.Finish());
    return all;
  }

  // Everything after a run of the kernel that wrote only where it may.
  Result<std::vector<std::byte>> RunOver(uint8_t pattern) {
    PLIMSOLL_TRY(Fill(pattern));
    PLIMSOLL_ASSIGN(const std::vector<std::byte> before, FetchAll());
    std::vector<const void*> inputs;
    std::vector<void*> outputs;
    for (const OperandTensor& input : tensors_.inputs) {
      inputs.push_back(Moved(input.address, Describe(input)));
    }
    for (const OperandTensor& output : tensors_.outputs) {
      outputs.push_back(Moved(output.address, Describe(output)));
    }
    PLIMSOLL_TRY(
        run_.queue.Run(run_.kernel, {.inputs = inputs,
                                     .outputs = outputs,
                                     .workspace = Moved(run_.call.workspace, "workspace")}));
    PLIMSOLL_TRY(run_.queue.Finish());
    PLIMSOLL_ASSIGN(std::vector<std::byte> after, FetchAll());
    PLIMSOLL_TRY(CheckWrites(before, after));
    return after;
  }

  bool IsIn(int64_t at, bool written) const {
    return std::ranges::any_of(ranges_, [&](const GuardedRange& range) {
      return range.written == written && at >= range.at && at < range.at + range.size;
    });
  }

  // The operand nearest to a byte that lies in none, those that are written first.
  const GuardedRange& NearestTo(int64_t at) const {
    const auto distance = [&](const GuardedRange& range) {
      const int64_t away = at < range.at ? range.at - at : at - (range.at + range.size) + 1;
      return std::pair(away, range.written ? 0 : 1);
    };
    return *std::ranges::min_element(ranges_, {}, distance);
  }

  Error Caught(const GuardedRange& range, std::string why, const char* marker) const {
    return Error{.kind = ErrorKind::kRunFailed,
                 .code = "run.EZ9999",
                 .what = StrCat("EZ9999: memory outside of a tensor was touched (", marker, ")"),
                 .where = StrCat(graph::Describe(run_.graph, run_.node), ", ", range.name),
                 .why = std::move(why),
                 .remedy = "mend the operator: it may touch only what its call names"};
  }

  Status CheckWrites(const std::vector<std::byte>& before,
                     const std::vector<std::byte>& after) const {
    const auto same = [&](const std::byte& a, const std::byte& b) {
      return a == b || IsIn(&a - before.data(), true);
    };
    const auto changed = std::ranges::mismatch(before, after, same).in2;
    if (changed == after.end()) return {};
    const int64_t at = changed - after.begin();
    if (IsIn(at, false)) {
      const auto range = std::ranges::find_if(ranges_, [&](const GuardedRange& candidate) {
        return !candidate.written && at >= candidate.at && at < candidate.at + candidate.size;
      });
      return Caught(*range,
                    StrCat("byte ", at - range->at,
                           " was written, and the operator may "
                           "only read it"),
                    kWrite);
    }
    const GuardedRange& range = NearestTo(at);
    int64_t bytes = 1;
    while (static_cast<size_t>(at + bytes) < after.size() &&
           before[static_cast<size_t>(at + bytes)] != after[static_cast<size_t>(at + bytes)]) {
      ++bytes;
    }
    return Caught(range,
                  StrCat(bytes, bytes == 1 ? " byte was" : " bytes were", " written at offset ",
                         at - range.at, ", and it has ", range.size),
                  kWrite);
  }

  Status CheckReads(const std::vector<std::byte>& first, const std::vector<std::byte>& second) {
    for (const GuardedRange& range : ranges_) {
      if (!range.written || range.name == "workspace") continue;
      const auto begin = static_cast<size_t>(range.at);
      const auto size = static_cast<size_t>(range.size);
      if (std::memcmp(first.data() + begin, second.data() + begin, size) == 0) continue;
      // A kernel that gives something else each time says nothing.
      PLIMSOLL_ASSIGN(const std::vector<std::byte> again, RunOver(kPattern));
      if (std::memcmp(first.data() + begin, again.data() + begin, size) != 0) return {};
      return Caught(range, "it depends on bytes that belong to no operand", kRead);
    }
    return {};
  }

  static constexpr const char* kWrite = "0X5A5A0001";
  static constexpr const char* kRead = "0X5A5A0002";

  const KernelRun& run_;
  const OperatorTensors& tensors_;
  std::vector<GuardedRange> ranges_;
  int64_t total_ = 0;
  int64_t group_at_ = 0;
  std::byte* base_ = nullptr;
};

}  // namespace

Status RunBetweenGuards(const KernelRun& run, const OperatorTensors& tensors,
                        const DeviceSide& side) {
  return GuardedRun(run, tensors).Run(side);
}

}  // namespace plimsoll::engine
