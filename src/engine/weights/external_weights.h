#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include "engine/weights/weight_hash.h"
#include "graph/graph.h"
#include "plimsoll/base/status.h"

namespace plimsoll::engine {

class WeightLease;
struct SharedWeightFolder;

// The constants of a session's graphs as files (external_weight): each is weight_<hash> in
// tmp_weight_<pid>_<session> below the work path, mapped read-only, one file and one mapping for
// all graphs that have those bytes. Sessions of a process share the mapping too; their files are
// links to one where the file system allows it, else copies.
//
// A weight is held by leases, one per graph. A file goes with the last lease that holds it, the
// folder with its last file. When somebody removes the folder, graphs keep their mappings and the
// next weight is written to a new folder.
//
// Thread-safe. Hashing is done side by side; writing, and giving back, one at a time in a process.
class ExternalWeights {
 public:
  // An empty path is the current folder. The number is the session's in this process.
  ExternalWeights(std::filesystem::path work_path, uint64_t session)
      : work_path_(std::move(work_path)), session_(session) {}

  // Puts every constant of the graph, and the tensors of its Constant nodes, into files, and makes
  // the graph view those; what held the bytes before is let go. Costs one read of each, and one
  // write or one comparison. Fails as WeightFolder::Make and WeightMapping::Write do, and with
  // weights.clash when two weights have one hash; what was put before stays in the lease.
  Status Hold(graph::Graph& graph, WeightLease& lease);

 private:
  Status HoldTensor(graph::ConstantTensor& tensor, WeightLease& lease);
  Result<std::shared_ptr<SharedWeightFolder>> Folder();

  const std::filesystem::path work_path_;
  const uint64_t session_;
  std::weak_ptr<SharedWeightFolder> folder_;
};

// What one graph holds of a session's weight files, until the lease dies. One thread at a time.
class WeightLease {
 public:
  WeightLease() = default;
  ~WeightLease();
  WeightLease(const WeightLease&) = delete;
  WeightLease& operator=(const WeightLease&) = delete;

  // The hash of the weight that these bytes are the mapping of; none when the lease has no such
  // one.
  std::optional<WeightHash> HashAt(std::span<const std::byte> bytes) const;
  // Whether these bytes lie inside one of its mappings.
  bool Contains(std::span<const std::byte> bytes) const;

 private:
  friend class ExternalWeights;
  std::map<WeightHash, std::shared_ptr<SharedWeightFolder>> files_;
  // By where the mapping begins and ends.
  std::map<std::pair<const std::byte*, const std::byte*>, WeightHash> mapped_;
};

}  // namespace plimsoll::engine
