#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "plimsoll/base/status.h"
#include "plimsoll/replay/trace.h"

namespace plimsoll::replay {

// Families of programs as an allocator sees them, each drawn from a seed: model sizes, lengths,
// batches, routing, arrivals. The order of blocks follows what PyTorch asks for; the times follow
// the recorded traces (tens of microseconds between requests, and the device's work where that
// takes longer), on the fast side. The same family and seed give the same trace everywhere.
//
//   train                transformer, AdamW, drawn lengths, mixed precision, accumulated gradients
//   checkpoint           the same with each layer computed again in the backward pass
//   mixture              experts with drawn routing in every layer and step
//   lora                 frozen weights, small adapters
//   serving_concat       arrivals and departures, caches that grow by a copy for each token
//   serving_paged        the same with caches of equal blocks
//   cnn                  batches and images of drawn sizes, evaluation between
//   unet                 diffusion at drawn resolutions, trained or sampled
//   recommender          embedding tables, sparse gradients of drawn sizes
//   streams              several streams with blocks of drawn sizes, some of them lent
std::vector<std::string_view> WorkloadFamilies();

// Fails with "replay.usage" on an unknown name.
Result<Trace> GenerateWorkload(std::string_view family, uint64_t seed);

}  // namespace plimsoll::replay
