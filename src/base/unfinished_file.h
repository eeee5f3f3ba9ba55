#pragma once

#include <string>

namespace plimsoll {

// A file that is being written under a name of its own, until that is exchanged for the final one.
// While this lives, whoever ends the process early can remove the file. It removes nothing itself.
// Any thread. Of more than a few at once, or of very long names, some are not known.
class UnfinishedFile {
 public:
  explicit UnfinishedFile(const std::string& path);
  UnfinishedFile(UnfinishedFile&& other) noexcept;
  UnfinishedFile& operator=(UnfinishedFile&&) = delete;
  ~UnfinishedFile();

 private:
  int slot_ = -1;  // -1: not known
};

// Removes every such file. For signal handlers: allocates nothing and takes no lock.
void RemoveUnfinishedFiles();

}  // namespace plimsoll
