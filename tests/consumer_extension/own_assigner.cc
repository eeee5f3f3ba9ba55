// An assigner that reuses nothing: every item has bytes of its own, one behind the other.
#include <cmath>

#include "plimsoll/plan/custom_mem_assigner.h"
#include "run_model.h"

namespace consumer {
namespace {

class StackAssigner : public plan::CustomMemAssigner {
 public:
  std::string name() const override { return "stack"; }
  std::vector<Offset> PlaceItems(const plan::RegionItems& region,
                                 const plan::Effort&) const override {
    std::vector<Offset> offsets;
    Bytes top;
    for (const plan::RegionItems::Item& item : region.items()) {
      top = top.RoundUp(item.alignment);
      offsets.emplace_back(top.value());
      top += item.size;
    }
    return offsets;
  }
};

// Places everything at the same address, which the verifier must refuse.
class BrokenAssigner : public plan::CustomMemAssigner {
 public:
  std::string name() const override { return "broken"; }
  std::vector<Offset> PlaceItems(const plan::RegionItems& region,
                                 const plan::Effort&) const override {
    return std::vector<Offset>(region.items().size());
  }
};

template <typename Assigner>
Status Register(const char* name) {
  return plan::RegisterAssigner(name, [](const auto&) { return std::make_unique<Assigner>(); });
}

Status Work(const char* path) {
  PLIMSOLL_TRY(Register<StackAssigner>("stack"));
  PLIMSOLL_TRY(Register<BrokenAssigner>("broken"));
  PLIMSOLL_TRY(Expect(!Register<StackAssigner>("hybrid").ok(), "a taken name is refused"));
  PLIMSOLL_ASSIGN(const Answer usual, RunModel(path, {}));
  PLIMSOLL_ASSIGN(const Answer own, RunModel(path, {.assigner = "stack"}));
  PLIMSOLL_TRY(Expect(own.plan.assigner == "stack", "the plan is ours"));
  PLIMSOLL_TRY(Expect(own.plan.peak > usual.plan.peak, "without reuse it takes more"));
  PLIMSOLL_TRY(Expect(own.elements.size() == usual.elements.size(), "and gives as many outputs"));
  for (size_t i = 0; i < own.elements.size(); ++i) {
    // Other kernels may be chosen where the peak is another, so the last bits may differ.
    const float difference = std::abs(own.elements[i] - usual.elements[i]);
    PLIMSOLL_TRY(Expect(difference < 1e-5F, "of the same values"));
  }
  std::printf("own assigner: %lld bytes, else %lld\n",
              static_cast<long long>(own.plan.peak.value()),
              static_cast<long long>(usual.plan.peak.value()));
  const auto broken = RunModel(path, {.assigner = "broken"});
  return Expect(!broken.ok(), "a plan that shares bytes of the living is never run");
}

}  // namespace
}  // namespace consumer

int main(int, char** arguments) { return consumer::Report(consumer::Work(arguments[1])); }
