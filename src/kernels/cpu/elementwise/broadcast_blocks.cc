#include "kernels/cpu/elementwise/broadcast_blocks.h"

#include <cstring>

#include "kernels/parallel.h"

namespace plimsoll::kernels::cpu {
namespace {

constexpr int64_t kShortRun = 32;
constexpr int64_t kBlockElements = 1024;
constexpr int64_t kBlockBytes = 8 * kBlockElements;

}  // namespace

std::optional<BroadcastBlocks> BroadcastBlocks::Make(const Broadcast<2>& plan,
                                                     const std::array<int64_t, 2>& bytes,
                                                     int64_t made_bytes) {
  const Axes& axes = plan.axes();
  if (axes.size() < 2 || axes.back().extent >= kShortRun || plan.count() == 0) return {};
  if (std::max(bytes[0], bytes[1]) * kBlockElements > kBlockBytes) return {};
  BroadcastBlocks made;
  made.bytes_ = bytes;
  made.made_bytes_ = made_bytes;
  size_t split = axes.size();
  while (split > 0 && made.place_ * axes[split - 1].extent <= kBlockElements) {
    made.place_ *= axes[--split].extent;
  }
  if (split > 0) --split;
  const int64_t extent = axes[split].extent;
  made.place_ = 1;
  for (size_t i = split + 1; i < axes.size(); ++i) made.place_ *= axes[i].extent;
  made.piece_ = std::clamp<int64_t>(kBlockElements / made.place_, 1, extent);
  made.blocks_ = (extent + made.piece_ - 1) / made.piece_;
  made.outer_.assign(axes.begin(), axes.begin() + static_cast<std::ptrdiff_t>(split));
  made.inner_.assign(axes.begin() + static_cast<std::ptrdiff_t>(split), axes.end());
  if (split + 1 == axes.size()) return {};
  made.all_blocks_ = made.blocks_;
  for (const auto& axis : made.outer_) made.all_blocks_ *= axis.extent;
  for (const size_t operand : {size_t{0}, size_t{1}}) {
    made.dense_[operand] = made.IsDense(operand);
    if (made.dense_[operand]) continue;
    // It stays the same from block to block, or is mostly copies of what it says once.
    const bool stays = made.inner_[0].step[operand] == 0 && made.blocks_ > 1;
    const bool repeats = !made.outer_.empty() && made.outer_.back().step[operand] == 0;
    int64_t said = made.inner_[0].step[operand] == 0 ? 1 : made.piece_;
    for (size_t i = 1; i < made.inner_.size(); ++i) {
      if (made.inner_[i].step[operand] != 0) said *= made.inner_[i].extent;
    }
    constexpr int64_t kFewestCopies = 4;
    const bool copies = said * kFewestCopies <= made.piece_ * made.place_;
    if (!stays && !repeats && !copies) return {};
  }
  return made;
}

bool BroadcastBlocks::IsDense(size_t operand) const {
  int64_t dense = 1;
  for (size_t i = inner_.size(); i-- > 0;) {
    if (inner_[i].step[operand] != dense) return false;
    dense *= inner_[i].extent;
  }
  return true;
}

std::byte* BroadcastBlocks::WriteOut(size_t operand, size_t axis, int64_t count,
                                     const std::byte* from, std::byte* to) const {
  const int64_t bytes = bytes_[operand];
  const int64_t step = inner_[axis].step[operand];
  const bool innermost = axis + 1 == inner_.size();
  const auto write_place = [&](const std::byte* place, std::byte* end) {
    if (!innermost) return WriteOut(operand, axis + 1, inner_[axis + 1].extent, place, end);
    std::memcpy(end, place, static_cast<size_t>(bytes));
    return end + bytes;
  };
  if (step == 1 && innermost) {
    std::memcpy(to, from, static_cast<size_t>(count * bytes));
    return to + count * bytes;
  }
  std::byte* end = write_place(from, to);
  if (step != 0) {
    for (int64_t i = 1; i < count; ++i) end = write_place(from + i * step * bytes, end);
    return end;
  }
  const int64_t all = (end - to) * count;
  for (int64_t done = end - to; done < all;) {
    const int64_t more = std::min(done, all - done);
    std::memcpy(to + done, to, static_cast<size_t>(more));
    done += more;
  }
  return to + all;
}

void BroadcastBlocks::Run(const std::array<const void*, 2>& from, void* to, BinaryLoop loop) const {
  const int64_t grain = kElementGrain / (piece_ * place_) + 1;
  ParallelFor(all_blocks_, grain, [&](int64_t begin, int64_t end) {
    alignas(64) std::array<std::array<std::byte, kBlockBytes>, 2> written;
    std::array<int64_t, 2> written_from = {-1, -1};
    std::array<int64_t, 2> written_count = {0, 0};
    for (int64_t block = begin; block < end; ++block) {
      const int64_t first = block % blocks_ * piece_;
      const int64_t count = std::min(piece_, inner_[0].extent - first);
      std::array<const void*, 2> operands;
      for (const size_t n : {size_t{0}, size_t{1}}) {
        int64_t offset = first * inner_[0].step[n];
        int64_t rest = block / blocks_;
        for (size_t i = outer_.size(); i-- > 0; rest /= outer_[i].extent) {
          offset += rest % outer_[i].extent * outer_[i].step[n];
        }
        const auto* const own = static_cast<const std::byte*>(from[n]) + offset * bytes_[n];
        operands[n] = dense_[n] ? static_cast<const void*>(own) : written[n].data();
        if (dense_[n] || (written_from[n] == offset && written_count[n] >= count)) continue;
        WriteOut(n, 0, count, own, written[n].data());
        written_from[n] = offset;
        written_count[n] = count;
      }
      const int64_t place = (block / blocks_ * inner_[0].extent + first) * place_;
      loop(operands[0], 1, operands[1], 1, static_cast<std::byte*>(to) + place * made_bytes_,
           count * place_);
    }
  });
}

}  // namespace plimsoll::kernels::cpu
