// The trained tensors and the progress of a run, for callbacks in C++:
//
//   void on_grads_ready(const tenon::Run& run) {
//     const tenon::RunTensors tensors(run);
//     std::vector<tenon_tensor*> gradients;
//     for (size_t i = 0; i < tensors.size(); ++i) gradients.push_back(tensors[i].gradient);
//     const std::vector<double> norms = tensors.statistics(gradients, TENON_STATISTIC_NORM);
//   }
//
// run_tensors.h documents which tensors are available at which event.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "callback.hpp"
#include "detail/extension.hpp"
#include "run_progress.h"
#include "run_tensors.h"
#include "tensor.hpp"

namespace tenon {

// Returns the progress of the run within its epoch.
inline tenon_progress read_progress(const Run& run) {
  tenon_progress progress = {};
  progress.size = sizeof progress;
  detail::check(detail::require_extension<tenon_run_progress>(TENON_RUN_PROGRESS).read(run.get(), &progress));
  return progress;
}

// A trained tensor. The handles are valid until the callback function returns.
struct RunTensor {
  std::string name;
  tenon_tensor* value;
  tenon_tensor* gradient;  // null if there is no gradient at the event
};

class RunTensors {
 public:
  explicit RunTensors(const Run& run)
      : table_(detail::require_extension<tenon_run_tensors>(TENON_RUN_TENSORS)), run_(run.get()) {
    uint64_t count = 0;
    detail::check(table_.count(run_, &count));
    size_ = static_cast<size_t>(count);
  }

  size_t size() const { return size_; }

  RunTensor operator[](size_t index) const {
    tenon_run_tensor tensor = {};
    tensor.size = sizeof tensor;
    detail::check(table_.tensor(run_, index, &tensor));
    return {detail::copy(tensor.name), tensor.value, tensor.gradient};
  }

  OwnedTensor copy(const tenon_tensor* tensor) const {
    tenon_tensor* made = nullptr;
    detail::check(table_.copy(tensor, &made));
    return OwnedTensor(made);
  }

  // Computes for each tensor the statistics of `requested` (TENON_STATISTIC_...), in the order of their bits. `minus`
  // is empty, or contains the tensor to subtract from each tensor. Synchronises with the device once.
  std::vector<double> statistics(const std::vector<tenon_tensor*>& tensors, uint32_t requested,
                                 const std::vector<tenon_tensor*>& minus = {}) const {
    if (!minus.empty() && minus.size() != tensors.size()) {
      throw Error(TENON_INVALID_ARGUMENT, "statistics: " + std::to_string(minus.size()) +
                                              " tensors are subtracted from " + std::to_string(tensors.size()) +
                                              "; expected the same number, or none");
    }
    size_t each = 0;
    for (uint32_t bits = requested; bits != 0; bits >>= 1) each += bits & 1;
    std::vector<double> values(tensors.size() * each);
    detail::check(table_.statistics(tensors.data(), minus.empty() ? nullptr : minus.data(), tensors.size(), requested,
                                    values.data()));
    return values;
  }

 private:
  const tenon_run_tensors& table_;
  const tenon_run* run_;
  size_t size_ = 0;
};

}  // namespace tenon
