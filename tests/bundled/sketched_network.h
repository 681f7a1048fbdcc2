// A network that classifies images against the same one in PyTorch, with weights and images that both sides take from a
// formula: tests/parity/sketch_network.py made the figures, and has the same formulas.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "framework/plugins/model.h"

namespace tenon::bundled {

constexpr int64_t kSketchClasses = 5;

struct SketchedCase {
  std::string name;
  std::vector<int64_t> image;  // [C, H, W]
};

// What sketch_network() says of each, [..., 4] or [..., kSketchClasses].
struct Sketch {
  at::Tensor logits, training_logits, gradients, buffers, losses;
};

// `file`: its name in tests/parity/reference.
Sketch read_sketch(const std::string& file, const SketchedCase& of);
at::Tensor read_figures(const std::string& file, const std::string& name);

// [4, C, H, W], float64.
at::Tensor make_images(const SketchedCase& of, int64_t step);

// Gives the model's tensors the values of the formula; floating ones become of this dtype.
void fill(const plugins::Model& model, at::ScalarType dtype);

// Checks, with doctest, logits of evaluation in double precision. The tolerances are those of rounding.h.
void check_evaluation(const plugins::Model& model, const SketchedCase& of, const Sketch& expected);
// Checks some steps of training in double precision: logits, gradients, losses, buffers.
void check_training(const plugins::Model& model, const SketchedCase& of, const Sketch& expected);
// Checks logits of evaluation and training in single precision.
void check_single_precision(const plugins::Model& model, const SketchedCase& of, const Sketch& expected);

// Checks logits of evaluation in single precision with the weights that the model has. Leaves others behind.
void check_published(const plugins::Model& model, const at::Tensor& images, const at::Tensor& logits);

enum class Which { parameters, buffers };
std::vector<at::Tensor> tensors_of(const plugins::Model& model, Which which);
std::vector<at::Tensor> gradients_of(const plugins::Model& model);

// The largest difference of a row, in parts of the largest number that the row should have, or of 1e-6 where all of it
// is smaller: what is zero but for rounding.
double distance(const at::Tensor& found, const at::Tensor& expected);

// Nodes of this name in the graph behind `output`.
int64_t count_nodes(const at::Tensor& output, const std::string& name);

// Checks that the model has so many values to train, and of its tensors' names, dtypes and shapes the digest that
// describe_tensors() makes.
void check_tensors(const plugins::Model& model, int64_t parameters, const std::string& digest);

}  // namespace tenon::bundled
