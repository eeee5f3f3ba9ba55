#include "onnx/extract/extract_model.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "onnx/extract/data_mover.h"
#include "onnx/extract/type_encoder.h"
#include "onnx/values/type_decoder.h"
#include "onnx/wire/external_files.h"
#include "onnx/wire/mapped_file.h"
#include "onnx/wire/records.h"
#include "onnx/wire/schema.h"
#include "onnx/wire/wire.h"
#include "onnx/wire/wire_writer.h"
#include "plimsoll/base/text.h"

namespace plimsoll::onnx {
namespace {

constexpr std::string_view kExtractWhat = "cannot extract the part";
constexpr std::string_view kVariables = "state";  // metadata that names inputs and outputs
constexpr uint32_t kTrainingInfo = 20;            // of a model: graphs that name its values

class PartFinder {
 public:
  PartFinder(const ModelRecord& model, const ExtractRequest& request)
      : graph_(model.graph), request_(request) {
    for (size_t i = 0; i < graph_.nodes.size(); ++i) {
      for (const std::string_view name : graph_.nodes[i].outputs) {
        if (!name.empty()) makers_.emplace(name, i);
      }
    }
    for (const auto& initializer : graph_.initializers) initializers_.insert(initializer.name);
    for (const ValueInfoRecord& input : graph_.inputs) {
      if (!initializers_.contains(input.name)) model_inputs_.insert(input.name);
    }
  }

  Status Find() {
    for (const std::string& name : request_.from) {
      PLIMSOLL_TRY(CheckName("--from", name));
      cut_.insert(name);
    }
    std::vector<std::string_view> wanted(request_.to.begin(), request_.to.end());
    if (wanted.empty()) {
      for (const ValueInfoRecord& output : graph_.outputs) wanted.push_back(output.name);
    }
    for (const std::string_view name : wanted) {
      PLIMSOLL_TRY(CheckName("--to", name));
      outputs_.emplace_back(name);
    }
    while (!wanted.empty()) {
      const std::string_view name = wanted.back();
      wanted.pop_back();
      if (name.empty() || !values_.insert(name).second || cut_.contains(name)) continue;
      const auto maker = makers_.find(name);
      if (maker == makers_.end() || !nodes_.insert(maker->second).second) continue;
      AppendReads(graph_.nodes[maker->second], wanted);
    }
    for (const std::string& name : request_.from) {
      if (!values_.contains(name)) {
        return Refuse("extract.unused", StrCat("--from ", name),
                      StrCat("nothing of ", Join(outputs_, ", "), " depends on it"),
                      "leave it out, or name later values with --to");
      }
      inputs_.push_back(name);
    }
    for (const ValueInfoRecord& input : graph_.inputs) {
      const bool needed = values_.contains(input.name) && model_inputs_.contains(input.name);
      if (needed && !cut_.contains(input.name)) inputs_.emplace_back(input.name);
    }
    if (!nodes_.empty()) return {};
    return Refuse("extract.empty", Join(outputs_, ", "), "no node makes it out of what is given",
                  "name values further apart");
  }

  bool HasNode(size_t index) const { return nodes_.contains(index); }
  bool NeedsInitializer(std::string_view name) const {
    return values_.contains(name) && !cut_.contains(name);
  }
  // Made inside the part, and neither an input nor an output of it.
  bool IsInside(std::string_view name) const {
    const auto maker = makers_.find(name);
    return maker != makers_.end() && nodes_.contains(maker->second) && !cut_.contains(name) &&
           std::find(outputs_.begin(), outputs_.end(), name) == outputs_.end();
  }
  size_t nodes() const { return nodes_.size(); }
  const std::vector<std::string>& inputs() const { return inputs_; }
  const std::vector<std::string>& outputs() const { return outputs_; }

 private:
  Error Refuse(std::string code, std::string where, std::string why, std::string remedy) const {
    return Error{.kind = ErrorKind::kUsage,
                 .code = std::move(code),
                 .what = std::string(kExtractWhat),
                 .where = std::move(where),
                 .why = std::move(why),
                 .remedy = std::move(remedy)};
  }

  Status CheckName(std::string_view option, std::string_view name) const {
    if (makers_.contains(name) || initializers_.contains(name) || model_inputs_.contains(name)) {
      return {};
    }
    std::vector<std::string> names;
    for (const auto& [known, node] : makers_) names.emplace_back(known);
    for (const std::string_view known : model_inputs_) names.emplace_back(known);
    const auto nearest = NearestName(name, names);
    return Refuse("extract.name", StrCat(option, " ", Printable(name)),
                  "the model's graph has no value of that name",
                  nearest ? StrCat("did you mean '", *nearest, "'?")
                          : "plimsoll inspect MODEL --graph shows the names");
  }

  const GraphRecord& graph_;
  const ExtractRequest& request_;
  std::map<std::string_view, size_t> makers_;
  std::set<std::string_view> initializers_;
  std::set<std::string_view> model_inputs_;
  std::set<std::string_view> cut_;
  std::set<std::string_view> values_;  // that are needed
  std::set<size_t> nodes_;
  std::vector<std::string> inputs_;
  std::vector<std::string> outputs_;
};

class PartWriter {
 public:
  PartWriter(const Source& source, const PartFinder& part, const ExtractRequest& request,
             DataMover& mover)
      : source_(source), part_(part), request_(request), mover_(mover) {}

