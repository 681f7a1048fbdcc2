// The memory of a sample for tests: fields of any shape.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include <tenon/dataset.hpp>

class SampleSlots {
 public:
  explicit SampleSlots(std::vector<tenon::Field> fields) : fields_(std::move(fields)) {
    bytes_.resize(fields_.items().size());
    sink_.size = sizeof sink_;
    sink_.context = this;
    sink_.slot = [](const tenon_sink* sink, uint64_t field, const int64_t* shape, uint32_t ndim, void** memory) {
      auto& self = *static_cast<SampleSlots*>(sink->context);
      size_t count = 8;  // the largest element
      for (uint32_t i = 0; i < ndim; ++i) count *= static_cast<size_t>(shape[i]);
      self.shape.assign(shape, shape + ndim);
      if (self.bytes_[field].size() < count) self.bytes_[field].resize(count);
      *memory = self.bytes_[field].data();
      return tenon_status{TENON_OK};
    };
  }
  tenon::Sink sink() const { return {&sink_, &fields_}; }
  template <class T>
  const T* get(size_t field) const {
    return reinterpret_cast<const T*>(bytes_[field].data());
  }

  std::vector<int64_t> shape;  // of the last slot

 private:
  tenon::detail::Table<tenon::Field> fields_;
  std::vector<std::vector<std::byte>> bytes_;
  tenon_sink sink_ = {};
};
