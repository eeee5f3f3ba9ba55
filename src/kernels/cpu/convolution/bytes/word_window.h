#pragma once

#include "kernels/cpu/convolution/convolution_loops.h"
#include "plimsoll/base/bytes.h"

namespace plimsoll::kernels::cpu {

// How channels of one place lie in an int32: two as 16-bit numbers less the zero point
// (byte_pairs.h), or four as unsigned bytes (byte_quads.h).
enum class ChannelWords : int64_t { kPairs = 2, kQuads = 4 };

// What output places of a convolution of bytes look at, as groups of columns of words: the word of
// channels, then the tap. The input lines that some places need become words once, narrow ones all
// at a time, with their padding, channels by channels, as many as the second cache holds; columns
// that a stride keeps apart lie apart.
// Places are then copied tap by tap.
class WordWindow {
 public:
  WordWindow() = default;
  WordWindow(const ConvolutionShape& shape, ChannelWords words);

  // Scratch for `places` output places.
  Bytes size(int64_t places) const;

  int64_t ChannelWordCount() const;  // of a group of the convolution

  // `x` are the channels of the group; places [first, first + count). Signed bytes become unsigned
  // ones by 128 more.
  void Gather(const uint8_t* x, int64_t first, int64_t count, uint8_t zero, int32_t* lines,
              int32_t* columns) const;
  void Gather(const int8_t* x, int64_t first, int64_t count, int8_t zero, int32_t* lines,
              int32_t* columns) const;
  // The same where an output place looks at the input place of its number alone.
  template <typename X>
  void ReadPlaces(const X* x, int64_t first, int64_t count, X zero, int32_t* columns) const;

 private:
  // Places [first, first + count) of the input of the channels of one word, whole groups of columns
  // at a time, each `group_stride` words behind the other.
  template <typename X>
  void ReadWords(const X* x, int64_t word, int64_t first, int64_t count, X zero, int32_t* to,
                 int64_t group_stride) const;
  template <typename X>
  void GatherOf(const X* x, int64_t first, int64_t count, X zero, int32_t* lines,
                int32_t* columns) const;
  struct Lines;  // of one plane of the input
  struct Rows;
  struct Channels;
  // Places of `rows` up to `end` from the lines of some channels.
  void CopyPlaces(const Rows& rows, int64_t first, int64_t end, const Channels& channels,
                  const int32_t* lines, int32_t* columns) const;
  template <typename X>
  void ReadLines(const X* x, int64_t word, const Lines& lines, X zero, int32_t* scratch,
                 int32_t* to) const;
  void PlaceLine(const int32_t* words, int32_t* to) const;
  bool Narrow() const;
  bool Sees(int64_t line) const;
  int64_t LinesFor(int64_t rows) const;  // at most, of the input for so many rows of output
  // Words of channels whose lines, of so many rows of output, lie in the scratch at a time.
  int64_t ChannelsAtOnce(int64_t rows) const;

  ConvolutionShape shape_;
  ChannelWords words_ = ChannelWords::kPairs;
  int64_t phase_ = 0;  // words of a line that lie together
  int64_t line_ = 0;   // words of a line
};

}  // namespace plimsoll::kernels::cpu
