#pragma once

#include <span>
#include <vector>

#include "kernels/kernel_table.h"

// The tables that make up the CPU's catalogue of kernels, one file per family.
namespace plimsoll::kernels::cpu {

std::vector<std::span<const KernelRow>> Families();

std::span<const KernelRow> StringConcatKernels();
std::span<const KernelRow> StringNormalizerKernels();
std::span<const KernelRow> StringSplitKernels();
std::span<const KernelRow> TokenizerKernels();
std::span<const KernelRow> MurmurHashKernels();
std::span<const KernelRow> RegexFullMatchKernels();
std::span<const KernelRow> TfIdfVectorizerKernels();
std::span<const KernelRow> OptionalKernels();
std::span<const KernelRow> LabelEncoderKernels();
std::span<const KernelRow> FeatureColumnKernels();
std::span<const KernelRow> TransposeKernels();
std::span<const KernelRow> ConcatKernels();
std::span<const KernelRow> SliceKernels();
std::span<const KernelRow> ExpandKernels();
std::span<const KernelRow> GatherKernels();
std::span<const KernelRow> ScatterKernels();
std::span<const KernelRow> PadKernels();
std::span<const KernelRow> GeneratorKernels();
std::span<const KernelRow> ArrangementKernels();
std::span<const KernelRow> SelectionKernels();
std::span<const KernelRow> UniqueKernels();
std::span<const KernelRow> TopKKernels();
std::span<const KernelRow> ArgExtremeKernels();
std::span<const KernelRow> CumulativeKernels();
std::span<const KernelRow> NonMaxSuppressionKernels();
std::span<const KernelRow> LinearModelKernels();
std::span<const KernelRow> TreeEnsembleKernels();
std::span<const KernelRow> SupportVectorKernels();
std::span<const KernelRow> ReductionKernels();
std::span<const KernelRow> SoftmaxKernels();
std::span<const KernelRow> LayerNormalizationKernels();
std::span<const KernelRow> ChannelNormalizationKernels();
std::span<const KernelRow> AxisNormalizationKernels();
std::span<const KernelRow> LossKernels();
std::span<const KernelRow> EinsumKernels();
std::span<const KernelRow> AttentionKernels();
std::span<const KernelRow> RotaryEmbeddingKernels();
std::span<const KernelRow> LinearAttentionKernels();
std::span<const KernelRow> FusedAttentionKernels();
std::span<const KernelRow> ConvKernels();
std::span<const KernelRow> ConvTransposeKernels();
std::span<const KernelRow> MatMulKernels();
std::span<const KernelRow> ChannelBlockKernels();
std::span<const KernelRow> FusedConvKernels();
std::span<const KernelRow> FusedMatMulKernels();
std::span<const KernelRow> PoolingKernels();
std::span<const KernelRow> FusedPoolKernels();
std::span<const KernelRow> FusedScaleShiftKernels();
std::span<const KernelRow> RecurrentKernels();
std::span<const KernelRow> IntegerProductKernels();
std::span<const KernelRow> IntegerConvolutionKernels();
std::span<const KernelRow> DeformConvKernels();
std::span<const KernelRow> CausalConvKernels();
std::span<const KernelRow> BatchNormalizationKernels();
std::span<const KernelRow> ResizeKernels();
std::span<const KernelRow> SignalKernels();
std::span<const KernelRow> WindowKernels();
std::span<const KernelRow> DeterminantKernels();
std::span<const KernelRow> LocalResponseKernels();
std::span<const KernelRow> FoldKernels();
std::span<const KernelRow> GridSampleKernels();
std::span<const KernelRow> AffineGridKernels();
std::span<const KernelRow> RegionPoolKernels();
std::span<const KernelRow> ArithmeticKernels();
std::span<const KernelRow> PowerKernels();
std::span<const KernelRow> ComparisonKernels();
std::span<const KernelRow> BitKernels();
std::span<const KernelRow> ElementMathKernels();
std::span<const KernelRow> ActivationKernels();
std::span<const KernelRow> ClipKernels();
std::span<const KernelRow> SelectKernels();
std::span<const KernelRow> CastKernels();
std::span<const KernelRow> RandomKernels();
std::span<const KernelRow> DropoutKernels();
std::span<const KernelRow> QuantizeKernels();
std::span<const KernelRow> DequantizeKernels();
std::span<const KernelRow> OptimizerKernels();
std::span<const KernelRow> FeatureScalingKernels();
std::span<const KernelRow> ImageDecoderKernels();
std::span<const KernelRow> ViewKernels();
std::span<const KernelRow> QLinearKernels();
std::span<const KernelRow> BytePoolKernels();
std::span<const KernelRow> MatMulNBitsKernels();
std::span<const KernelRow> ContributedMatrixKernels();
std::span<const KernelRow> CropKernels();
std::span<const KernelRow> AttentionMaskKernels();
std::span<const KernelRow> GroupQueryAttentionKernels();

}  // namespace plimsoll::kernels::cpu
