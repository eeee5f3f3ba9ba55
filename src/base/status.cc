#include "plimsoll/base/status.h"

namespace plimsoll {

std::string Error::Text() const {
  std::string line = what;
  for (const std::string* part : {&where, &why}) {
    if (!part->empty()) line += ": " + *part;
  }
  if (!remedy.empty()) line += "; " + remedy;
  if (!code.empty()) line += " [" + code + "]";
  for (char& c : line) {
    if (static_cast<unsigned char>(c) < 0x20) c = ' ';
  }
  return line;
}

}  // namespace plimsoll
