#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string_view>

#include "plimsoll/cli/command_line.h"

// OpenMP reads how its idle threads wait before main begins. Spinning ones make a shared machine
// crawl, so without a word from the user a command that runs models starts itself once more with
// the word said.
static void WaitPassively(std::string_view command, char** argv) {
  constexpr std::array<std::string_view, 5> kRunsModels = {"run", "train", "bench", "compare",
                                                           "conformance"};
  const bool runs = std::find(kRunsModels.begin(), kRunsModels.end(), command) != kRunsModels.end();
  if (!runs || std::getenv("OMP_WAIT_POLICY") != nullptr) return;
  setenv("OMP_WAIT_POLICY", "passive", 1);
  execv("/proc/self/exe", argv);
}

int main(int argc, char** argv) {
  if (argc > 1) WaitPassively(argv[1], argv);
  // Graphs are millions of small pieces, and whenever a large one is freed glibc's "fast bins" of
  // small ones are gone through: without these, planning takes a seventh less time.
  mallopt(M_MXFAST, 0);
  return plimsoll::cli::Main(argc, argv);
}
