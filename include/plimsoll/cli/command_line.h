#pragma once

namespace plimsoll::cli {

// The command line, for programs that carry it. Data goes to standard output, everything else to
// standard error. Returns the exit code: 0 ok, 1 run failed, 2 usage, 3 does not fit, 4
// unsupported, 5 mismatch, 6 bad file, 130 interrupted. While it runs it handles SIGINT and
// SIGTERM, which may end the process. Does not throw.
int Main(int argc, char** argv);

}  // namespace plimsoll::cli
