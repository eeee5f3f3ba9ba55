#pragma once

#include <cstdint>
#include <span>

#include "kernels/cpu/text/label_list.h"
#include "kernels/kernel.h"

// What the classifiers and regressors of domain ai.onnx.ml share: rows of features in, scores out.
namespace plimsoll::kernels::cpu {

enum class PostTransform { kNone, kSoftmax, kLogistic, kSoftmaxZero, kProbit };

// Attribute post_transform by its name, or (in TreeEnsemble) by its number.
Result<PostTransform> ReadPostTransform(const KernelSite& site);

// Transforms the scores of one row in place.
void Transform(PostTransform transform, std::span<double> scores);

// The labels under attribute classlabels_strings, or under `integers`; empty where neither is
// there.
LabelList ReadClassLabels(const KernelSite& site, std::string_view integers);

// How a lone score tells the second of two classes from the first.
struct LoneScore {
  double above = 0;            // the second class has it above this
  bool is_probability = true;  // the first class scores one minus it, else its negative
};

// The label of each row, output 0, and the scores, output 1. A row of one score for two labels
// becomes a row of two.
class ClassWriter {
 public:
  // `scores` is how many a row of the model has. Fills in the outputs' shapes where they are open.
  static Result<ClassWriter> Make(KernelSite& site, LabelList labels, int64_t rows, int64_t scores,
                                  LoneScore lone = {});

  int64_t columns() const { return columns_; }
  // Writes row `row` with the label that scores highest, or with label `chosen`. `scores` has room
  // for columns() and is changed.
  void Write(const KernelCall& call, int64_t row, std::span<double> scores) const;
  void Write(const KernelCall& call, int64_t row, std::span<double> scores, size_t chosen) const;

 private:
  ClassWriter(LabelList labels, PostTransform transform, int64_t scores, LoneScore lone)
      : labels_(std::move(labels)), transform_(transform), scores_(scores), lone_(lone) {}

  bool is_lone() const { return scores_ == 1 && columns_ == 2; }
  size_t Best(std::span<const double> scores) const;

  LabelList labels_;
  PostTransform transform_;
  int64_t scores_;
  LoneScore lone_;
  int64_t columns_ = 0;
};

// Rows of features: a vector is one row.
struct FeatureRows {
  graph::DataType type = graph::DataType::kUndefined;
  int64_t rows = 0;
  int64_t features = 0;

  static Result<FeatureRows> Of(const KernelSite& site);
  // Row `row` of input 0 as doubles, in `out`.
  void Load(const KernelCall& call, int64_t row, double* out) const;
  // `count` rows from `first_row` on as float32.
  void Load(const KernelCall& call, int64_t first_row, int64_t count, float* out) const;
};

}  // namespace plimsoll::kernels::cpu
