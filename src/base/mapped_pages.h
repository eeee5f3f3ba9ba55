#pragma once

#include <functional>
#include <span>
#include <vector>

#include "plimsoll/base/bytes.h"

namespace plimsoll {

// Whether all these bytes lie in a read-only mapping of a file. Looks up what is mapped where.
bool LieInFile(std::span<const std::byte> bytes);

// By range: whether all of its bytes do; for many at the cost of one.
std::vector<bool> WhichLieInFile(std::span<const std::span<const std::byte>> many);

// Gives back the pages that lie wholly inside these bytes, where they are a read-only mapping of a
// file: they count no more as resident, and come back from the file if they are read again. Other
// memory is left alone.
void DropMappedPages(std::span<const std::byte> bytes);
// The same for many at the cost of one: looking up what is mapped where takes long where much is.
void DropMappedPages(std::span<const std::span<const std::byte>> many);
// The same with the pages around them: the system may bring in those up to 2 MiB before and behind
// a page that is read, where a file lies in its cache in large pieces.
void DropMappedSurroundings(std::span<const std::span<const std::byte>> many);
// The first for bytes of which the caller knows that they are such a mapping; looks nothing up.
void DropPagesOfFile(std::span<const std::byte> bytes);

// Calls `read` with one slice of the bytes after the other, as long as it says true, and drops the
// mapped pages of each behind it: more than a few MiB of a file are never resident. Whether all
// were read.
bool ReadInSlices(std::span<const std::byte> bytes,
                  const std::function<bool(std::span<const std::byte> slice)>& read);

// Returns what the C library's heap keeps of freed memory to the system. For after loading, which
// frees much that will not be asked for again.
void GiveBackFreedHeap();

// Bytes of this process that are resident now.
Bytes ResidentBytes();
// The most there ever were.
Bytes PeakResidentBytes();

}  // namespace plimsoll
