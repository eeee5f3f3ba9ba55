#pragma once

#include <cstddef>
#include <cstdint>

// A stand-in for NVIDIA's driver library, for tests: the functions of the driver that Plimsoll
// uses, over memory of the processor, with rules as strict as the driver's or stricter. Streams are
// threads, so work is pending until it is done. Work that touches memory which is no longer mapped
// ends its context with CUDA_ERROR_ILLEGAL_ADDRESS. These functions tell it what to be like; find
// them by dlsym.
extern "C" {

// Two cards of 1 GiB each, driver 13.0, no failures, counters at zero. Whatever is outstanding is
// forgotten. No work may be pending.
void PlimsollStandinReset();
void PlimsollStandinSetCards(int cards);
void PlimsollStandinSetVersion(int version);
void PlimsollStandinSetMemory(size_t total);        // of each card
void PlimsollStandinSetUsedByOthers(size_t bytes);  // of each card
void PlimsollStandinSetVirtualMemory(int able);     // 0: no card has it
void PlimsollStandinIgnoreAlignment(int ignore);    // of reserved addresses
// Of the calls of this function (null: of any but those that name errors) from now on, `first`
// being 1 for the next, `times` in a row return the result and do nothing.
void PlimsollStandinFail(const char* function, int64_t first, int64_t times, int result);
// Calls of the function since the last reset; null: of all.
int64_t PlimsollStandinCalls(const char* function);
// What was handed out and not given back: "addresses", "chunks", "mappings", "plain", "host",
// "registered", "streams", "events", "graphs", "contexts"; null: the sum.
int64_t PlimsollStandinOutstanding(const char* kind);

}  // extern "C"
