// The kernels of kernels.cu, for sources that are not compiled by nvcc.
#pragma once

#include "cross_entropy_row.h"

namespace cuda_loss {

// These functions launch a kernel on the stream, a cudaStream_t, and do not wait for it. All pointers are addresses on
// the device with this index. They return an error message of CUDA, or null. T is float or double.

// losses: [rows], statistics: [rows].
template <class T>
const char* launch_forward(int32_t device, void* stream, const Batch<T>& batch, T* losses,
                           RowStatistics<T>* statistics);

// loss_gradients: [rows], logit_gradients: [rows, classes].
template <class T>
const char* launch_backward(int32_t device, void* stream, const Batch<T>& batch, const RowStatistics<T>* statistics,
                            const T* loss_gradients, T* logit_gradients);

}  // namespace cuda_loss
