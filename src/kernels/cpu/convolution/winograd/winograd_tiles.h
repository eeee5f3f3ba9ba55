#pragma once

#include <algorithm>
#include <cstdint>

#include "kernels/cpu/convolution/sliding_window.h"
#include "kernels/cpu/convolution/winograd/winograd_loops.h"

namespace plimsoll::kernels::cpu {

// How the output of a batch of images is covered with tiles. A dilated window sees every so many
// rows and columns, which are images of their own; `row_step` and `column_step` apart, those of all
// phases are next to each other.
class WinogradTiles {
 public:
  struct Tile {
    int64_t image;
    int64_t top;  // of the input, may be in the padding
    int64_t left;
    int64_t row;  // of the output
    int64_t column;
    int64_t rows;  // of results that there are, at most m, may be 0
    int64_t columns;
  };

  WinogradTiles(const Window& window, int64_t batch, int64_t results)
      : results_(results),
        batch_(batch),
        row_step_(window.dilations[1]),
        column_step_(window.dilations[2]),
        height_(window.output[1]),
        width_(window.output[2]),
        pad_top_(window.begin[1]),
        pad_left_(window.begin[2]),
        row_phases_(std::min(row_step_, height_)),
        column_phases_(std::min(column_step_, width_)),
        down_(DivideUp(DivideUp(height_, row_step_), results)),
        across_(DivideUp(DivideUp(width_, column_step_), results)) {}

  int64_t results() const { return results_; }
  int64_t row_step() const { return row_step_; }
  int64_t column_step() const { return column_step_; }
  int64_t count() const { return batch_ * row_phases_ * column_phases_ * down_ * across_; }

  Tile operator[](int64_t number) const {
    const int64_t x = number % across_;
    const int64_t y = number / across_ % down_;
    const int64_t phase = number / across_ / down_;
    Tile tile;
    tile.image = phase / column_phases_ / row_phases_;
    tile.row = phase / column_phases_ % row_phases_ + y * results_ * row_step_;
    tile.column = phase % column_phases_ + x * results_ * column_step_;
    tile.top = tile.row - pad_top_;
    tile.left = tile.column - pad_left_;
    tile.rows = Left(height_ - tile.row, row_step_);
    tile.columns = Left(width_ - tile.column, column_step_);
    return tile;
  }

 private:
  static int64_t DivideUp(int64_t count, int64_t by) { return (count + by - 1) / by; }
  int64_t Left(int64_t places, int64_t step) const {
    return std::clamp<int64_t>(DivideUp(places, step), 0, results_);
  }

  int64_t results_;
  int64_t batch_;
  int64_t row_step_;
  int64_t column_step_;
  int64_t height_;
  int64_t width_;
  int64_t pad_top_;
  int64_t pad_left_;
  int64_t row_phases_;
  int64_t column_phases_;
  int64_t down_;
  int64_t across_;
};

}  // namespace plimsoll::kernels::cpu
