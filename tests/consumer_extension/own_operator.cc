// An operator: ScaledSquare of the domain com.example, y = scale * x * x. The model applies it
// twice, to the sum of its input and a constant.
#include "plimsoll/engine/operator.h"
#include "run_model.h"

namespace consumer {
namespace {

bool ran_in_place = false;

class ScaledSquare : public OperatorKernel {
 public:
  ScaledSquare(int64_t count, float scale) : count_(count), scale_(scale) {}
  Bytes workspace() const override { return Bytes(count_ * 4); }
  Status Run(const OperatorCall& call) const override {
    const auto* from = static_cast<const float*>(call.inputs[0]);
    auto* squares = static_cast<float*>(call.workspace);
    auto* to = static_cast<float*>(call.outputs[0]);
    ran_in_place |= call.inputs[0] == call.outputs[0];
    for (int64_t i = 0; i < count_; ++i) squares[i] = from[i] * from[i];
    for (int64_t i = 0; i < count_; ++i) to[i] = scale_ * squares[i];
    return {};
  }

 private:
  int64_t count_;
  float scale_;
};

OperatorDefinition Definition() {
  return {.domain = "com.example",
          .name = "ScaledSquare",
          .min_inputs = 1,
          .max_inputs = 1,
          .infer_shapes = [](ShapeInference& node) -> Status {
            node.CopyTypeAndShape(0, 0);
            return {};
          },
          .make_kernel = [](OperatorSite& site) -> Result<OperatorKernelPointer> {
            if (site.inputs[0].type != DataType::kFloat32) {
              return site.Unsupported("float32 alone");
            }
            return MakeOperatorKernel<ScaledSquare>(
                site.inputs[0].elements(), static_cast<float>(site.attributes.Float("scale", 1)));
          },
          .in_place = {{.output = 0, .input = 0}}};
}

Status Work() {
  const auto unknown = RunModel(SCALED_SQUARE, {});
  PLIMSOLL_TRY(Expect(!unknown.ok() && unknown.error().kind == ErrorKind::kUnsupported,
                      "nobody knows the operator yet"));
  PLIMSOLL_TRY(RegisterOperator(Definition()));
  const Status twice = RegisterOperator(Definition());
  PLIMSOLL_TRY(Expect(!twice.ok() && twice.error().code == "operator.registered", "no second one"));
  PLIMSOLL_ASSIGN(const Answer answer, RunModel(SCALED_SQUARE, {}));
  // x = 0.5: 2 * (0.5 + 1)^2 = 4.5, and 4.5^2 = 20.25.
  for (const float element : answer.elements) {
    PLIMSOLL_TRY(Expect(element == 20.25F, "y is (2 * (x + 1)^2)^2"));
  }
  PLIMSOLL_TRY(Expect(answer.plan.planned && !answer.elements.empty(), "it runs inside a plan"));
  PLIMSOLL_TRY(Expect(ran_in_place, "in the memory of its input"));
  std::printf("own operator: %lld bytes at the peak, in place\n",
              static_cast<long long>(answer.plan.peak.value()));
  return {};
}

}  // namespace
}  // namespace consumer

int main() { return consumer::Report(consumer::Work()); }
