#include "cli/reports/plan/waterline_picture.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "plimsoll/base/text.h"

namespace plimsoll::cli {

std::string WaterlinePicture(const std::vector<Bytes>& live, int width, int height) {
  static constexpr std::array<const char*, 9> kEighths = {" ", "▁", "▂", "▃", "▄",
                                                          "▅", "▆", "▇", "█"};
  if (live.empty()) return "";
  const Bytes most = *std::max_element(live.begin(), live.end());
  if (most == Bytes(0)) return "";
  const auto columns = std::min<size_t>(static_cast<size_t>(width), live.size());
  std::vector<int> eighths;
  for (size_t i = 0; i < columns; ++i) {
    const size_t first = i * live.size() / columns;
    const size_t last = std::max(first + 1, (i + 1) * live.size() / columns);
    const Bytes top = *std::max_element(live.begin() + static_cast<long>(first),
                                        live.begin() + static_cast<long>(last));
    const double share = static_cast<double>(top.value()) / static_cast<double>(most.value());
    eighths.push_back(static_cast<int>(share * height * 8 + 0.5));
  }
  std::string out;
  for (int row = height - 1; row >= 0; --row) {
    out += fmt::format("{:>10} ┤", row == height - 1 ? FormatBytes(most) : "");
    for (const int level : eighths) {
      out += kEighths[static_cast<size_t>(std::clamp(level - row * 8, 0, 8))];
    }
    out.resize(out.find_last_not_of(' ') + 1);
    out += "\n";
  }
  out += fmt::format("{:>10} └", "0");
  for (size_t i = 0; i < columns; ++i) out += "─";
  return out + "\n";
}

}  // namespace plimsoll::cli
