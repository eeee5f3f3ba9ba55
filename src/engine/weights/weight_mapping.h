#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "engine/weights/weight_folder.h"
#include "engine/weights/weight_hash.h"
#include "plimsoll/base/status.h"

namespace plimsoll::engine {

// The bytes of one weight file, mapped read-only for as long as the object lives, whether or not
// the file still has a name. Costs no memory until it is read. Immutable, so thread-safe.
class WeightMapping {
 public:
  // Writes `bytes` as weight_<hash> into the folder and maps them. The file has its name only when
  // all of it has been written; on failure nothing of it is left. Pages of a mapped file that
  // `bytes` come from are given back on the way. Fails with
  //   weights.disk_full   no space, quota or allowed size is left;
  //   weights.name_taken  somebody else put a file of that name there;
  //   weights.map         the system maps no more files into this process;
  //   weights.write       whatever else the system says.
  static Result<std::shared_ptr<const WeightMapping>> Write(const WeightFolder& folder,
                                                            const WeightHash& hash,
                                                            std::span<const std::byte> bytes);

  // Gives the file that `folder` has of this weight another name in `other`. False where the file
  // system refuses, or the file there is not this one any more.
  bool Link(const WeightFolder& folder, const WeightFolder& other, const WeightHash& hash) const;

  ~WeightMapping();
  WeightMapping(const WeightMapping&) = delete;
  WeightMapping& operator=(const WeightMapping&) = delete;

  std::span<const std::byte> bytes() const { return bytes_; }

 private:
  explicit WeightMapping(std::span<const std::byte> bytes) : bytes_(bytes) {}

  std::span<const std::byte> bytes_;
  dev_t file_system_ = 0;
  ino_t file_ = 0;
};

}  // namespace plimsoll::engine
