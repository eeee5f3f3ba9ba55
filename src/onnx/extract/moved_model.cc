#include "onnx/extract/moved_model.h"

#include "onnx/wire/external_files.h"
#include "onnx/wire/mapped_file.h"

namespace plimsoll::onnx {
namespace {

// The mapping of the model and of the files next to it.
struct ModelFiles {
  std::shared_ptr<const MappedFile> model;
  ExternalFiles next_to_it;
};

}  // namespace

Result<MovedModel> MoveData(const std::filesystem::path& file, const std::string& data_name) {
  constexpr size_t kLeastMoved = 4096;
  PLIMSOLL_ASSIGN(const auto mapped, MappedFile::Open(file));
  const Source source{file.string(), "cannot read the model", mapped->bytes(), mapped};
  const auto files =
      std::make_shared<ModelFiles>(ModelFiles{mapped, ExternalFiles::NextTo(source, file)});
  DataMover mover(source, files->next_to_it, data_name);
  mover.MoveHeld(kLeastMoved);
  MovedModel moved;
  PLIMSOLL_ASSIGN(moved.model, mover.Model(mapped->bytes()));
  moved.data = mover.data();
  moved.constants = mover.moved();
  moved.size = mover.size();
  moved.storage = files;
  return moved;
}

}  // namespace plimsoll::onnx
