// The tensors that a run trains, for whoever only looks at them.
#pragma once

#include <cstddef>
#include <string>

#include <tenon/tensor.h>

namespace tenon::plugins {

class TrainedTensors {
 public:
  virtual ~TrainedTensors() = default;
  // The same throughout a run, as are names and order.
  virtual size_t size() const = 0;
  virtual const std::string& name(size_t index) const = 0;
  // Borrowed until the run goes on. REQUIRES: index < size().
  virtual tenon_tensor* value(size_t index) const = 0;
  virtual tenon_tensor* gradient(size_t index) const = 0;  // null: there is none now
};

}  // namespace tenon::plugins
