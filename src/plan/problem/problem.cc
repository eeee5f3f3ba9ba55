#include "plimsoll/plan/problem.h"

#include <utility>

namespace plimsoll::plan {
namespace {

template <typename RowId, typename Row>
RowId Append(std::vector<Row>& table, Row row) {
  table.push_back(std::move(row));
  return RowId(table.size() - 1);
}

}  // namespace

RegionId Problem::AddRegion(Region region) { return Append<RegionId>(regions, std::move(region)); }
BufferId Problem::AddBuffer(Buffer buffer) { return Append<BufferId>(buffers, std::move(buffer)); }
StreamId Problem::AddStream(Stream stream) { return Append<StreamId>(streams, std::move(stream)); }
BatchId Problem::AddBatch(std::string label) { return Append<BatchId>(batches, std::move(label)); }

const char* Name(RegionKind kind) {
  switch (kind) {
    case RegionKind::kFeatureMap:
      return "feature_map";
    case RegionKind::kZeroCopy:
      return "zero_copy";
    case RegionKind::kWeights:
      return "weights";
    case RegionKind::kVariables:
      return "variables";
    case RegionKind::kP2p:
      return "p2p";
    case RegionKind::kWorkspace:
      return "workspace";
  }
  return "unknown";
}

const char* Name(MemoryType type) {
  switch (type) {
    case MemoryType::kDevice:
      return "device";
    case MemoryType::kP2pDdr:
      return "p2p_ddr";
    case MemoryType::kHost:
      return "host";
  }
  return "unknown";
}

}  // namespace plimsoll::plan
