#include "onnx/model_reader.h"

#include <array>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "base/mapped_pages.h"
#include "onnx/contributed/channel_blocks.h"
#include "onnx/function_table.h"
#include "onnx/graph_assembler.h"
#include "onnx/opset_table.h"
#include "onnx/wire/external_files.h"
#include "onnx/wire/mapped_file.h"
#include "onnx/wire/records.h"
#include "onnx/wire/source.h"
#include "plimsoll/base/text.h"

namespace plimsoll::onnx {
namespace {

// Files that people take for models, by how they begin.
struct Lookalike {
  size_t offset;
  std::string_view begins;
  std::string_view is;
  std::string_view remedy;
};

constexpr std::array<Lookalike, 9> kLookalikes = {{
    {0, "PLIMPLM", "a compiled model", "plimsoll run and bench take it; here give the .onnx file"},
    {0, "version https://git-lfs", "a Git LFS pointer, not the file itself", "run git lfs pull"},
    {0, "PK\x03\x04", "a zip archive, such as a PyTorch checkpoint", "export it to ONNX"},
    {0, "\x80\x02", "a pickle, such as an old PyTorch checkpoint", "export it to ONNX"},
    {0, "\x89HDF", "an HDF5 file, such as a Keras model", "convert it to ONNX"},
    {4, "TFL3", "a TensorFlow Lite model", "convert it to ONNX"},
    {4, "ORTM", "a model in ONNX Runtime's own format", "use the .onnx file that it came from"},
    {0, "\x1f\x8b", "compressed with gzip", "unpack it first"},
    {0, "<", "a text, such as an error page", "download it again"},
}};

Status CheckKind(const Source& source) {
  const std::string_view head(reinterpret_cast<const char*>(source.bytes.data()),
                              source.bytes.size());
  if (head.empty()) {
    return source.BadFile("onnx.empty", source.file, "it is empty", "get the file again");
  }
  for (const Lookalike& lookalike : kLookalikes) {
    if (head.size() < lookalike.offset) continue;
    if (!head.substr(lookalike.offset).starts_with(lookalike.begins)) continue;
    return source.BadFile("onnx.not_a_model", source.file, StrCat("it is ", lookalike.is),
                          std::string(lookalike.remedy));
  }
  return {};
}

Status CheckVersion(const Source& source, const ModelRecord& model) {
  if (model.ir_version == 0 || !model.has_graph) {
    return source.BadFile("onnx.not_a_model", source.file,
                          model.has_graph ? "it does not say its IR version" : "it has no graph",
                          "an ONNX model has both");
  }
  if (model.ir_version >= kOldestIrVersion && model.ir_version <= kNewestIrVersion) return {};
  return source.Unsupported("onnx.ir_version", source.file,
                            StrCat("it has IR version ", model.ir_version, "; this build reads ",
                                   kOldestIrVersion, " to ", kNewestIrVersion),
                            "save it with another version of onnx");
}

Result<graph::Graph> Read(const Source& source, ExternalFiles& files) {
  PLIMSOLL_TRY(CheckKind(source));
  Budget budget(source);
  PLIMSOLL_ASSIGN(const ModelRecord model, ParseModel(source, files, budget));
  PLIMSOLL_TRY(CheckVersion(source, model));
  PLIMSOLL_ASSIGN(const OpsetTable opsets, OpsetTable::Make(source, model.opsets));
  PLIMSOLL_ASSIGN(const FunctionTable functions, FunctionTable::Make(source, model, opsets));
  PLIMSOLL_ASSIGN(const ChannelBlocks blocks, ChannelBlocks::Find(source, model));
  return GraphAssembler(source, model, opsets, functions, blocks, budget).Assemble();
}

// Read where they lie, a few numbers would each keep pages of the file in memory: 4 KiB to 2 MiB,
// as the system brings them in.
void CopySmallConstants(graph::Graph& graph) {
  constexpr size_t kSmall = size_t{16} << 10;
  for (graph::ConstantTensor& constant : graph.constants) {
    const ByteSpan bytes = constant.bytes;
    if (bytes.empty() || bytes.size() > kSmall || constant.missing) continue;
    auto owned = std::make_shared<std::vector<std::byte>>(bytes.begin(), bytes.end());
    constant.bytes = *owned;
    constant.storage = std::move(owned);
  }
}

// What is needed comes back from the file.
void DropPages(std::vector<ByteSpan> files) {
  constexpr size_t kWorthDropping = size_t{1} << 20;
  std::erase_if(files, [](ByteSpan bytes) { return bytes.size() < kWorthDropping; });
  if (!files.empty()) DropMappedPages(files);
}

constexpr std::string_view kWhat = "cannot read the model";

}  // namespace

Result<graph::Graph> ReadModel(const std::filesystem::path& file) {
  PLIMSOLL_ASSIGN(const auto mapped, MappedFile::Open(file));
  const Source source{file.string(), std::string(kWhat), mapped->bytes(), mapped};
  ExternalFiles files = ExternalFiles::NextTo(source, file);
  PLIMSOLL_ASSIGN(graph::Graph graph, Read(source, files));
  CopySmallConstants(graph);
  std::vector<ByteSpan> read = files.mapped();
  read.push_back(source.bytes);
  DropPages(std::move(read));
  return graph;
}

Result<graph::Graph> ReadModelBytes(ByteSpan bytes, std::shared_ptr<const void> storage,
                                    const std::filesystem::path& folder) {
  const Source source{"model in memory", std::string(kWhat), bytes, std::move(storage)};
  ExternalFiles files(source, folder);
  return Read(source, files);
}

Result<graph::Graph> ReadModelWithData(ByteSpan bytes, ByteSpan data, const std::string& data_name,
                                       std::shared_ptr<const void> storage) {
  const Source source{"model in memory", std::string(kWhat), bytes, storage};
  ExternalFiles files(source, "");
  files.Give(data_name, MappedFile::View(data, std::move(storage)));
  return Read(source, files);
}

}  // namespace plimsoll::onnx
