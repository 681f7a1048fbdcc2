#include "kernels.h"

namespace cuda_loss {

namespace {

// One warp computes one row, so that rows of a few classes and of a large vocabulary are both read coalesced.
constexpr int kWarp = 32;
constexpr int kRowsPerBlock = 8;
constexpr unsigned kAllLanes = 0xffffffff;

// Every lane receives the result. The order of the operations is fixed, so results are deterministic.
template <class T, class Reduction>
__device__ T reduce_warp(T value, const Reduction& reduction) {
  for (int distance = kWarp / 2; distance > 0; distance /= 2)
    value = reduction(value, __shfl_xor_sync(kAllLanes, value, distance));
  return value;
}

// All lanes of a warp have the same row, and leave together if there is none.
__device__ int64_t row_of_warp() { return static_cast<int64_t>(blockIdx.x) * kRowsPerBlock + threadIdx.y; }

template <class T>
__global__ void forward(Batch<T> batch, T* losses, RowStatistics<T>* statistics) {
  const int64_t row = row_of_warp();
  if (row >= batch.rows) return;
  const T* const logits = batch.logits + row * batch.classes;
  T largest = -INFINITY;
  for (int64_t label = threadIdx.x; label < batch.classes; label += kWarp) largest = fmax(largest, logits[label]);
  largest = reduce_warp(largest, [](T a, T b) { return fmax(a, b); });
  T sum = 0;
  for (int64_t label = threadIdx.x; label < batch.classes; label += kWarp) sum += exp(logits[label] - largest);
  sum = reduce_warp(sum, [](T a, T b) { return a + b; });
  if (threadIdx.x != 0) return;
  statistics[row] = {largest, log(sum)};
  losses[row] = row_loss(batch, row, statistics[row]);
}

template <class T>
__global__ void backward(Batch<T> batch, const RowStatistics<T>* statistics, const T* loss_gradients,
                         T* logit_gradients) {
  const int64_t row = row_of_warp();
  if (row >= batch.rows) return;
  const RowStatistics<T> of_row = statistics[row];
  const T loss_gradient = loss_gradients[row];
  for (int64_t label = threadIdx.x; label < batch.classes; label += kWarp)
    logit_gradients[row * batch.classes + label] = loss_gradient * logit_gradient(batch, row, label, of_row);
}

dim3 blocks_for(int64_t rows) { return dim3(static_cast<unsigned>((rows + kRowsPerBlock - 1) / kRowsPerBlock)); }

const char* message_of(cudaError_t error) { return error == cudaSuccess ? nullptr : cudaGetErrorString(error); }

// The plugin contains a copy of the CUDA runtime, so it sets the current device of that copy. Returns an error of the
// launch. A later call of the host reports errors of the running kernel.
template <class Launch>
const char* launch_on(int32_t device, int64_t rows, const Launch& launch) {
  if (rows == 0) return nullptr;  // a grid must have a block
  if (const cudaError_t error = cudaSetDevice(device); error != cudaSuccess) return message_of(error);
  launch(blocks_for(rows), dim3(kWarp, kRowsPerBlock));
  return message_of(cudaGetLastError());
}

}  // namespace

template <class T>
const char* launch_forward(int32_t device, void* stream, const Batch<T>& batch, T* losses,
                           RowStatistics<T>* statistics) {
  return launch_on(device, batch.rows, [&](dim3 blocks, dim3 threads) {
    forward<<<blocks, threads, 0, static_cast<cudaStream_t>(stream)>>>(batch, losses, statistics);
  });
}

template <class T>
const char* launch_backward(int32_t device, void* stream, const Batch<T>& batch, const RowStatistics<T>* statistics,
                            const T* loss_gradients, T* logit_gradients) {
  return launch_on(device, batch.rows, [&](dim3 blocks, dim3 threads) {
    backward<<<blocks, threads, 0, static_cast<cudaStream_t>(stream)>>>(batch, statistics, loss_gradients,
                                                                        logit_gradients);
  });
}

template const char* launch_forward(int32_t, void*, const Batch<float>&, float*, RowStatistics<float>*);
template const char* launch_forward(int32_t, void*, const Batch<double>&, double*, RowStatistics<double>*);
template const char* launch_backward(int32_t, void*, const Batch<float>&, const RowStatistics<float>*, const float*,
                                     float*);
template const char* launch_backward(int32_t, void*, const Batch<double>&, const RowStatistics<double>*, const double*,
                                     double*);

}  // namespace cuda_loss
