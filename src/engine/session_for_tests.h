#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "compile/graph_for_tests.h"
#include "engine/session.h"
#include "kernels/element_types.h"
#include "plimsoll/device/registry.h"

// For tests of sessions: tensors of the caller's, and runs that must succeed.
namespace plimsoll::engine {

using Ints = std::vector<int64_t>;

// Whether the host reaches memory of the device that sessions get by themselves (PLIMSOLL_DEVICE).
inline bool HostReachesDefaultDevice() {
  const char* const name = std::getenv("PLIMSOLL_DEVICE");
  if (name == nullptr || *name == '\0') return true;
  const auto device = device::MakeDevice(device::ParseDeviceName(name)->kind);
  return (*device)->Properties(device::DeviceId{0}).host_reachable;
}

// For tests that look into the device's memory themselves, or whose rule is of memory that host and
// device share: the caller's tensors used in place.
#define SKIP_UNLESS_HOST_REACHES_DEVICE()                          \
  if (!::plimsoll::engine::HostReachesDefaultDevice()) {           \
    GTEST_SKIP() << "the host cannot reach memory of this device"; \
  }                                                                \
  static_assert(true)

inline kernels::HostTensor Floats(kernels::Dims dims, const std::vector<float>& elements) {
  kernels::HostTensor tensor = *kernels::AllocateOnHeap(graph::DataType::kFloat32, dims);
  if (!elements.empty()) {
    std::memcpy(tensor.data.get(), elements.data(), elements.size() * sizeof(float));
  }
  return tensor;
}

// Of any type of numbers: -1 to 1 for floats, 0 and 1 for the rest.
inline kernels::HostTensor Random(kernels::Dims dims, uint32_t seed,
                                  graph::DataType type = graph::DataType::kFloat32) {
  kernels::HostTensor tensor = *kernels::AllocateOnHeap(type, dims);
  std::mt19937 random(seed);
  for (int64_t i = 0; i < tensor.elements(); ++i) {
    if (graph::IsFloating(type)) {
      kernels::StoreDouble(type, tensor.data.get(), i,
                           static_cast<double>(random() % 2001) / 1000.0 - 1.0);
    } else {
      kernels::StoreInteger(type, tensor.data.get(), i, static_cast<int64_t>(random() % 2));
    }
  }
  return tensor;
}

inline kernels::HostTensor Integer(int64_t element) {
  kernels::HostTensor tensor = *kernels::AllocateOnHeap(graph::DataType::kInt64, {});
  kernels::StoreInteger(tensor.type, tensor.data.get(), 0, element);
  return tensor;
}

inline kernels::HostTensor Bool(bool element) {
  kernels::HostTensor tensor = *kernels::AllocateOnHeap(graph::DataType::kBool, {});
  kernels::StoreInteger(tensor.type, tensor.data.get(), 0, element ? 1 : 0);
  return tensor;
}

inline std::vector<float> ElementsOf(const kernels::HostTensor& tensor) {
  std::vector<float> elements;
  for (int64_t i = 0; i < tensor.elements(); ++i) {
    elements.push_back(static_cast<float>(kernels::LoadDouble(tensor.type, tensor.data.get(), i)));
  }
  return elements;
}

// The same up to rounding, as passes may change it.
inline void ExpectClose(const kernels::HostTensor& got, const kernels::HostTensor& expected) {
  ASSERT_EQ(got.dims, expected.dims);
  const std::vector<float> left = ElementsOf(got);
  const std::vector<float> right = ElementsOf(expected);
  for (size_t i = 0; i < left.size(); ++i) {
    ASSERT_NEAR(left[i], right[i], 1e-4F * (1 + std::abs(right[i]))) << "element " << i;
  }
}

inline TensorView View(const kernels::HostTensor& tensor) {
  return {.type = tensor.type, .dims = tensor.dims, .data = tensor.data.get()};
}

inline std::vector<TensorView> Views(const std::vector<kernels::HostTensor>& tensors) {
  std::vector<TensorView> views;
  for (const kernels::HostTensor& tensor : tensors) views.push_back(View(tensor));
  return views;
}

inline std::vector<kernels::HostValue> Values(const std::vector<kernels::HostTensor>& tensors) {
  std::vector<kernels::HostValue> values;
  for (const kernels::HostTensor& tensor : tensors) {
    values.push_back(kernels::HostValue::Of(tensor));
  }
  return values;
}

inline std::string CodeOf(const Status& status) { return status.ok() ? "" : status.error().code; }

inline std::unique_ptr<Session> MakeSession(const SessionOptions& options = {}) {
  return *Session::Create(options);
}

inline GraphId MustAdd(Session& session, graph::Graph graph) {
  const Result<GraphId> id = session.Add(std::move(graph));
  EXPECT_TRUE(id.ok()) << (id.ok() ? "" : id.error().Text());
  return id.ok() ? *id : GraphId();
}

// The outputs of a run over values. When it failed, tensors of one 0 in their place, so that what
// looks at them fails too and goes on.
inline std::vector<kernels::HostValue> MustRunValues(Session& session, GraphId id,
                                                     std::vector<kernels::HostValue> inputs) {
  auto outputs = session.RunValues(id, std::move(inputs));
  if (outputs.ok()) return *std::move(outputs);
  ADD_FAILURE() << outputs.error().Text();
  const auto ports = session.Outputs(id);
  const kernels::HostValue zero = kernels::HostValue::Of(Floats({1}, {0}));
  return std::vector<kernels::HostValue>(ports.ok() ? ports->size() : 1, zero);
}

inline std::vector<kernels::HostTensor> MustRun(Session& session, GraphId id,
                                                const std::vector<kernels::HostTensor>& inputs) {
  std::vector<kernels::HostTensor> tensors;
  for (kernels::HostValue& value : MustRunValues(session, id, Values(inputs))) {
    tensors.push_back(std::move(value.tensor));
  }
  return tensors;
}

// y = x + 1, over floats of a shape.
inline graph::Graph AddOne(graph::Shape shape) {
  graph::GraphBuilder builder;
  const graph::ValueId x = builder.Input("x", compile::FloatTensor(std::move(shape)));
  builder.Output(builder.Node("Add", {x, builder.Float32s("one", {}, {1})}));
  return builder.Build();
}

}  // namespace plimsoll::engine
