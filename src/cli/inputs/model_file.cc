#include "cli/inputs/model_file.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <vector>

#include "onnx/model_reader.h"
#include "plimsoll/base/text.h"

namespace plimsoll::cli {
namespace {

Error CannotReadInput() {
  return Error{ErrorKind::kBadFile, "file.read",          "cannot read the model",
               "standard input",    std::strerror(errno), "name a file"};
}

// A pipe can neither be mapped nor read twice; a file in memory can.
Result<std::string> CopyOfStandardInput() {
  const int file = memfd_create("standard input", MFD_CLOEXEC);
  if (file < 0) return CannotReadInput();
  std::vector<char> piece(size_t{1} << 16);
  for (;;) {
    const ssize_t read_now = read(STDIN_FILENO, piece.data(), piece.size());
    if (read_now == 0) return StrCat("/proc/self/fd/", file);
    if (read_now < 0) return CannotReadInput();
    for (ssize_t written = 0; written < read_now;) {
      const ssize_t more = write(file, piece.data() + written, size_t(read_now - written));
      if (more < 0) return CannotReadInput();
      written += more;
    }
  }
}

}  // namespace

Result<std::string> FileOfModel(const std::string& name) {
  if (name != "-") return name;
  static const Result<std::string> copy = CopyOfStandardInput();
  return copy;
}

Result<graph::Graph> ReadModelGraph(const std::string& name) {
  PLIMSOLL_ASSIGN(const std::string path, FileOfModel(name));
  auto graph = onnx::ReadModel(path);
  if (graph.ok() || name != "-") return graph;
  Error error = graph.error();
  const size_t at = error.where.find(path);
  if (at != std::string::npos) error.where.replace(at, path.size(), "standard input");
  return error;
}

Result<ModelFile> ReadModelFile(const std::string& name) {
  ModelFile file;
  PLIMSOLL_ASSIGN(const std::string path, FileOfModel(name));
  if (engine::CompiledFile::IsOne(path)) {
    PLIMSOLL_ASSIGN(file.compiled, engine::CompiledFile::Open(path));
    PLIMSOLL_ASSIGN(file.graph, file.compiled->ReadGraph());
  } else {
    PLIMSOLL_ASSIGN(file.graph, ReadModelGraph(name));
  }
  return file;
}

}  // namespace plimsoll::cli
