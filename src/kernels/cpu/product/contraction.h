#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/cpu/reduction/axis_groups.h"
#include "kernels/kernel.h"

namespace plimsoll::kernels::cpu {

// One letter of a contraction: how many places, and how far apart they lie in each of the two
// operands and in the result; 0 where a letter does not occur or broadcasts.
struct ContractedAxis {
  int64_t size = 1;
  int64_t a = 0;
  int64_t b = 0;
  int64_t c = 0;
};

// c[kept] = the sum over `summed` of a * b, or of a alone.
struct Contraction {
  std::vector<ContractedAxis> kept;
  std::vector<ContractedAxis> summed;
  bool binary = true;

  int64_t kept_count() const;
  int64_t summed_count() const;
};

// A contraction of float32 as products of matrices, one for each place of the letters that both
// operands and the result have. What does not lie as a product wants it is gathered into the
// workspace first, piece by piece; pieces shrink where `most_workspace` asks for it.
class MatrixContraction {
 public:
  // Whether every summed letter is in both operands, and there are enough of them to pay.
  static bool Fits(const Contraction& contraction);

  // `whole`: the contraction of which this is a part, to add sums up in the same order.
  MatrixContraction(const Contraction& contraction, Bytes most_workspace,
                    const MatrixContraction* whole = nullptr);

  Bytes workspace() const;
  void Run(const float* a, const float* b, void* workspace, float* c) const;

 private:
  using Groups = std::vector<AxisGroup>;

  struct Axes {
    Groups a, b, c;  // the same sizes, each operand's strides
    int64_t count = 1;
    void Add(const ContractedAxis& axis);
  };
  // The distance between neighbours where there is one for all of them, else 0.
  static int64_t Stride(const Groups& groups);

  // How much is worked on at once.
  struct Pieces {
    int64_t columns = 0;  // of B, packed for all rows; 0: element by element where all lie
    int64_t rows = 0;     // of A and C, by one thread
    int64_t slots = 1;    // threads
  };

  void Arrange(const Contraction& contraction, bool exchanged);
  // Outer letters of the columns that keep the others from lying evenly in B become places.
  void SplitColumns();
  void Place(const Pieces& pieces);
  // Few rows are not worth the packing of B; whether they lie so that none is needed.
  bool MultipliesVectors() const;
  // Whether B lies as panels do, long rows of it for few of A, and sums are short.
  bool ReadsLongRows() const;
  void RunLongRows(const float* a, const float* b, int64_t column, int64_t count, float* c) const;
  void RunVectors(const float* a, const float* b, float* c) const;
  // With the same sums as products of packed columns.
  void RunElements(const float* a, const float* b, float* c) const;
  void RunOne(const float* a, const float* b, void* workspace, float* c) const;
  void PackColumns(const float* b, int64_t first, int64_t count, float* panels) const;
  // Rows [first, last) of C, in columns [column, column + count) whose panels are packed.
  void RunTile(const float* a, int64_t first, int64_t last, int64_t column, int64_t count,
               const float* panels, float* gathered, float* made, float* c) const;

  Axes batch_, rows_, columns_, depth_;
  bool exchanged_ = false;  // A is the second operand
  bool vectors_ = false;
  bool long_rows_ = false;
  int64_t a_stride_ = 0;  // between the rows of A where it is used as it lies, else 0
  int64_t c_stride_ = 0;  // likewise for C
  Pieces pieces_;
  int64_t a_offset_ = 0, c_offset_ = 0;  // in the workspace, behind the panels of B
  Bytes workspace_;
};

}  // namespace plimsoll::kernels::cpu
