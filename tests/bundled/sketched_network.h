// Compares an image classifier with the same network in PyTorch. Both sides compute weights and images with a formula.
// tests/parity/sketch_network.py writes the reference, and has the same formulas.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "framework/components/kinds/model.h"

namespace tenon::bundled {

constexpr int64_t kSketchClasses = 5;

struct SketchedCase {
  std::string name;
  std::vector<int64_t> image;  // [C, H, W]
};

// The tensors of sketch_network() for a case, [..., 4] or [..., kSketchClasses].
struct Sketch {
  at::Tensor logits, training_logits, gradients, buffers, losses;
};

// Reads the reference of a case. `file` is a file name in tests/parity/reference.
Sketch read_sketch(const std::string& file, const SketchedCase& of);
at::Tensor read_values(const std::string& file, const std::string& name);

// Returns images [4, C, H, W], float64.
at::Tensor make_images(const SketchedCase& of, int64_t step);

// Fills the model's tensors with the values of the formula. Converts floating-point tensors to this dtype.
void fill(const components::Model& model, at::ScalarType dtype);

// Checks logits of evaluation in double precision with doctest. The tolerances are those of rounding.h.
void check_evaluation(const components::Model& model, const SketchedCase& of, const Sketch& expected);
// Checks some steps of training in double precision: logits, gradients, losses, buffers.
void check_training(const components::Model& model, const SketchedCase& of, const Sketch& expected);
// Checks logits of evaluation and training in single precision.
void check_single_precision(const components::Model& model, const SketchedCase& of, const Sketch& expected);

// Checks logits of evaluation in single precision with the current weights of the model. Changes the weights.
void check_published(const components::Model& model, const at::Tensor& images, const at::Tensor& logits);

// Returns the largest difference of a row, relative to the largest expected number of the row, or to 1e-6 if the row is
// smaller, that is zero except for rounding.
double distance(const at::Tensor& found, const at::Tensor& expected);

// Checks that a training pass with activation checkpointing recomputes all nodes of this name in the autograd graph, of
// which there are `count` without it, and that it has the same gradients and buffers. `open` makes equal models.
void check_checkpointing(const std::function<components::Model()>& open, const at::Tensor& images,
                         const std::string& node, int64_t count);

// Checks the number of trainable values, and the digest of the tensors' names, dtypes and shapes. describe_tensors()
// computes the digest.
void check_tensors(const components::Model& model, int64_t parameters, const std::string& digest);

}  // namespace tenon::bundled
