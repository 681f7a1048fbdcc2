// Records the operators that run during its lifetime. It records only outermost calls: a convolution, not the three
// operators inside it.
#pragma once

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "framework/components/kinds/model.h"

namespace tenon::profiling {

struct LoggedOperator {
  std::string name;
  std::string module;  // "layer1.0.conv1": the module of the first input that is a tensor of the model; else ""
  int64_t macs = 0;    // multiply-accumulates, including inner operators; one is two FLOPs
  double seconds = 0;  // until the call returned; on CUDA before the kernel is done
};

// Counts the multiply-accumulates (MACs) of the operators that dominate the time of a network: matrix products,
// convolutions and attention. Activations, normalisation, pooling and sums count as 0, as in
// torch.utils.flop_counter.FlopCounterMode.
//
// LibTorch calls it for each operator on any thread. Only one log can exist at a time.
class OperatorLog {
 public:
  // `model` has the tensors that identify modules. Tensors are compared by their memory.
  explicit OperatorLog(const std::vector<components::NamedTensor>& model);
  ~OperatorLog();
  OperatorLog(const OperatorLog&) = delete;
  OperatorLog& operator=(const OperatorLog&) = delete;

  const std::vector<LoggedOperator>& operators() const;
  const std::set<std::string>& uncounted() const;  // see is_uncounted()
  int64_t macs() const;                            // of all operators

 private:
  class Observer;
  static Observer* current_;  // required because LibTorch callbacks have no state

  std::unique_ptr<Observer> observer_;
  uint64_t handle_;
};

// Whether the operator has many MACs that the log cannot count: recurrent layers of cuDNN and oneDNN.
bool is_uncounted(std::string_view name);

// Assigns a module to operators without one: the innermost module that contains the modules of both neighbours.
// Attention between `attn.query` and `attn.output` belongs to `attn`. At the ends, it is the module of the only
// neighbour.
void complete_modules(std::vector<LoggedOperator>& operators);

}  // namespace tenon::profiling
