#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "onnx/extract/data_mover.h"
#include "plimsoll/base/status.h"

namespace plimsoll::onnx {

// A model whose large constants lie in one file of data, also those that the model itself held.
struct MovedModel {
  std::string model;           // a ModelProto
  std::vector<ByteSpan> data;  // of the file, in order
  std::vector<DataMover::Moved> constants;
  int64_t size = 0;                     // of the data
  std::shared_ptr<const void> storage;  // keeps `data` and `constants` valid
};
Result<MovedModel> MoveData(const std::filesystem::path& file, const std::string& data_name);

}  // namespace plimsoll::onnx
