#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "plimsoll/base/bytes.h"
#include "plimsoll/base/ids.h"
#include "plimsoll/base/status.h"

namespace plimsoll::plan {

// What must be placed, as plain data: no graph, no tensors, no operators. A caller fills the tables
// of a Problem in any order and refers to their rows by id; assigners take it const, so that many
// threads may read one at the same time.
//
//   Problem problem;
//   const RegionId map = problem.AddRegion({.name = "feature map"});
//   const BufferId a = problem.AddBuffer({.name = "a", .size = Bytes(4096), .region = map,
//                                         .life = {.begin = 0, .end = 2}});
using RegionId = Id<struct RegionTag>;
using BufferId = Id<struct BufferTag>;
using StreamId = Id<struct StreamTag>;
using BatchId = Id<struct BatchTag>;

inline constexpr int64_t kDefaultAlignment = 512;
inline constexpr int64_t kZeroCopyAlignment = 32;
inline constexpr int32_t kNoClearing = -1;

enum class RegionKind { kFeatureMap, kZeroCopy, kWeights, kVariables, kP2p, kWorkspace };
// Where a region lies.
enum class MemoryType { kDevice, kP2pDdr, kHost };

// An address space with one base. Its buffers start at multiples of `alignment` and, except in a
// zero-copy region (real size), occupy whole multiples of it. No buffer shares bytes with a buffer
// of another region.
struct Region {
  std::string name = {};
  RegionKind kind = RegionKind::kFeatureMap;
  MemoryType memory_type = MemoryType::kDevice;
  int64_t alignment = kDefaultAlignment;  // kZeroCopyAlignment for zero copy
  std::optional<Bytes> capacity = {};     // unset: as large as needed
};

// Steps [begin, end) of one stream, during which a buffer must hold its bytes.
struct Use {
  StreamId stream = StreamId(0);
  int64_t begin = 0;
  int64_t end = 0;
  bool operator==(const Use&) const = default;
};

// Bytes to be placed. `life` is the whole life on one stream; a buffer used on several streams
// lists the further uses in `elsewhere`. With an empty life it may share bytes with anyone.
struct Buffer {
  std::string name = {};
  Bytes size = {};
  int64_t alignment = 1;  // of its offset, in addition to the region's
  RegionId region = RegionId(0);
  Use life = {};
  std::vector<Use> elsewhere = {};
  std::optional<Offset> fixed_offset = {};
  // Its address is immutable: it is placed before all ordinary buffers, so that they never move it.
  // Others may use its bytes while it does not live.
  bool is_fixed_addr_prior = false;
  bool exclusive = false;  // its bytes are given to nobody else, ever
  // Bound to memory that the caller of a run hands over. Needs a zero-copy region. Two such buffers
  // never share bytes; any other buffer of that region lies wholly inside one of them, or outside
  // of all.
  bool zero_copy = false;
  BatchId batch =
      {};  // none: belongs to every batch. Buffers of different batches never live together.
  // Buffers with the same id in one region lie together in one area, given to nobody else, that one
  // fill clears.
  int32_t atomic_addr_clean_id = kNoClearing;
  // Why no zero copy is possible here (HCOM, stream switch by index, a subgraph's NetOutput,
  // multi-batch shape data); empty when nothing stands against it. The plan lists it.
  std::string no_zero_copy_reason = {};
};

// `buffer` is a window of `of`, `offset` bytes from its start. It must lie inside it.
struct Alias {
  BufferId buffer = {};
  BufferId of = {};
  Bytes offset = {};
};

// Members lie one behind the other in this order. Padded: each starts at the region's alignment,
// the least possible after the one before. Not padded: each starts where the one before ends.
struct Contiguous {
  std::vector<BufferId> members = {};
  bool padded = false;
  // Whether it may form a large block with groups of other batches (BatchPolicy). Off for pieces of
  // one value, which nobody reads as a group.
  bool merge_batches = true;
};

// Work in order.
struct Stream {
  std::string name = {};
  int64_t steps = 0;  // its steps are 0 to steps - 1, one after the other
};

// Step `from_step` of `from` is over before step `to_step` of `to` begins.
struct Synchronisation {
  StreamId from = {};
  int64_t from_step = 0;
  StreamId to = {};
  int64_t to_step = 0;
};

// All that an assigner is told.
struct Problem {
  std::vector<Region> regions;
  std::vector<Buffer> buffers;
  std::vector<Alias> aliases;
  std::vector<Contiguous> contiguous;
  std::vector<Stream> streams;  // empty: one stream with as many steps as needed
  std::vector<Synchronisation> synchronisations;
  std::vector<std::string> batches;  // the labels; a BatchId is an index here

  RegionId AddRegion(Region region);
  BufferId AddBuffer(Buffer buffer);
  StreamId AddStream(Stream stream);
  BatchId AddBatch(std::string label);

  const Region& region(RegionId id) const { return regions[id.index()]; }
  const Buffer& buffer(BufferId id) const { return buffers[id.index()]; }
};

// Whether every id, size, life and relation of the problem makes sense and none contradicts
// another; the first that does not is named. Near-linear. Assigners call it before anything else.
Status Validate(const Problem& problem);

// As JSON and people read it.
const char* Name(RegionKind kind);
// Likewise.
const char* Name(MemoryType type);

}  // namespace plimsoll::plan
