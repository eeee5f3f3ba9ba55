#include <unistd.h>

#include <cstdlib>

#include "cli/program.h"

// OpenMP reads how its idle threads wait before main begins. Spinning ones make a shared machine
// crawl, so without a word from the user the program starts itself once more with the word said.
static void WaitPassively(char** argv) {
  if (std::getenv("OMP_WAIT_POLICY") != nullptr) return;
  setenv("OMP_WAIT_POLICY", "passive", 1);
  execv("/proc/self/exe", argv);
}

int main(int argc, char** argv) {
  WaitPassively(argv);
  return plimsoll::cli::Main(argc, argv);
}
