#include "replay/content_check.h"

#include <algorithm>
#include <utility>

#include "plimsoll/base/text.h"

namespace plimsoll::replay {
namespace {

constexpr size_t kAnswers = 4096;
constexpr Bytes kAnswer = Bytes(sizeof(uint64_t));

uint8_t Pattern(uint32_t number) {
  return static_cast<uint8_t>((number * uint32_t{2654435761}) >> 24);
}

device::Address HostPlace(const void* at) { return reinterpret_cast<device::Address>(at); }

}  // namespace

ContentCheck::ContentCheck(std::shared_ptr<device::Device> device, device::DeviceId id)
    : device_(std::move(device)),
      id_(id),
      cuda_(dynamic_cast<device::CudaDevice*>(device_.get())),
      answers_(kAnswers) {}

Result<std::unique_ptr<ContentCheck>> ContentCheck::Make(std::shared_ptr<device::Device> device,
                                                         device::DeviceId id) {
  std::unique_ptr<ContentCheck> check(new ContentCheck(std::move(device), id));
  device::Device& on = *check->device_;
  PLIMSOLL_ASSIGN(check->stream_, on.CreateStream(id));
  if (check->cuda_ == nullptr) return check;
  const Bytes size = kAnswer * static_cast<int64_t>(kAnswers);
  PLIMSOLL_ASSIGN(check->counters_,
                  on.memory().AllocatePlain(id, size, device::MemoryType::kDevice));
  PLIMSOLL_TRY(on.Fill(id, check->stream_, check->counters_, 0, size));
  PLIMSOLL_TRY(on.SynchronizeStream(id, check->stream_));
  return check;
}

ContentCheck::~ContentCheck() {
  (void)device_->SynchronizeDevice(id_).ok();
  if (counters_ != 0) (void)device_->memory().FreePlain(id_, counters_).ok();
  if (stream_.valid()) (void)device_->DestroyStream(id_, stream_).ok();
}

Status ContentCheck::Write(const memory::Block& block, device::StreamId stream, uint32_t number) {
  return device_->Fill(id_, stream, block.address, Pattern(number), block.size);
}

Status ContentCheck::Look(const memory::Block& block, device::StreamId stream, uint32_t number) {
  if (block.size == Bytes(0)) return {};
  if (numbers_.size() == kAnswers) PLIMSOLL_TRY(Finish());
  const size_t answer = numbers_.size();
  const uint8_t wanted = Pattern(number);
  if (cuda_ != nullptr) {
    PLIMSOLL_TRY(cuda_->CountOtherBytes(id_, stream, block.address, block.size, wanted,
                                        counters_ + answer * sizeof(uint64_t)));
  } else {
    const auto look = [=, this](const device::StreamContext& context) {
      const auto* bytes = static_cast<const uint8_t*>(context.Pointer(block.address));
      answers_[answer] =
          static_cast<uint64_t>(block.size.value()) -
          static_cast<uint64_t>(std::count(bytes, bytes + block.size.value(), wanted));
    };
    PLIMSOLL_TRY(device_->Enqueue(id_, stream, look));
  }
  numbers_.push_back(number);
  ++looked_at_;
  return {};
}

Status ContentCheck::Finish() {
  PLIMSOLL_TRY(device_->SynchronizeDevice(id_));
  if (cuda_ != nullptr && !numbers_.empty()) {
    const Bytes size = kAnswer * static_cast<int64_t>(numbers_.size());
    PLIMSOLL_TRY(device_->Copy(id_, stream_, HostPlace(answers_.data()), counters_, size));
    PLIMSOLL_TRY(device_->Fill(id_, stream_, counters_, 0, size));
    PLIMSOLL_TRY(device_->SynchronizeStream(id_, stream_));
  }
  const std::vector<uint32_t> looked = std::exchange(numbers_, {});
  for (size_t i = 0; i < looked.size(); ++i) {
    if (answers_[i] == 0) continue;
    return Error{ErrorKind::kMismatch,
                 "replay.contents",
                 "bytes of a block have changed while it was allocated",
                 StrCat("block ", looked[i], ", counted by allocations"),
                 StrCat("at ", answers_[i], " places it does not hold what was written"),
                 "report it with the trace: memory was handed out twice"};
  }
  return {};
}

}  // namespace plimsoll::replay
