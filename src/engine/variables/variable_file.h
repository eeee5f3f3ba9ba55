#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "engine/variables/variables.h"
#include "plimsoll/base/status.h"

namespace plimsoll::engine {

// A file of variables, version 1, little-endian, every number at a multiple of its size:
//
//   head, 48 bytes   "PLIMSOLV", u32 version, u32 variables, u64 steps, u64 bytes of the table,
//                    u64 bytes of the file, u64 XXH3 of the head up to here and the table
//   table, a row a   u32 bytes of the name, u32 ONNX type, u32 rank, u32 zero, i64 dimensions,
//   variable         u64 place, u64 bytes, u64 XXH3 of the elements, the name, zeros to 8
//   elements         of each variable at its place, a multiple of 64

// Gives bytes of a variable from an offset on.
using ReadVariable =
    std::function<Status(const Variable& variable, Bytes offset, std::span<std::byte> into)>;

// Replaces the file in one move once everything is on the disk (file_replacement.h). Memory for one
// megabyte and the table; one pass over the variables.
Status WriteVariableFile(const std::string& path, int64_t steps,
                         const std::vector<const Variable*>& variables, const ReadVariable& read);

// An open file whose head and table have been checked. Anything that does not add up is refused
// (variables.file, kBadFile), whoever wrote it.
class VariableFile {
 public:
  static Result<VariableFile> Open(const std::string& path);
  VariableFile(VariableFile&& other) noexcept;
  VariableFile& operator=(VariableFile&&) = delete;
  ~VariableFile();

  int64_t steps() const { return steps_; }

  // That these variables, and no others, are in it with their types and shapes; those that grow,
  // with sizes that they have room for.
  Status CheckHolds(const std::vector<const Variable*>& variables) const;
  const kernels::Dims& DimsOf(const std::string& name) const { return Find(name)->dims; }
  // That all elements are as they were written. Reads them once.
  Status CheckContents() const;
  // Gives the elements in pieces, variable by variable. Fails where they are no longer what
  // CheckContents saw; some have been given then.
  using TakeBytes =
      std::function<Status(const Variable& variable, Bytes offset, std::span<const std::byte>)>;
  Status Read(const std::vector<const Variable*>& variables, const TakeBytes& take) const;

 private:
  struct Row {
    std::string name;
    graph::DataType type = graph::DataType::kUndefined;
    kernels::Dims dims;
    uint64_t place = 0;
    uint64_t size = 0;
    uint64_t checksum = 0;
  };
  class TableReader;

  VariableFile(std::string path, int file) : path_(std::move(path)), file_(file) {}
  Status ReadTable();
  Status ReadAt(uint64_t place, std::span<std::byte> into) const;
  // Passes a row's elements on in pieces, and compares what they hash to.
  Status ForEachPiece(const Row& row,
                      const std::function<Status(Bytes, std::span<const std::byte>)>& visit) const;
  Error Bad(std::string why) const;
  const Row* Find(const std::string& name) const;

  std::string path_;
  int file_ = -1;
  uint64_t file_size_ = 0;
  int64_t steps_ = 0;
  std::vector<Row> rows_;  // by name
};

}  // namespace plimsoll::engine
