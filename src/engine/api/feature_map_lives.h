#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "compile/plan_model.h"
#include "plimsoll/base/bytes.h"
#include "plimsoll/engine/reports.h"

namespace plimsoll::engine {

// When buffers of a plan live, in steps of its timeline, whichever streams use them. Bytes that
// nobody else may ever use live from the first to the last.
class TimelineLives {
 public:
  explicit TimelineLives(const compile::Timeline& timeline);

  struct Life {
    int64_t begin = 0;  // [begin, end)
    int64_t end = 0;
    bool empty() const { return begin >= end; }
  };
  Life Of(const plan::Buffer& buffer) const;
  int64_t steps() const { return steps_; }

 private:
  int64_t steps_ = 0;
  std::vector<std::vector<int64_t>> places_;  // of the steps of each stream, in the timeline
};

// Which buffers of a plan's feature map hold bytes when: values, workspaces, copies for groups.
// Steps are those of the plan's timeline; bytes that nobody else may ever use live from the first
// to the last. Linear in the plan.
class FeatureMapLives {
 public:
  explicit FeatureMapLives(const compile::PlannedModel& model);

  // Live bytes, step by step.
  const std::vector<Bytes>& waterline() const { return waterline_; }
  // The step with the most; -1 where there is none.
  int64_t peak_step() const;

  struct Owner {
    std::string name;
    Bytes bytes;
  };
  std::vector<Owner> OwnersAt(int64_t step) const;  // largest first
  // Every buffer that lives, with its offset, in the order of the plan's problem.
  std::vector<PlacedBuffer> Placed() const;

 private:
  struct Life {
    const plan::Buffer* buffer = nullptr;
    Offset offset = {};
    int64_t begin = 0;
    int64_t end = 0;
  };
  std::vector<Life> lives_;
  std::vector<Bytes> waterline_;
};

}  // namespace plimsoll::engine
