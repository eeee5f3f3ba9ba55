#pragma once

#include <span>

#include "graph/operator_row.h"

// The tables that make up the catalogue of operators, one file per family.
namespace plimsoll::graph::operators {

std::span<const OperatorRow> ElementwiseRows();
std::span<const OperatorRow> LogicRows();
std::span<const OperatorRow> ActivationRows();
std::span<const OperatorRow> CastRows();
std::span<const OperatorRow> ReductionRows();
std::span<const OperatorRow> LayoutRows();
std::span<const OperatorRow> ArrangementRows();
std::span<const OperatorRow> SliceRows();
std::span<const OperatorRow> SplitRows();
std::span<const OperatorRow> PadRows();
std::span<const OperatorRow> GeneratorRows();
std::span<const OperatorRow> RandomRows();
std::span<const OperatorRow> IndexingRows();
std::span<const OperatorRow> ScatterRows();
std::span<const OperatorRow> SelectionRows();
std::span<const OperatorRow> ConvolutionRows();
std::span<const OperatorRow> PoolingRows();
std::span<const OperatorRow> MatrixRows();
std::span<const OperatorRow> NormalizationRows();
std::span<const OperatorRow> AttentionRows();
std::span<const OperatorRow> FusedAttentionRows();
std::span<const OperatorRow> FusedRows();
std::span<const OperatorRow> RecurrentRows();
std::span<const OperatorRow> QuantizationRows();
std::span<const OperatorRow> LossRows();
std::span<const OperatorRow> ImageRows();
std::span<const OperatorRow> SignalRows();
std::span<const OperatorRow> TextRows();
std::span<const OperatorRow> SequenceRows();
std::span<const OperatorRow> OptionalRows();
std::span<const OperatorRow> ControlFlowRows();
std::span<const OperatorRow> MachineLearningRows();
std::span<const OperatorRow> ClassifierRows();
std::span<const OperatorRow> TrainingRows();
std::span<const OperatorRow> QLinearRows();
std::span<const OperatorRow> ContributedProductRows();
std::span<const OperatorRow> ContributedAttentionRows();
std::span<const OperatorRow> CropRows();

}  // namespace plimsoll::graph::operators
