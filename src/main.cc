#include <malloc.h>
#include <signal.h>

#include "plimsoll/cli/command_line.h"

int main(int argc, char** argv) {
  // Graphs are millions of small pieces, and whenever a large one is freed glibc's "fast bins" of
  // small ones are gone through: without these, planning takes a seventh less time.
  mallopt(M_MXFAST, 0);
  const int code = plimsoll::cli::Main(argc, argv);
  // The answer is whole: a signal that comes now must not make it look cut off.
  signal(SIGINT, SIG_IGN);
  signal(SIGTERM, SIG_IGN);
  return code;
}
