// Checks of the model before and in the first step: of its weights, of ranks, and of batches with one sample.
#pragma once

#include <ATen/core/Tensor.h>

#include "framework/pipeline/build/training.h"

namespace tenon::pipeline {

// Walks the autograd graph of `total`. Throws Error(plugin) if it contains a tensor that requires grad and is not a
// parameter of the model: it would silently be neither trained nor saved. Visits every node, so call it only in the
// first step.
void check_registered(const Training& training, const at::Tensor& total);

// Warns of trainable parameters without a gradient after the backward of the first step.
void warn_without_gradient(const Training& training);

// Compares the model's tensors bit by bit between ranks. Throws Error(plugin) on all ranks, naming the first tensor
// that differs. Does nothing in a single process.
void check_ranks(const Training& training);

// If some batch of an epoch has 1 sample on some rank, runs the model on a fake sample in training mode, without
// gradients. Leaves weights, buffers and random states unchanged. Reads no sample, so it does nothing if the sizes of
// the model's inputs differ between samples; the step then throws. Throws Error(configuration) with the place in the
// run file if a batch norm gets one value per channel. Every rank gets the same result.
void check_batch_norm(Training& training);

}  // namespace tenon::pipeline
