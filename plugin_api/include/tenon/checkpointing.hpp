// Activation checkpointing in C++, see checkpointing.h:
//
//   const auto run = [this](const tenon::Frame& frame, const tenon::Tensor& x) { return block(frame, x); };
//   x = tenon::checkpoint(frame, run, x);
//
// Backward calls the function again. It must capture what it needs by value, or refer to data of the component, which
// outlives every backward. Among the tensors that are not inputs, only the model's tensors (frame.tensor) receive a
// gradient.
#pragma once

#include <utility>
#include <vector>

#include "checkpointing.h"
#include "detail/extension.hpp"
#include "detail/instance.hpp"
#include "gradient.hpp"

namespace tenon {
namespace detail {

TENON_HIDDEN inline const tenon_checkpointing& checkpointing() {
  static const auto* const table = find_extension<tenon_checkpointing>(TENON_CHECKPOINTING);
  if (!table) throw Error(TENON_UNSUPPORTED, "this host does not support " TENON_CHECKPOINTING);
  return *table;
}

template <class Function>
struct TENON_HIDDEN SegmentTable {
  static tenon_status forward(void* self, const tenon_frame* frame, tenon_tensor* const* inputs, uint64_t input_count,
                              tenon_tensor** outputs, uint64_t output_count) {
    return guard([&] {
      const Frame within(frame);
      put_tensors((*static_cast<Function*>(self))(within, borrow_tensors(within, inputs, input_count)), outputs,
                  output_count, "outputs of a segment");
    });
  }

  static constexpr tenon_segment table = {sizeof(tenon_segment), &forward, &destroy<Function>};
};

}  // namespace detail

// Runs a segment with several inputs and outputs. `function`: std::vector<Tensor>(const Frame&, const
// std::vector<Tensor>&).
template <class Function>
std::vector<Tensor> checkpoint(const Frame& frame, Function function, const std::vector<Tensor>& inputs,
                               size_t output_count) {
  const std::vector<tenon_tensor*> handles = detail::handles_of(inputs);
  std::vector<tenon_tensor*> outputs(output_count, nullptr);
  detail::check(detail::checkpointing().run(frame.get(), &detail::SegmentTable<Function>::table,
                                            new Function(std::move(function)), handles.data(), handles.size(),
                                            outputs.data(), outputs.size()));
  return detail::borrow_tensors(frame, outputs.data(), outputs.size());
}

// Runs a segment with one input and one output. `function`: Tensor(const Frame&, const Tensor&).
template <class Function>
Tensor checkpoint(const Frame& frame, Function function, const Tensor& input) {
  return checkpoint(
             frame,
             [function = std::move(function)](const Frame& within, const std::vector<Tensor>& inputs) {
               return std::vector<Tensor>{function(within, inputs[0])};
             },
             std::vector<Tensor>{input}, 1)
      .front();
}

}  // namespace tenon
