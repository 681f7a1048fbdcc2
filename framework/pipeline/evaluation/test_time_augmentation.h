// Test-time augmentation: the mean of a model's outputs for a batch and for its mirrored images.
#pragma once

#include "framework/pipeline/build/compute_losses.h"

namespace tenon::pipeline {

// Fills batch_tensors.outputs. Runs the model as run_model() does, with evaluation.test_time_augmentation. With flip,
// it also runs the model on the images [N, C, H, W] mirrored left to right, and each output becomes the mean of both.
// Outputs of pixels are mirrored back before that: [N, C, H, W], or [N, H, W] with the size of an image. Throws
// Error(configuration) naming the model if it has no input of images, or an output without a mean: one that is not
// floating-point, or of which it is unknown whether it holds pixels.
void run_augmented_model(Evaluation& evaluation, BoundDataset& data, BatchTensors& batch_tensors,
                         const components::StepContext& context);

}  // namespace tenon::pipeline
