#include <filesystem>
#include <memory>

#include "cli/commands/options.h"
#include "cli/inputs/model_file.h"
#include "cli/inputs/output_file.h"
#include "cli/inputs/text_file.h"
#include "cli/program.h"
#include "cli/reports/text_table.h"
#include "compile/shapes/shapes.h"
#include "onnx/extract/extract_model.h"
#include "onnx/model_reader.h"
#include "plimsoll/base/text.h"

namespace plimsoll::cli {
namespace {

struct ExtractArguments {
  std::string model;
  std::vector<std::string> from;
  std::vector<std::string> to;
  std::string output;
  bool json = false;
};

constexpr const char* kExtractExamples = R"(
Examples:
  plimsoll extract model.onnx --from hidden --to logits -o head.onnx
  plimsoll extract model.onnx --to relu_3 -o trunk.onnx     from the model's inputs to a value
  plimsoll inspect model.onnx --graph                       the names of values

Nodes, initializers, functions and bodies are taken as the file has them; the
types of new inputs and outputs are the file's, or else inferred. Weights that
the model keeps in files next to it go to one file next to the new model,
OUTPUT.data.)";

Json ExtractJson(const ExtractArguments& options, const onnx::ExtractedModel& part) {
  Json model{{"file", options.output},     {"source", options.model},
             {"nodes", part.nodes},        {"nodes_before", part.nodes_before},
             {"input_names", part.inputs}, {"output_names", part.outputs}};
  return {{"models", Json::array({std::move(model)})}};
}

std::string ExtractText(const ExtractArguments& options, const onnx::ExtractedModel& part) {
  return StrCat(options.output, ": ", part.nodes, " of ", Counted(part.nodes_before, "node"),
                "\n  inputs   ", Join(part.inputs, ", "), "\n  outputs  ", Join(part.outputs, ", "),
                "\n");
}

Status WriteData(const std::string& path, const std::vector<onnx::ByteSpan>& data) {
  std::vector<std::string_view> parts;
  for (const onnx::ByteSpan part : data) {
    parts.emplace_back(reinterpret_cast<const char*>(part.data()), part.size());
  }
  return WriteFile(path, parts);
}

Status Extract(const ExtractArguments& options, Answer& answer) {
  PLIMSOLL_TRY(answer.WillWrite({options.output}));
  PLIMSOLL_ASSIGN(graph::Graph graph, ReadModelGraph(options.model));
  PLIMSOLL_TRY(compile::InferShapes(graph));
  const std::string data = options.output + ".data";
  onnx::ExtractRequest request;
  request.from = options.from;
  request.to = options.to;
  request.data_name = std::filesystem::path(data).filename().string();
  request.type_of = [&](const std::string& name) {
    for (const graph::Value& value : graph.values) {
      if (value.home == graph::Graph::kRoot && value.name == name) return value.type;
    }
    return graph::ValueType();
  };
  PLIMSOLL_ASSIGN(const std::string file, FileOfModel(options.model));
  PLIMSOLL_ASSIGN(const onnx::ExtractedModel part, onnx::ExtractModel(file, request));
  const bool to_output = options.output == "-";
  if (to_output && !part.data.empty()) {
    return Error{.kind = ErrorKind::kUsage,
                 .code = "extract.data",
                 .what = "cannot write the part",
                 .where = "standard output",
                 .why = "the model keeps weights in files next to it, and so does the part",
                 .remedy = "name a file with -o"};
  }
  std::error_code failed;
  if (std::filesystem::equivalent(options.model, options.output, failed)) {
    return Error{.kind = ErrorKind::kUsage,
                 .code = "extract.output",
                 .what = "cannot write the part",
                 .where = StrCat("-o ", options.output),
                 .why = "it is the model itself",
                 .remedy = "name another file"};
  }
  if (!part.data.empty()) PLIMSOLL_TRY(WriteData(data, part.data));
  PLIMSOLL_TRY(WriteTextFile(options.output, part.model));
  if (to_output) return {};
  answer.Give([&] { return ExtractJson(options, part); },
              [&] { return ExtractText(options, part); });
  return {};
}

}  // namespace

void AddExtract(CLI::App& program, Action& action) {
  auto options = std::make_shared<ExtractArguments>();
  CommandOptions command(program, "extract", "Cut a part out of a model, as a model",
                         kExtractExamples);
  command.Required("model", options->model, "An ONNX file; -: standard input");
  command.Repeated("--from", options->from,
                   "A value that becomes an input; repeatable (default: the model's inputs)");
  command.Repeated("--to", options->to,
                   "A value that becomes an output; repeatable (default: the model's outputs)");
  command.Required("-o,--output", options->output, "The ONNX file of the part");
  command.Json(options->json);
  WhenChosen(command, action, [options](Answer& answer) { return Extract(*options, answer); });
}

}  // namespace plimsoll::cli
