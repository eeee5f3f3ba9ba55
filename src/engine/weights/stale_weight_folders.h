#pragma once

namespace plimsoll::engine {

// Removes the weight folders that dead processes of this user left in an open folder: those whose
// lock nobody holds. Anything else, and anything in them that is not ours, stays; what cannot be
// removed stays too, without an error. Thread-safe, and safe while other processes run that do it.
void RemoveStaleWeightFolders(int work_folder);

}  // namespace plimsoll::engine
