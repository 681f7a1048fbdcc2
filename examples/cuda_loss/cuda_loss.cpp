// Softmax cross entropy with kernels in CUDA C++. On the CPU it computes the same in C++.
#include <algorithm>
#include <limits>
#include <tenon/plugin.hpp>

#include "kernels.h"

namespace {

using cuda_loss::Batch;
using cuda_loss::RowStatistics;
using tenon::Tensor;

template <class T>
void forward_on_cpu(const Batch<T>& batch, T* losses, RowStatistics<T>* statistics) {
  for (int64_t row = 0; row < batch.rows; ++row) {
    const T* const first = batch.logits + row * batch.classes;
    T largest = -std::numeric_limits<T>::infinity(), sum = 0;
    for (const T* logit = first; logit != first + batch.classes; ++logit) largest = std::fmax(largest, *logit);
    for (const T* logit = first; logit != first + batch.classes; ++logit) sum += std::exp(*logit - largest);
    statistics[row] = {largest, std::log(sum)};
    losses[row] = row_loss(batch, row, statistics[row]);
  }
}

template <class T>
void backward_on_cpu(const Batch<T>& batch, const RowStatistics<T>* statistics, const T* loss_gradients,
                     T* logit_gradients) {
  for (int64_t row = 0; row < batch.rows; ++row)
    for (int64_t label = 0; label < batch.classes; ++label)
      *logit_gradients++ = loss_gradients[row] * logit_gradient(batch, row, label, statistics[row]);
}

// The host allocates the memory, in the order of the stream.
Tensor make_empty(const Tensor& like, const std::vector<int64_t>& shape) {
  static const tenon::Op kNewEmpty("aten::new_empty");
  return like.checked_frame().call(kNewEmpty, {like, shape});
}

void check_launch(const char* error, const char* kernel) {
  if (error) throw tenon::Error(std::string("the kernel ") + kernel + " cannot be launched: " + error);
}

// The loss of each row.
class CrossEntropyFunction final {
 public:
  static constexpr size_t outputs = 1;
  static constexpr size_t saved = 3;  // logits, target, statistics

  explicit CrossEntropyFunction(int64_t ignore_index) : ignore_index_(ignore_index) {}

  std::vector<Tensor> forward(const tenon::Frame&, const std::vector<Tensor>& inputs,
                              std::vector<Tensor>& saved) const {
    const Tensor logits = contiguous(inputs[0]), target = contiguous(inputs[1]);
    const int64_t rows = logits.shape()[0];
    const Tensor losses = make_empty(logits, {rows}), statistics = make_empty(logits, {rows, 2});
    saved = {logits, target, statistics};
    if (logits.dtype() == TENON_FLOAT64)
      compute_losses<double>(logits, target, losses, statistics);
    else
      compute_losses<float>(logits, target, losses, statistics);
    return {losses};
  }

  std::vector<Tensor> backward(const tenon::Frame&, const std::vector<Tensor>& saved,
                               const std::vector<Tensor>& gradients) const {
    if (!gradients[0]) return {{}, {}};
    const Tensor& logits = saved[0];
    const Tensor loss_gradients = contiguous(gradients[0]);  // the gradient of a sum is an expanded tensor
    const Tensor logit_gradients = make_empty(logits, logits.shape());
    if (logits.dtype() == TENON_FLOAT64)
      compute_gradients<double>(logits, saved[1], saved[2], loss_gradients, logit_gradients);
    else
      compute_gradients<float>(logits, saved[1], saved[2], loss_gradients, logit_gradients);
    return {logit_gradients, {}};
  }

 private:
  template <class T>
  Batch<T> batch_of(const Tensor& logits, const Tensor& target) const {
    const std::vector<int64_t> shape = logits.shape();
    return {tenon::device_data<T>(logits), tenon::device_data<int64_t>(target), shape[0], shape[1], ignore_index_};
  }

  // A pair of numbers per row.
  template <class T>
  static RowStatistics<T>* rows_of(const Tensor& statistics) {
    static_assert(sizeof(RowStatistics<T>) == 2 * sizeof(T));
    return reinterpret_cast<RowStatistics<T>*>(tenon::device_data<T>(statistics));
  }

  template <class T>
  void compute_losses(const Tensor& logits, const Tensor& target, const Tensor& losses,
                      const Tensor& statistics) const {
    const Batch<T> batch = batch_of<T>(logits, target);
    T* const to = tenon::device_data<T>(losses);
    const tenon::Stream stream = tenon::current_stream(logits);
    if (stream.is_cuda())
      check_launch(launch_forward(stream.device_index, stream.handle, batch, to, rows_of<T>(statistics)), "forward");
    else
      forward_on_cpu(batch, to, rows_of<T>(statistics));
  }

  template <class T>
  void compute_gradients(const Tensor& logits, const Tensor& target, const Tensor& statistics,
                         const Tensor& loss_gradients, const Tensor& logit_gradients) const {
    const Batch<T> batch = batch_of<T>(logits, target);
    const T* const from = tenon::device_data<T>(loss_gradients);
    T* const to = tenon::device_data<T>(logit_gradients);
    const tenon::Stream stream = tenon::current_stream(logits);
    if (stream.is_cuda())
      check_launch(launch_backward(stream.device_index, stream.handle, batch, rows_of<T>(statistics), from, to),
                   "backward");
    else
      backward_on_cpu(batch, rows_of<T>(statistics), from, to);
  }

  int64_t ignore_index_;
};

class FusedCrossEntropy final {
 public:
  static std::vector<tenon::Param> schema() {
    return {tenon::param("ignore_index", -100).doc("target value that is ignored in the loss and in its weight")};
  }

  explicit FusedCrossEntropy(const tenon::Params& params)
      : ignore_index_(params.integer("ignore_index")), function_(ignore_index_) {}

  std::vector<tenon::Port> ports() const {
    return {tenon::input("logits", "N,C", TENON_DTYPE_BIT(TENON_FLOAT32) | TENON_DTYPE_BIT(TENON_FLOAT64),
                         "unnormalised log-probabilities of the classes"),
            tenon::input("target", "N", TENON_DTYPE_BIT(TENON_INT64), "class in [0, C), or ignore_index")};
  }

  std::vector<tenon::IndexInput> index_inputs() const {
    return {tenon::index_below("C", "target").ignoring(ignore_index_)};
  }

  tenon::LossResult forward(const tenon::Frame&, const tenon::Inputs& inputs) const {
    const Tensor target = inputs["target"];
    const Tensor total = sum(tenon::apply(function_, {inputs["logits"], target})[0]);
    // A tensor, because reading the number would synchronise with the device. Without targets the loss is 0.
    const Tensor weight = sum(ne(target, ignore_index_));
    return {total / (weight + eq(weight, 0)), weight};
  }

 private:
  int64_t ignore_index_;
  CrossEntropyFunction function_;  // must live until backward has finished
};

}  // namespace

TENON_PLUGIN("cuda_loss", "0.1.0", "Apache-2.0", "A loss with CUDA kernels.",
             tenon::loss<FusedCrossEntropy>("fused_cross_entropy",
                                            "softmax cross entropy in one kernel each for the loss and its gradient"),
             tenon::operators({"aten::new_empty"}))
