// Runs forward, losses and backward of a batch as CUDA graphs.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>
#include <c10/core/StreamGuard.h>

#include "framework/pipeline/build/training.h"
#include "framework/support/compute/compute_device.h"

namespace tenon::pipeline {

// A small model's step takes less time on the device than the host needs to submit its hundreds of kernels one by one.
// A CUDA graph submits them all with one call. The first batches run as usual. Then one batch is recorded, its inputs,
// gradients and results staying at fixed addresses, and every later batch of the same shapes is copied there and
// replayed. The first batch of a step, which sets the gradients, and the following ones, which add to them, have
// separate graphs.
//
// Before a graph is used, the batch after the recorded one runs twice as usual and once as a graph, from the same
// random state. If the results of the graph differ by more than those of the two usual runs, the graph is not used.
// Batches of other shapes run as usual.
class BatchGraphs {
 public:
  // Runs forward, losses and backward of a batch: accumulates the gradients of the parameters and sets the outputs.
  using Compute = std::function<std::vector<components::Loss::Result>(BatchTensors& batch_tensors)>;

  // Returns the reason why this training cannot use graphs; "" if it can.
  static std::string find_obstacle(const Training& training);

  // `written`: tensors that Compute changes besides gradients and buffers of the model. While the object exists, this
  // thread uses another stream of the device than the default one, which cannot be recorded. REQUIRES:
  // find_obstacle(training) is empty.
  BatchGraphs(Training& training, std::vector<at::Tensor> written);
  // Waits for the device.
  ~BatchGraphs();
  BatchGraphs(const BatchGraphs&) = delete;
  BatchGraphs& operator=(const BatchGraphs&) = delete;

  // Call it before the first batch of an epoch: forgets the graphs if the trainable parameters or the dataset have
  // changed.
  void start_epoch();

  // Runs a batch as a graph or as usual. Throws what compute() throws and, for train.cuda_graph = "on",
  // Error(configuration) if the batch cannot be recorded.
  std::vector<components::Loss::Result> run(BatchTensors& batch_tensors, bool is_first, const Compute& compute);

  int64_t replays() const { return replays_; }  // number of batches that ran as a graph

 private:
  struct Recorded;
  struct State;
  struct Computed;

  bool fits(const BatchTensors& batch_tensors) const;
  void record(const BatchTensors& batch_tensors, bool is_first, const Compute& compute);
  std::vector<components::Loss::Result> verify(Recorded& recorded, BatchTensors& batch_tensors, const Compute& compute);
  Computed compute_as_usual(BatchTensors batch_tensors, const State& before, const Compute& compute);
  std::unique_ptr<Recorded> capture(const BatchTensors& batch_tensors, bool is_first, const Compute& compute);
  std::vector<components::Loss::Result> replay(Recorded& recorded, BatchTensors& batch_tensors);
  State save_state() const;
  void restore(const State& state) const;
  void take_results(Computed& computed) const;
  std::vector<at::Tensor> gradients() const;
  void set_gradients(const std::vector<at::Tensor>& gradients) const;
  void forget();
  void give_up();
  void report(const std::string& reason) const;

  Training& training_;
  std::vector<at::Tensor> written_;     // what a batch changes besides gradients
  std::vector<at::Tensor> parameters_;  // trainable or not
  std::unique_ptr<c10::StreamGuard> stream_;
  std::vector<bool> trained_;           // which parameters need a gradient in this epoch
  const BoundDataset* data_ = nullptr;  // of this epoch
  bool is_off_ = false;
  std::vector<at::Tensor> fields_;  // the inputs of the graphs; before the recording: of the last batch
  int64_t same_ = 0;                // number of batches in a row with the shapes of fields_
  std::vector<at::Tensor> static_gradients_;
  std::unique_ptr<Recorded> first_, following_;  // null: not recorded
  bool is_first_replayed_ = false;               // the first batch of this step ran as a graph
  int64_t replays_ = 0;
};

// Whether `replayed` has the numbers of `usual`. `again`: those of a second usual run. Operators with atomic additions
// do not repeat exactly, so differences are allowed up to 10 times the largest one between the two usual runs, of any
// tensor, plus 4 units in the last place of the tensor's dtype. The difference of two tensors is the largest one of
// their elements, relative to the largest absolute value of `usual`. One pair of runs does not show which tensors
// differ in another, so all tensors have the same limit. The lists have tensors of the same shapes and dtypes. Waits
// for the device.
bool is_repeated(const std::vector<at::Tensor>& usual, const std::vector<at::Tensor>& again,
                 const std::vector<at::Tensor>& replayed);

}  // namespace tenon::pipeline
