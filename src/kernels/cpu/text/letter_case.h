#pragma once

#include <string>
#include <string_view>

namespace plimsoll::kernels::cpu {

enum class LetterCase { kLower, kUpper };

// UTF-8 text with its letters in one case, the same in every locale. One letter stands for one: the
// Latin, Greek, Cyrillic, Armenian and full-width pairs; others (and bytes that are no UTF-8) stay
// as they are, so "ß" has no upper case.
std::string InCase(std::string_view text, LetterCase letters);

}  // namespace plimsoll::kernels::cpu