  Result<std::string> Model(const ModelRecord& model) {
    for (const ValueInfoRecord& input : model.graph.inputs)
      declared_.emplace(input.name, input.type);
    for (const ValueInfoRecord& output : model.graph.outputs) {
      declared_.emplace(output.name, output.type);
    }
    for (const ValueInfoRecord& info : model.graph.value_infos) {
      declared_.emplace(info.name, info.type);
    }
    WireWriter written;
    WireCursor cursor(source_, source_.bytes);
    while (cursor.Next()) {
      if (cursor.number() == schema::model::kGraph) {
        PLIMSOLL_ASSIGN(const std::string graph, Graph(cursor.Bytes(), model.graph));
        written.Bytes(cursor.number(), graph);
      } else if (cursor.number() != kTrainingInfo && !IsVariables(cursor)) {
        written.Field(cursor.field());
      }
    }
    PLIMSOLL_TRY(cursor.status());
    return written.message();
  }

 private:
  bool IsVariables(WireCursor& cursor) const {
    if (cursor.number() != schema::model::kMetadata) return false;
    WireCursor entry(source_, cursor.Bytes());
    while (entry.Next()) {
      if (entry.number() == schema::entry::kKey && entry.Text() == kVariables) return true;
    }
    return false;
  }

  // What the file says of it, where that has a shape.
  std::optional<ByteSpan> Declared(const std::string& name) const {
    const auto declared = declared_.find(name);
    if (declared == declared_.end()) return std::nullopt;
    const Result<graph::ValueType> type = DecodeType(source_, declared->second);
    const bool whole = type.ok() && type->kind != graph::ValueType::Kind::kUnknown &&
                       (!type->is_tensor() || type->shape);
    return whole ? std::optional(declared->second) : std::nullopt;
  }

  std::string Declaration(const std::string& name) const {
    WireWriter written;
    written.Bytes(schema::value_info::kName, name);
    if (const auto type = Declared(name)) {
      written.Bytes(schema::value_info::kType,
                    {reinterpret_cast<const char*>(type->data()), type->size()});
    } else {
      written.Bytes(schema::value_info::kType, EncodeType(request_.type_of(name)));
    }
    return written.message();
  }

  // Initializers are listed among the inputs of old files.
  bool IsListedInitializer(ByteSpan info, const GraphRecord& graph) const {
    const std::string_view name = NameOf(info, schema::value_info::kName);
    return part_.NeedsInitializer(name) &&
           std::any_of(graph.initializers.begin(), graph.initializers.end(),
                       [&](const auto& initializer) { return initializer.name == name; });
  }

  std::string_view NameOf(ByteSpan message, uint32_t field) const {
    std::string_view name;
    WireCursor cursor(source_, message);
    while (cursor.Next()) {
      if (cursor.number() == field) name = cursor.Blob();
    }
    return name;
  }

  Result<std::string> Graph(ByteSpan message, const GraphRecord& record) {
    WireWriter written;
    size_t node = 0;
    WireCursor cursor(source_, message);
    while (cursor.Next()) {
      const uint32_t field = cursor.number();
      if (field == schema::graph::kNode) {
        if (!part_.HasNode(node++)) continue;
        PLIMSOLL_ASSIGN(const std::string copy, mover_.Node(cursor.Bytes()));
        written.Bytes(field, copy);
      } else if (field == schema::graph::kInitializer) {
        if (!part_.NeedsInitializer(NameOf(cursor.Bytes(), schema::tensor::kName))) continue;
        PLIMSOLL_ASSIGN(const std::string copy, mover_.Tensor(cursor.Bytes()));
        written.Bytes(field, copy);
      } else if (field == schema::graph::kInput) {
        if (IsListedInitializer(cursor.Bytes(), record)) written.Field(cursor.field());
      } else if (field == schema::graph::kValueInfo) {
        const std::string_view name = NameOf(cursor.Bytes(), schema::value_info::kName);
        if (part_.IsInside(name)) written.Field(cursor.field());
      } else if (field != schema::graph::kOutput) {
        written.Field(cursor.field());
      }
    }
    PLIMSOLL_TRY(cursor.status());
    for (const std::string& name : part_.inputs()) {
      written.Bytes(schema::graph::kInput, Declaration(name));
    }
    for (const std::string& name : part_.outputs()) {
      written.Bytes(schema::graph::kOutput, Declaration(name));
    }
    return written.message();
  }

  const Source& source_;
  const PartFinder& part_;
  const ExtractRequest& request_;
  DataMover& mover_;
  std::map<std::string_view, ByteSpan> declared_;
};

}  // namespace

Result<ExtractedModel> ExtractModel(const std::filesystem::path& file,
                                    const ExtractRequest& request) {
  PLIMSOLL_ASSIGN(const auto mapped, MappedFile::Open(file));
  std::filesystem::path folder = file.parent_path();
  if (folder.empty()) folder = ".";
  const Source source{file.string(), std::string(kExtractWhat), mapped->bytes(), mapped};
  const auto files = std::make_shared<ExternalFiles>(source, folder);
  Budget budget(source);
  PLIMSOLL_ASSIGN(const ModelRecord model, ParseModel(source, *files, budget));
  PartFinder part(model, request);
  PLIMSOLL_TRY(part.Find());
  DataMover mover(source, *files, request.data_name);
  ExtractedModel extracted;
  PLIMSOLL_ASSIGN(extracted.model, PartWriter(source, part, request, mover).Model(model));
  extracted.data = mover.data();
  extracted.storage = files;
  extracted.nodes = part.nodes();
  extracted.nodes_before = model.graph.nodes.size();
  extracted.inputs = part.inputs();
  extracted.outputs = part.outputs();
  return extracted;
}

}  // namespace plimsoll::onnx
