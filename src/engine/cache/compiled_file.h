#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "engine/cache/cache_entry.h"
#include "engine/weights/file_replacement.h"
#include "engine/weights/weight_hash.h"
#include "graph/graph.h"
#include "plimsoll/base/status.h"

namespace plimsoll::engine {

// Takes entries of the cache as they are made.
class CacheSink {
 public:
  virtual ~CacheSink() = default;
  // `of`: the constant that it was made of; null: of more than that.
  virtual void Keep(const CacheKey& key, std::span<const std::byte> bytes,
                    const WeightHash* of) = 0;
};

// A compiled model as one file, MODEL.plm: the model with its constants, and the entries of the
// disk cache that compiling it made: orders, plans, weights in the forms that kernels read. Bytes
// are mapped, each on pages of its own, so that processes share them.
//
// Nothing in it is trusted. Opening checks the build and the processor that it was compiled for,
// and by checksums the table, the model and its constants; of those that kernels read in another
// form the entry with that form is checked in their place, and they themselves when they are read.
// What was compiled for other shapes or options than a run has is made again. Thread- safe. Errors:
// compiled.kind, compiled.damaged (bad file), compiled.build, compiled.processor.
class CompiledFile {
 public:
  static bool IsOne(const std::string& path);
  static Result<std::shared_ptr<const CompiledFile>> Open(const std::string& path);

  // The model's graph, as its ONNX file gave it. Keeps the mapping alive.
  Result<graph::Graph> ReadGraph() const;
  // --shape of the compilation, for who gives none.
  const std::vector<std::string>& shapes() const { return shapes_; }

  // An entry; null where it has none of that key.
  std::shared_ptr<const std::byte> Map(const CacheKey& key, uint64_t* size) const;
  // What was compiled at these bytes, which are not looked at; nothing where they are not its.
  std::optional<WeightHash> HashAt(std::span<const std::byte> constant) const;
  // That these bytes are what was compiled, where they are its and were not checked when it opened.
  Status CheckConstant(std::span<const std::byte> constant) const;

 private:
  friend class CompiledFileWriter;
  struct Range {
    uint64_t offset = 0;
    uint64_t size = 0;
    WeightHash checksum;
    bool checked_later = false;  // of a constant
  };

  CompiledFile(std::string path, std::shared_ptr<const void> storage,
               std::span<const std::byte> bytes)
      : path_(std::move(path)), storage_(std::move(storage)), bytes_(bytes) {}
  Status ReadTable(std::string_view table);
  Status CheckConstants() const;
  std::span<const std::byte> At(const Range& range) const {
    return bytes_.subspan(range.offset, range.size);
  }
  Error Damaged(std::string why) const;

  const std::string path_;
  const std::shared_ptr<const void> storage_;
  const std::span<const std::byte> bytes_;
  std::vector<std::string> shapes_;
  Range model_;
  Range data_;
  std::map<uint64_t, Range> constants_;  // by offset in the file
  std::map<WeightHash, Range> entries_;
};

// Writes one, in one pass: the entries as they come, then the model. Whole or not at all.
class CompiledFileWriter : public CacheSink {
 public:
  static Result<std::shared_ptr<CompiledFileWriter>> Begin(const std::string& path);

  void Keep(const CacheKey& key, std::span<const std::byte> bytes, const WeightHash* of) override;
  // `model`: the ONNX file that was compiled. Fails also where an entry could not be written.
  Status Finish(const std::string& model, const std::vector<std::string>& shapes);
  size_t entries() const { return entries_.size(); }
  uint64_t size() const { return end_; }

 private:
  using Range = CompiledFile::Range;
  explicit CompiledFileWriter(FileReplacement file) : file_(std::move(file)) {}
  Result<Range> Append(std::span<const std::span<const std::byte>> parts, bool checksum);

  FileReplacement file_;
  uint64_t end_ = 0;  // of what is written
  std::map<WeightHash, Range> entries_;
  std::set<WeightHash> packed_;  // constants of which there is a form
  Status failed_;
};

}  // namespace plimsoll::engine
