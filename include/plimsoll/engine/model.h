#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "plimsoll/base/bytes.h"
#include "plimsoll/base/status.h"
#include "plimsoll/base/tensor.h"
#include "plimsoll/graph/dim.h"

namespace plimsoll {

using graph::Dim;  // a number, or an expression in symbols such as `2*seq`

// An input or an output of a model.
struct PortInfo {
  std::string name;
  ValueKind kind = ValueKind::kUnknown;
  DataType type = DataType::kUndefined;  // of a tensor
  // Of a tensor; nothing where even its rank is unknown. Symbols stand where the size is the
  // caller's choice.
  std::optional<std::vector<Dim>> shape;
  std::string text;   // the whole type: "float32[batch,3,224,224]", "seq(int64[?])"
  std::string batch;  // of an output: the batch that makes it; empty: every run does
};

// What is written in a model's file, without its weights' elements.
struct ModelInfo {
  std::vector<PortInfo> inputs;
  std::vector<PortInfo> outputs;
  std::vector<std::string> symbols;      // in the inputs' shapes: sizes that the caller chooses
  size_t nodes = 0;                      // bodies of loops and branches included
  std::map<std::string, int> operators;  // how many nodes there are of each
  std::vector<std::string> unsupported;  // operators that have no kernel; a run would refuse them
  size_t weights = 0;                    // tensors
  Bytes weight_bytes;
  std::vector<std::string> missing_files;  // of external weights; a run needs them
  std::map<std::string, int> opsets;       // by domain; "" is the ONNX standard
  std::map<std::string, std::string> metadata;
  int ir_version = 0;
  std::string producer;  // "pytorch 2.11"
};

// A model that was read: the file is mapped and its weights are not copied, so that opening costs
// what the nodes cost. Copies share it. Immutable, so any number of threads may use one.
//
//   PLIMSOLL_ASSIGN(const Model model, Model::Open("resnet50.onnx"));
//   for (const PortInfo& input : model.info().inputs) std::cout << input.name << input.text;
class Model {
 public:
  // Opens an ONNX file. Fails with kind kBadFile where it is broken or missing, with kUnsupported
  // where its version or a construct is not known. The file must stay as it is while a model or a
  // session uses it.
  static Result<Model> Open(const std::string& path);
  // The same over bytes that `owner` keeps alive (null: the caller keeps them alive for longer than
  // the model and every session that has it). External weights are looked up in `folder`; where
  // that is empty, they are missing.
  static Result<Model> FromBytes(std::span<const std::byte> bytes,
                                 std::shared_ptr<const void> owner = nullptr,
                                 const std::string& folder = "");

  const ModelInfo& info() const;

 private:
  friend class Session;
  struct Parts;
  explicit Model(std::shared_ptr<const Parts> parts) : parts_(std::move(parts)) {}

  std::shared_ptr<const Parts> parts_;
};

}  // namespace plimsoll
