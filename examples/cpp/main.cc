// Loads a model, asks for its peak, runs it in memory of its own allocator and prints the outputs.
#include <cstdlib>
#include <iostream>

#include "plimsoll/engine/session.h"

using namespace plimsoll;
class OwnHeap : public memory::Allocator {
  Result<memory::Block> Allocate(const memory::Request& request) override {
    const int64_t alignment = request.alignment.value();
    void* const at = std::aligned_alloc(alignment, request.size.RoundUp(alignment).value());
    if (at == nullptr) return Error{ErrorKind::kDoesNotFit, "own.memory", "no memory is left"};
    std::cout << "own allocator: " << request.size.value() << " bytes\n";
    return memory::Block{reinterpret_cast<memory::Address>(at), request.size, {}};
  }
  Status Free(const memory::Block& block) override {
    std::free(reinterpret_cast<void*>(block.address));
    return {};
  }
  Status RecordStream(const memory::Block&, memory::StreamId) override { return {}; }
};

Status Run(const char* path) {
  PLIMSOLL_ASSIGN(const Model model, Model::Open(path));
  PLIMSOLL_ASSIGN(Session session, Session::Create({.allocator = std::make_shared<OwnHeap>()}));
  PLIMSOLL_ASSIGN(const GraphId graph, session.Add(model));
  PLIMSOLL_ASSIGN(std::vector<Tensor> inputs, session.MakeInputs(graph, {{"batch", {1}}}));
  PLIMSOLL_ASSIGN(const PlanReport plan, session.Plan(graph, ConstViewsOf(inputs)));
  std::cout << "peak: " << plan.peak.value() << " bytes\n";
  PLIMSOLL_ASSIGN(const std::vector<Tensor> outputs, session.Run(graph, inputs));
  for (const float value : outputs[0].Elements<float>()) std::cout << value << "\n";
  return {};
}

int main(int, char** arguments) {
  const Status done = Run(arguments[1]);
  if (!done.ok()) std::cerr << done.error().Text() << "\n";
  return done.ok() ? 0 : static_cast<int>(done.error().kind);
}
