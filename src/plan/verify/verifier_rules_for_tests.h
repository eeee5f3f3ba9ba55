#pragma once

#include <gtest/gtest.h>

#include "plimsoll/plan/verifier.h"

namespace plimsoll::plan {

// One problem and one plan, written by hand: every promise is kept, then broken by one byte, one
// step or one entry.
class VerifierRulesTest : public testing::Test {
 protected:
  VerifierRulesTest() { map_ = AddRegion({.name = "map", .alignment = 1}, 1000); }

  RegionId AddRegion(Region region, int64_t size) {
    plan_.regions.push_back({.size = Bytes(size)});
    return problem_.AddRegion(std::move(region));
  }
  BufferId Add(int64_t offset, int64_t size, Use life = {.begin = 0, .end = 1}) {
    return Add(Buffer{.size = Bytes(size), .region = map_, .life = life}, offset);
  }
  BufferId Add(Buffer buffer, int64_t offset) {
    plan_.offsets.push_back(Offset(offset));
    return problem_.AddBuffer(std::move(buffer));
  }
  Buffer& At(BufferId id) { return problem_.buffers[id.index()]; }
  void Move(BufferId id, int64_t offset) { plan_.offsets[id.index()] = Offset(offset); }

  // What Verify says with the buffer there.
  std::string CodeAt(BufferId id, int64_t offset) {
    Move(id, offset);
    return Code();
  }
  std::string Code() const {
    const Status status = Verify(problem_, plan_);
    if (status.ok()) return "";
    EXPECT_TRUE(status.error().code.starts_with("verify.")) << status.error().code;
    return status.error().code.substr(7);
  }
  std::string Where() const {
    const Status status = Verify(problem_, plan_);
    return status.ok() ? "" : status.error().where;
  }

  Problem problem_;
  MemoryPlan plan_;
  RegionId map_;
};

}  // namespace plimsoll::plan
