#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>

#include "graph/graph.h"
#include "plimsoll/base/status.h"

namespace plimsoll::onnx {

// Reads an ONNX model: IR versions 3 to 14, operator sets 7 to 28, model-local functions inlined.
//
// The file and its external data files are mapped, and constants of more than 16 KiB are views on
// them: weights are not copied, and of their elements only those of constants small enough for
// shape arithmetic are looked at, so the cost follows the number of nodes, not of bytes. The graph
// keeps the mappings alive through ConstantTensor::storage. Of the types, those of the model's
// inputs and of constants are set; what the file declares goes to Value::declared, the rest is left
// to shape inference. Operators that no row knows stay as opaque nodes.
//
// Values keep the names of the file; two bodies side by side may use the same ones.
// Initializers that are also inputs are constants and no longer inputs. An external file that is
// not there marks its tensors `missing`; one that lies outside the model's folder is refused.
//
// A broken or hostile file gives kBadFile with its place and reason, an IR version, operator set or
// construct that this build does not know gives kUnsupported; neither crashes or hangs, and nodes,
// values and attributes take no more than Budget allows (onnx/wire/source.h). Thread-safe.
Result<graph::Graph> ReadModel(const std::filesystem::path& file);

// The same over bytes that `storage` keeps alive (null: the caller keeps them alive longer than the
// graph). External data is looked up in `folder`; where that is empty, all of it is missing.
Result<graph::Graph> ReadModelBytes(std::span<const std::byte> bytes,
                                    std::shared_ptr<const void> storage,
                                    const std::filesystem::path& folder);

// The same where external data lies in memory too: `data` is what the location `data_name` means.
Result<graph::Graph> ReadModelWithData(std::span<const std::byte> bytes,
                                       std::span<const std::byte> data,
                                       const std::string& data_name,
                                       std::shared_ptr<const void> storage);

}  // namespace plimsoll::onnx
