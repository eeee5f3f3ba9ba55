#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace plimsoll::compile {

// The two groups of the seed's fusion switch file. UB fusion merges kernels, so that a tensor
// between them never reaches memory; graph fusion rewrites nodes into fewer or better ones.
enum class FusionGroup : uint8_t { kGraphFusion, kUbFusion };

// What passes look for. The order is that of the table.
enum class FusionPattern : uint8_t {
  kConstantFold,
  kBranchInline,
  kLoopInvariant,
  kNoOpRemove,
  kViewMerge,
  kCommonSubexpression,
  kDeadCode,
  kHalfWiden,
  kGelu,
  kSwish,
  kHardSwish,
  kLayerNorm,
  kRmsNorm,
  kQuantized,
  kTransposeSink,
  kConvTurn,
  kWindowPad,
  kConvCut,
  kDeadTap,
  kConvBatchnorm,
  kMatMulTranspose,
  kMatMulScale,
  kMatMulReshape,
  kMatMulBiasAdd,
  kMatMulSplit,
  kChannelGroup,
  kAttention,
  kConvAdd,
  kConvActivation,
  kMatMulAdd,
  kMatMulActivation,
  kScaleShift,
  kSliceBySlice,
};
inline constexpr size_t kFusionPatterns = static_cast<size_t>(FusionPattern::kSliceBySlice) + 1;

struct FusionPatternRow {
  FusionPattern pattern;
  std::string_view name;  // in switch files and reports; stays what it is
  FusionGroup group;
  std::string_view meaning;
  std::string_view always_on_because = {};  // empty: it can be switched off
};

std::span<const FusionPatternRow> FusionPatternTable();
const FusionPatternRow& RowOf(FusionPattern pattern);
std::string_view Name(FusionGroup group);  // as switch files say it: "GraphFusion"

// How often a pattern was found, and what came of it.
struct PatternCount {
  int effects = 0;          // changed the graph
  int declined = 0;         // found, and left as it was: another node reads what would vanish, ...
  int repository_hits = 0;  // took what tuning had found earlier
  int matches() const { return effects + declined; }
  bool operator==(const PatternCount&) const = default;
};

// What passes found, by pattern. A value.
class FusionCounts {
 public:
  void Took(FusionPattern pattern, int times = 1) { At(pattern).effects += times; }
  void Declined(FusionPattern pattern, int times = 1) { At(pattern).declined += times; }
  // Nothing where the pattern was not looked for.
  void HitRepository(FusionPattern pattern) {
    if (looked_for(pattern)) ++At(pattern).repository_hits;
  }

  const PatternCount& operator[](FusionPattern pattern) const {
    return counts_[static_cast<size_t>(pattern)];
  }
  // Whether a pass looked for the pattern at all.
  bool looked_for(FusionPattern pattern) const { return looked_[static_cast<size_t>(pattern)]; }
  int effects() const;
  int declined() const;

  // What a later run over the same graph found of `patterns`: effects add up, and what it left is
  // all that is left.
  void AddRun(const FusionCounts& later, std::span<const FusionPattern> patterns);
  bool operator==(const FusionCounts&) const = default;

 private:
  PatternCount& At(FusionPattern pattern) {
    looked_[static_cast<size_t>(pattern)] = true;
    return counts_[static_cast<size_t>(pattern)];
  }
  std::array<PatternCount, kFusionPatterns> counts_;
  std::array<bool, kFusionPatterns> looked_ = {};
};

}  // namespace plimsoll::compile
