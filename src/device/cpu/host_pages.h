#pragma once

#include <cstdint>

#include "plimsoll/base/bytes.h"
#include "plimsoll/device/device.h"

// The system calls that the cpu device is made of, with errors as errno values (0: it worked).
namespace plimsoll::device::host {

inline constexpr Bytes kSmallPage = KiB(4);
inline constexpr Bytes kHugePage = MiB(2);
inline constexpr Bytes kGiantPage = GiB(1);

// Whether the size or address is made of whole pages.
bool IsWhole(uint64_t value, Bytes page);

// Addresses without memory, aligned; 0 when there are none.
Address Reserve(Bytes size, Bytes alignment);
void Release(Address at, Bytes size);
// Puts addresses without memory in the place of whatever is mapped there.
int Clear(Address at, Bytes size);
// Anonymous memory, or a piece of a file, in the place of what is mapped there; no access yet.
int PlaceAnonymous(Address at, Bytes size);
int PlaceFile(Address at, Bytes size, int file, uint64_t offset);
// Moves the pages of private memory; both places stay mapped, and the old one reads as zero.
int Move(Address from, Address to, Bytes size);

int AllowAccess(Address at, Bytes size);
int ForbidAccess(Address at, Bytes size);
// Asks for transparent huge pages, or for none. Advice only: the kernel may not have them.
void AdviseHuge(Address at, Bytes size);
void AdviseSmall(Address at, Bytes size);
// Gives every 2 MiB of accessible memory its first page, and asks the kernel to make it a huge one.
int CollapseIntoHuge(Address at, Bytes size);

}  // namespace plimsoll::device::host
