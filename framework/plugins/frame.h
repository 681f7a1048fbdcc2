// What one call on the training thread happens within: the host's side of tenon_frame.
#pragma once

#include <thread>
#include <vector>

#include <ATen/core/Tensor.h>

#include <tenon/host.h>

namespace tenon::plugins {

// Where a run stands, as a frame tells it.
struct RunPosition {
  bool training = false;
  int64_t step = 0;
  int64_t epoch = 0;
  uint32_t rank = 0;
  uint32_t world_size = 1;
};

class Frame {
 public:
  // `handles`: what tenon_frame.tensors points to; must outlive the frame.
  Frame(const RunPosition& position, const std::vector<tenon_tensor*>& handles);
  Frame(const Frame&) = delete;
  Frame& operator=(const Frame&) = delete;

  const tenon_frame* get() const { return &base_; }

  // The Frame whose get() this is.
  static Frame& of(const tenon_frame* base) { return *reinterpret_cast<Frame*>(const_cast<tenon_frame*>(base)); }

  bool is_on_this_thread() const { return thread_ == std::this_thread::get_id(); }
  // Keeps the tensor until the frame ends and returns its handle.
  tenon_tensor* keep(at::Tensor tensor);

 private:
  tenon_frame base_;  // first, so that of() finds the way back
  std::thread::id thread_;
  std::vector<at::Tensor> kept_;
};

}  // namespace tenon::plugins
