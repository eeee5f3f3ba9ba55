#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "graph/graph.h"
#include "graph/tensor.h"

namespace plimsoll::compile {

// Keys are bytes that are equal exactly when what they stand for is: numbers have one length, and
// every text or list carries its own.
void AppendNumber(std::string& key, uint64_t number);
void AppendText(std::string& key, std::string_view text);
void AppendBytes(std::string& key, const void* data, size_t size);

// Comparing larger tensors costs more than their repetition does.
inline constexpr int64_t kComparedBytes = 1024;

// Type, dimensions and elements; false where these are too many, or missing.
bool AppendTensor(std::string& key, const graph::ConstantTensor& tensor);

// Operator and attributes of a node; false where two nodes cannot be seen to share them: bodies,
// lists of tensors.
bool AppendOperator(std::string& key, const graph::Node& node);

}  // namespace plimsoll::compile
