#include "cli/inputs/model_file.h"

#include "onnx/model_reader.h"

namespace plimsoll::cli {

Result<ModelFile> ReadModelFile(const std::string& path) {
  ModelFile file;
  if (engine::CompiledFile::IsOne(path)) {
    PLIMSOLL_ASSIGN(file.compiled, engine::CompiledFile::Open(path));
    PLIMSOLL_ASSIGN(file.graph, file.compiled->ReadGraph());
  } else {
    PLIMSOLL_ASSIGN(file.graph, onnx::ReadModel(path));
  }
  return file;
}

}  // namespace plimsoll::cli
