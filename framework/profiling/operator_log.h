// What operators run while it watches, outermost calls alone: a convolution, not the three operators that make it.
#pragma once

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "framework/plugins/model.h"

namespace tenon::profiling {

// "layer1.0.conv1.weight" as "layer1.0.conv1"; "" of a tensor that stands in no module.
std::string module_of(const std::string& tensor);

struct LoggedOperator {
  std::string name;
  std::string module;  // "layer1.0.conv1", by the first of its inputs that is a tensor of the model; else ""
  int64_t macs = 0;    // with all that it called
  double seconds = 0;  // until it returned, which on CUDA is before it is done
};

// LibTorch tells it of each operator that is called, on any thread. One at a time.
class OperatorLog {
 public:
  // `model`: whose tensors are looked for, by their memory.
  explicit OperatorLog(const std::vector<plugins::NamedTensor>& model);
  ~OperatorLog();
  OperatorLog(const OperatorLog&) = delete;
  OperatorLog& operator=(const OperatorLog&) = delete;

  const std::vector<LoggedOperator>& operators() const;
  const std::set<std::string>& uncounted() const;  // see is_uncounted()
  int64_t macs() const;                            // of all of them

 private:
  class Observer;
  static Observer* current_;  // LibTorch's callbacks are functions without state

  std::unique_ptr<Observer> observer_;
  uint64_t handle_;
};

// Gives a module to the operators that have none: the innermost one that holds those of both neighbours. Attention
// between `attn.query` and `attn.output` is so `attn`'s. At the ends, the neighbour's own.
void complete_modules(std::vector<LoggedOperator>& operators);

}  // namespace tenon::profiling
