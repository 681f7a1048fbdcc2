// Read-only access to the tensors that a run trains.
#pragma once

#include <cstddef>
#include <string>

#include <tenon/tensor.h>

namespace tenon::components {

class TrainedTensors {
 public:
  virtual ~TrainedTensors() = default;
  // Size, names and order never change during a run.
  virtual size_t size() const = 0;
  virtual const std::string& name(size_t index) const = 0;
  // Borrowed until the run continues. REQUIRES: index < size().
  virtual tenon_tensor* value(size_t index) const = 0;
  virtual tenon_tensor* gradient(size_t index) const = 0;  // null: there is currently no gradient
};

}  // namespace tenon::components
