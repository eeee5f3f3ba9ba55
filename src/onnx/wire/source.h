#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "plimsoll/base/bytes.h"
#include "plimsoll/base/status.h"

namespace plimsoll::onnx {

using ByteSpan = std::span<const std::byte>;

// The file that is being read: where its errors point to, and what keeps its bytes alive.
struct Source {
  std::string file;                     // as the caller named it
  std::string what;                     // "cannot read the model"
  ByteSpan bytes;                       // all of it
  std::shared_ptr<const void> storage;  // keeps `bytes` valid

  // "model.onnx: byte 117".
  std::string At(const std::byte* place) const;
  // "model.onnx: graph.node[3] 'conv1' (Conv)".
  std::string At(std::string_view place) const;

  Error BadFile(std::string code, std::string where, std::string why,
                std::string remedy = "") const;
  Error Unsupported(std::string code, std::string where, std::string why,
                    std::string remedy = "") const;
};

// A name out of a file as an error shows it: cut when long, control characters and bytes that are
// no ASCII text written as \x1b.
std::string Printable(std::string_view name);
std::string Quote(std::string_view name);  // the same in quotes

// What a file may cost before it counts as hostile. The largest real models stay far below.
inline constexpr int kMaxNesting = 64;  // bodies in bodies, calls in calls
inline constexpr int kMaxTypeNesting = 16;
inline constexpr size_t kMaxRank = 64;
inline constexpr size_t kMaxAttributes = 256;  // of one node
inline constexpr int64_t kMaxNodes = 10'000'000;
// Records and tables, without the weights: so much, or as much as a long file may need.
inline constexpr Bytes kMaxTables = MiB(512);
inline constexpr int64_t kMaxTablesAByte = 128;  // of the file
inline constexpr Bytes kMaxTablesOfAny = GiB(16);

// Counts what reading makes out of a file, so that a few hostile bytes (a function that calls
// another twice, which calls another twice ...) cannot turn into gigabytes.
class Budget {
 public:
  explicit Budget(const Source& source);
  Status Spend(size_t bytes);

 private:
  const Source& source_;
  const Bytes most_;
  Bytes spent_;
};

}  // namespace plimsoll::onnx
