#include "plan/problem/validation.h"

#include <algorithm>

#include "plan/problem/contradiction.h"

namespace plimsoll::plan {
namespace {

Status ValidateRegion(const Region& region, size_t index) {
  const std::string where = StrCat("region ", index, " '", region.name, "'");
  if (region.alignment < 1 || region.alignment > kLargestAlignment) {
    return Refuse("bad_alignment", where,
                  StrCat("the alignment ", region.alignment, " is not between 1 and 2^40"));
  }
  if (region.capacity && region.capacity->value() < 0) {
    return Refuse("bad_size", where,
                  StrCat("the capacity ", region.capacity->value(), " is negative"));
  }
  return {};
}

Status ValidateUse(const Problem& problem, const Use& use, BufferId id) {
  if (use.end < use.begin) {
    return Refuse("bad_life", Describe(problem, id),
                  StrCat("its life begins at ", use.begin, ", after its end at ", use.end));
  }
  if (problem.streams.empty()) {
    if (use.stream.index() == 0) return {};
    return Refuse("bad_id", Describe(problem, id),
                  "it lives on a stream other than 0, and the problem lists no streams");
  }
  if (!use.stream.valid() || use.stream.index() >= problem.streams.size()) {
    return Refuse("bad_id", Describe(problem, id), "it lives on a stream that is not listed");
  }
  const int64_t steps = problem.streams[use.stream.index()].steps;
  if (use.begin < 0 || use.end > steps) {
    return Refuse("bad_life", Describe(problem, id),
                  StrCat("it lives during [", use.begin, ", ", use.end, ") of a stream with ",
                         steps, " steps"));
  }
  return {};
}

Status ValidateFlags(const Problem& problem, BufferId id) {
  const Buffer& buffer = problem.buffer(id);
  const bool in_zero_copy = problem.region(buffer.region).kind == RegionKind::kZeroCopy;
  const auto contradiction = [&](std::string_view why) {
    return Refuse("contradiction", Describe(problem, id), std::string(why));
  };
  if (buffer.zero_copy && !in_zero_copy) {
    return contradiction("it is marked zero copy but lies in a region of another kind");
  }
  if (buffer.zero_copy && !buffer.no_zero_copy_reason.empty()) {
    return contradiction(
        StrCat("it is marked zero copy, which is impossible: ", buffer.no_zero_copy_reason));
  }
  if (buffer.atomic_addr_clean_id != kNoClearing && in_zero_copy) {
    return contradiction("memory of the caller cannot join a common clearing area");
  }
  if (buffer.atomic_addr_clean_id != kNoClearing && buffer.fixed_offset) {
    return contradiction("a buffer with a fixed offset cannot join a common clearing area");
  }
  return {};
}

Status ValidateBuffer(const Problem& problem, BufferId id) {
  const Buffer& buffer = problem.buffer(id);
  if (!buffer.region.valid() || buffer.region.index() >= problem.regions.size()) {
    return Refuse("bad_id", Describe(problem, id), "its region is not listed");
  }
  if (buffer.batch.valid() && buffer.batch.index() >= problem.batches.size()) {
    return Refuse("bad_id", Describe(problem, id), "its batch is not listed");
  }
  if (buffer.size.value() < 0) {
    return Refuse("bad_size", Describe(problem, id),
                  StrCat("the size ", buffer.size.value(), " is negative"));
  }
  if (buffer.alignment < 1 || buffer.alignment > kLargestAlignment) {
    return Refuse("bad_alignment", Describe(problem, id),
                  StrCat("the alignment ", buffer.alignment, " is not between 1 and 2^40"));
  }
  if (buffer.fixed_offset && buffer.fixed_offset->value() < 0) {
    return Refuse("bad_offset", Describe(problem, id),
                  StrCat("the fixed offset ", buffer.fixed_offset->value(), " is negative"));
  }
  if (buffer.atomic_addr_clean_id < kNoClearing) {
    return Refuse("bad_id", Describe(problem, id), "its clearing id is negative");
  }
  PLIMSOLL_TRY(ValidateUse(problem, buffer.life, id));
  for (const Use& use : buffer.elsewhere) PLIMSOLL_TRY(ValidateUse(problem, use, id));
  if (!buffer.elsewhere.empty() && problem.streams.empty()) {
    return Refuse("bad_life", Describe(problem, id),
                  "it has several uses, and the problem lists no streams");
  }
  return ValidateFlags(problem, id);
}

// Room for every buffer behind every other, each with its worst padding, above every fixed offset.
Status ValidateSum(const Problem& problem) {
  Bytes sum;
  Bytes highest_fixed;
  for (size_t i = 0; i < problem.buffers.size(); ++i) {
    const Buffer& buffer = problem.buffers[i];
    sum += buffer.size;
    sum += Bytes(problem.region(buffer.region).alignment);
    sum += Bytes(buffer.alignment);
    if (buffer.fixed_offset) {
      highest_fixed = std::max(highest_fixed, Bytes(buffer.fixed_offset->value()));
    }
    if ((sum + highest_fixed).value() >= kLargestSum) {
      return Refuse("overflow", Describe(problem, BufferId(i)),
                    "the sizes and offsets up to here reach 2^61 bytes or more");
    }
  }
  return {};
}

}  // namespace

Status ValidateTables(const Problem& problem) {
  for (size_t i = 0; i < problem.regions.size(); ++i) {
    PLIMSOLL_TRY(ValidateRegion(problem.regions[i], i));
  }
  for (size_t i = 0; i < problem.streams.size(); ++i) {
    if (problem.streams[i].steps < 0 || problem.streams[i].steps > kMostSteps) {
      return Refuse("bad_life", StrCat("stream ", i),
                    StrCat("its number of steps, ", problem.streams[i].steps,
                           ", is not between 0 and ", kMostSteps));
    }
  }
  for (size_t i = 0; i < problem.buffers.size(); ++i) {
    PLIMSOLL_TRY(ValidateBuffer(problem, BufferId(i)));
  }
  return ValidateSum(problem);
}

}  // namespace plimsoll::plan
