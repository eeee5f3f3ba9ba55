#pragma once

#include <string_view>

namespace plimsoll {

// Gives back the pages of code and read-only data of the program's part that this function is
// linked into, and of loaded libraries whose file name begins with the given word: they
// count no more as resident, and come back from the system's cache of files where they are used
// again, some at once. For after work that is not done again soon, such as loading a model. Pages
// that somebody has changed (a debugger's breakpoints, hooks) are left alone.
void GiveBackCode(std::string_view library);

}  // namespace plimsoll
