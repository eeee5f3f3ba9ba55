#pragma once

#include "onnx/contributed/function_writer.h"
#include "plimsoll/base/status.h"

// The functions of contributed operators that have a file of their own; the others, and the table
// of all, are in contributed_functions.cc.
namespace plimsoll::onnx {

// attention_functions.cc
Status WriteAttention(FunctionWriter& f);
Status WriteQAttention(FunctionWriter& f);
Status WriteMultiHeadAttention(FunctionWriter& f);

// channels_last_functions.cc
Status WriteQLinearConv(FunctionWriter& f);
Status WriteNhwcMaxPool(FunctionWriter& f);
Status WriteQLinearAveragePool(FunctionWriter& f);

// early_functions.cc
Status WriteAffine(FunctionWriter& f);
Status WriteScale(FunctionWriter& f);
Status WriteScaledTanh(FunctionWriter& f);
Status WriteParametricSoftplus(FunctionWriter& f);
Status WriteImageScaler(FunctionWriter& f);
Status WriteCrop(FunctionWriter& f);
Status WriteDynamicSlice(FunctionWriter& f);

// decoder_functions.cc
Status WriteBranchwiseRMSNorm(FunctionWriter& f);
Status WriteHyperConnectionPreMix(FunctionWriter& f);
Status WriteHyperConnectionPostMix(FunctionWriter& f);
Status WriteEngramGate(FunctionWriter& f);
Status WriteLinearAttentionGate(FunctionWriter& f);
Status WriteMRotaryEmbedding(FunctionWriter& f);

// other_functions.cc
Status WriteCDist(FunctionWriter& f);
Status WriteExpandDims(FunctionWriter& f);
Status WriteGatherND(FunctionWriter& f);
Status WriteRange(FunctionWriter& f);
Status WritePad(FunctionWriter& f);
Status WriteTrilu(FunctionWriter& f);
Status WriteQLinearWhere(FunctionWriter& f);
Status WriteMatMulInteger16(FunctionWriter& f);
Status WriteUnfoldTensor(FunctionWriter& f);
Status WriteScaledSiLU(FunctionWriter& f);
Status WriteGatedAdd(FunctionWriter& f);
Status WriteGatedRMSNorm(FunctionWriter& f);

}  // namespace plimsoll::onnx
