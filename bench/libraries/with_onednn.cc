// oneDNN 2 or 3, each tensor in the form that it likes best. Usage: with_onednn [threads] [rounds]
#include <dnnl.hpp>
#include <unordered_map>

#include "shapes.h"

using namespace dnnl;
using library_bench::Shape;
using Type = memory::data_type;
using Tag = memory::format_tag;

namespace {

// A primitive with memory for all that it reads and writes.
template <typename Description>
void Time(const library_bench::Effort& effort, const Shape& shape, engine& where,
          const Description& description, const primitive& what) {
  std::unordered_map<int, memory> arguments;
  const auto add = [&](int argument, const memory::desc& form) {
    memory made(form, where);
    auto* const bytes = static_cast<unsigned char*>(made.get_data_handle());
    for (size_t i = 0; i < form.get_size(); ++i) {
      bytes[i] = static_cast<unsigned char>(shape.bytes || i % 4 < 2 ? i % 7 : 0);
    }
    arguments.emplace(argument, made);
  };
  add(DNNL_ARG_SRC, description.src_desc());
  add(DNNL_ARG_WEIGHTS, description.weights_desc());
  add(DNNL_ARG_DST, description.dst_desc());
  add(DNNL_ARG_SCRATCHPAD, description.scratchpad_desc());
  stream order(where);
  const double time = library_bench::Fastest(effort, [&] {
    what.execute(order, arguments);
    order.wait();
  });
  library_bench::Print(shape, time, description.impl_info_str());
}

void TimeConvolution(const library_bench::Effort& effort, const Shape& shape, engine& where,
                     const primitive_attr& attributes) {
  const memory::dims from = {1, shape.channels, shape.height, shape.width};
  const memory::dims to = {1, shape.filters, shape.OutHeight(), shape.OutWidth()};
  memory::dims filters = {shape.filters / shape.groups, shape.channels / shape.groups,
                          shape.kernel_height, shape.kernel_width};
  if (shape.groups > 1) filters.insert(filters.begin(), shape.groups);
  const memory::desc source(from, shape.bytes ? Type::u8 : Type::f32, Tag::any);
  const memory::desc weights(filters, shape.bytes ? Type::s8 : Type::f32, Tag::any);
  const memory::desc result(to, shape.bytes ? Type::u8 : Type::f32, Tag::any);
  const memory::dims strides = {shape.stride, shape.stride};
  const memory::dims dilations = {shape.dilation - 1, shape.dilation - 1};
  const memory::dims pads = {shape.PadHeight(), shape.PadWidth()};
  if (shape.kind == Shape::Kind::kTransposed) {
    const memory::dims none = {0, 0};
#if DNNL_VERSION_MAJOR >= 3
    const deconvolution_forward::primitive_desc description(
        where, prop_kind::forward_inference, algorithm::deconvolution_direct, source, weights,
        result, strides, none, none, attributes);
#else
    const deconvolution_forward::primitive_desc description(
        {prop_kind::forward_inference, algorithm::deconvolution_direct, source, weights, result,
         strides, none, none},
        attributes, where);
#endif
    return Time(effort, shape, where, description, deconvolution_forward(description));
  }
#if DNNL_VERSION_MAJOR >= 3
  const convolution_forward::primitive_desc description(
      where, prop_kind::forward_inference, algorithm::convolution_direct, source, weights, result,
      strides, dilations, pads, pads, attributes);
#else
  const convolution_forward::primitive_desc description(
      {prop_kind::forward_inference, algorithm::convolution_direct, source, weights, result,
       strides, dilations, pads, pads},
      attributes, where);
#endif
  Time(effort, shape, where, description, convolution_forward(description));
}

void TimeProduct(const library_bench::Effort& effort, const Shape& shape, engine& where,
                 const primitive_attr& attributes) {
  const bool constant = shape.batch == 1;
  memory::dims left = {shape.height, shape.channels};
  memory::dims right = {shape.channels, shape.filters};
  memory::dims made = {shape.height, shape.filters};
  for (memory::dims* dims : {&left, &right, &made}) {
    if (!constant) dims->insert(dims->begin(), shape.batch);
  }
  const Tag plain = constant ? Tag::ab : Tag::abc;
  const memory::desc source(left, shape.bytes ? Type::u8 : Type::f32, plain);
  const memory::desc weights(right, shape.bytes ? Type::s8 : Type::f32,
                             constant ? Tag::any : plain);
  const memory::desc result(made, shape.bytes ? Type::s32 : Type::f32, plain);
#if DNNL_VERSION_MAJOR >= 3
  const matmul::primitive_desc description(where, source, weights, result, attributes);
#else
  const matmul::primitive_desc description({source, weights, result}, attributes, where);
#endif
  Time(effort, shape, where, description, matmul(description));
}

}  // namespace

int main(int count, char** words) {
  const library_bench::Effort effort(count, words);
  engine where(engine::kind::cpu, 0);
  primitive_attr attributes;
  attributes.set_scratchpad_mode(scratchpad_mode::user);
  for (const Shape& shape : library_bench::Shapes()) {
    try {
      if (shape.kind == Shape::Kind::kProduct) {
        TimeProduct(effort, shape, where, attributes);
      } else {
        TimeConvolution(effort, shape, where, attributes);
      }
    } catch (const error& refused) {
      std::fprintf(stderr, "%s: %s\n", shape.name.c_str(), refused.what());
    }
  }
}
