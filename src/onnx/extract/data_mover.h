#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "onnx/wire/external_files.h"
#include "onnx/wire/source.h"
#include "plimsoll/base/status.h"

namespace plimsoll::onnx {

// Copies messages of a model so that what they keep in files next to it lies in one new file.
// Everything else stays byte for byte.
class DataMover {
 public:
  // `name`: what the new file will be called.
  DataMover(const Source& source, ExternalFiles& files, std::string name)
      : source_(source), files_(files), name_(std::move(name)) {}

  // Tensors that the model itself holds move too, from so many bytes on.
  void MoveHeld(size_t least) { least_held_ = least; }

  Result<std::string> Model(ByteSpan message);
  Result<std::string> Tensor(ByteSpan message);
  Result<std::string> Node(ByteSpan message);

  // What the new file holds, in order; views on the old ones, and the padding between.
  const std::vector<ByteSpan>& data() const { return data_; }
  int64_t size() const { return size_; }
  struct Moved {
    int64_t offset = 0;
    ByteSpan bytes;
  };
  const std::vector<Moved>& moved() const { return moved_; }

 private:
  Result<std::string> Graph(ByteSpan message, int depth);
  Result<std::string> Node(ByteSpan message, int depth);
  Result<std::string> Attribute(ByteSpan message, int depth);
  void Append(ByteSpan bytes);

  const Source& source_;
  ExternalFiles& files_;
  const std::string name_;
  std::vector<ByteSpan> data_;
  std::vector<Moved> moved_;
  size_t least_held_ = std::numeric_limits<size_t>::max();
  int64_t size_ = 0;
};

}  // namespace plimsoll::onnx
