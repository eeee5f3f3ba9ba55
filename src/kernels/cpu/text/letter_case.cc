#include "kernels/cpu/text/letter_case.h"

#include <cstdint>

namespace plimsoll::kernels::cpu {
namespace {

// Upper-case letters `first`, `first + step`, ... `last`; each has its lower case at +`distance`.
struct Letters {
  int32_t first;
  int32_t last;
  int32_t step;
  int32_t distance;
};

constexpr Letters kLetters[] = {
    {'A', 'Z', 1, 32},          // ASCII
    {0x00c0, 0x00d6, 1, 32},    // Latin-1
    {0x00d8, 0x00de, 1, 32},    //
    {0x0100, 0x012e, 2, 1},     // Latin Extended-A
    {0x0132, 0x0136, 2, 1},     //
    {0x0139, 0x0147, 2, 1},     //
    {0x014a, 0x0176, 2, 1},     //
    {0x0178, 0x0178, 1, -121},  //
    {0x0179, 0x017d, 2, 1},     //
    {0x01cd, 0x01db, 2, 1},     // Latin Extended-B
    {0x01de, 0x01ee, 2, 1},     //
    {0x01f8, 0x021e, 2, 1},     //
    {0x0222, 0x0232, 2, 1},     //
    {0x0386, 0x0386, 1, 38},    // Greek
    {0x0388, 0x038a, 1, 37},    //
    {0x038c, 0x038c, 1, 64},    //
    {0x038e, 0x038f, 1, 63},    //
    {0x0391, 0x03a1, 1, 32},    //
    {0x03a3, 0x03ab, 1, 32},    //
    {0x0400, 0x040f, 1, 80},    // Cyrillic
    {0x0410, 0x042f, 1, 32},    //
    {0x0460, 0x0480, 2, 1},     //
    {0x048a, 0x04be, 2, 1},     //
    {0x04c1, 0x04cd, 2, 1},     //
    {0x04d0, 0x052e, 2, 1},     //
    {0x0531, 0x0556, 1, 48},    // Armenian
    {0x1e00, 0x1e94, 2, 1},     // Latin Extended Additional
    {0x1ea0, 0x1efe, 2, 1},     //
    {0xff21, 0xff3a, 1, 32},    // full width
};
constexpr int32_t kFinalSigma = 0x03c2;
constexpr int32_t kUpperSigma = 0x03a3;

int32_t Converted(int32_t letter, LetterCase letters) {
  const bool lower = letters == LetterCase::kLower;
  if (!lower && letter == kFinalSigma) return kUpperSigma;
  for (const Letters& row : kLetters) {
    const int32_t upper = lower ? letter : letter - row.distance;
    if (upper >= row.first && upper <= row.last && (upper - row.first) % row.step == 0) {
      return lower ? letter + row.distance : upper;
    }
  }
  return letter;
}

// How many bytes a character takes by its first one; 0 for a byte that cannot be the first.
size_t LengthOf(unsigned char first) {
  if (first < 0x80) return 1;
  if (first >= 0xc2 && first < 0xe0) return 2;
  if (first >= 0xe0 && first < 0xf0) return 3;
  return 0;
}

// The character of `length` bytes at the front of the text, or -1 where it is cut or broken.
int32_t Decode(std::string_view text, size_t length) {
  if (length == 0 || text.size() < length) return -1;
  const auto first = static_cast<unsigned char>(text[0]);
  int32_t letter = length == 1 ? first : first & (0x7f >> length);
  for (size_t i = 1; i < length; ++i) {
    const auto next = static_cast<unsigned char>(text[i]);
    if ((next & 0xc0) != 0x80) return -1;
    letter = letter << 6 | (next & 0x3f);
  }
  return letter;
}

void AppendUtf8(std::string& text, int32_t letter) {
  if (letter < 0x80) {
    text += static_cast<char>(letter);
    return;
  }
  if (letter < 0x800) {
    text += static_cast<char>(0xc0 | letter >> 6);
  } else {
    text += static_cast<char>(0xe0 | letter >> 12);
    text += static_cast<char>(0x80 | (letter >> 6 & 0x3f));
  }
  text += static_cast<char>(0x80 | (letter & 0x3f));
}

}  // namespace

std::string InCase(std::string_view text, LetterCase letters) {
  std::string converted;
  converted.reserve(text.size());
  while (!text.empty()) {
    const size_t length = LengthOf(static_cast<unsigned char>(text[0]));
    const int32_t letter = Decode(text, length);
    if (letter < 0) {
      converted += text[0];
      text.remove_prefix(1);
    } else {
      AppendUtf8(converted, Converted(letter, letters));
      text.remove_prefix(length);
    }
  }
  return converted;
}

}  // namespace plimsoll::kernels::cpu
