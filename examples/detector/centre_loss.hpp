// The loss: a focal loss of the centres (Law and Deng, arXiv:1808.01244), and the error of the sides in the cells that
// have a centre. Both are sums over all places, divided by the number of objects.
#pragma once

#include <string>
#include <vector>

#include <tenon/draft/loss_sums.hpp>
#include <tenon/plugin.hpp>

#include "centre_net.hpp"

class CentreLoss final {
 public:
  std::vector<tenon::Port> ports() const {
    return {tenon::input("heat", "N,C,Y,X", TENON_ANY_FLOAT), tenon::input("sides", "N,4,Y,X", TENON_ANY_FLOAT),
            tenon::input("boxes", "N,M,4", TENON_ANY_FLOAT, "left, top, right and bottom in pixels"),
            tenon::input("classes", "N,M", TENON_INT64, "-1: padding")};
  }
  std::vector<tenon::IndexInput> index_inputs() const { return {tenon::index_below("C", "classes").ignoring(-1)}; }
  std::vector<std::string> parts() const { return {"centres", "sides"}; }

  tenon::draft::LossSum forward(const tenon::Frame&, const tenon::Inputs& inputs) const {
    const tenon::Tensor heat = to_dtype(inputs["heat"], TENON_FLOAT32), classes = inputs["classes"];
    const std::vector<int64_t> extents = heat.shape();
    const int64_t n = extents[0], kinds = extents[1], rows = extents[2], columns = extents[3];
    const int64_t m = classes.shape()[1];
    constexpr double kStride = CentreNet::kStride;

    // Each object: the middle, the size and the cell, [N, M].
    const tenon::Tensor valid = to_dtype(ge(classes, 0), TENON_FLOAT32);
    const tenon::Tensor boxes = to_dtype(inputs["boxes"], TENON_FLOAT32) / kStride;  // in cells
    const auto side = [&](int64_t i) { return select(boxes, 2, i); };
    const tenon::Tensor size = (side(2) - side(0) + side(3) - side(1)) / 2;
    const tenon::Tensor x = clamp(floor((side(0) + side(2)) / 2), 0, static_cast<double>(columns - 1));
    const tenon::Tensor y = clamp(floor((side(1) + side(3)) / 2), 0, static_cast<double>(rows - 1));

    // A bump around each centre, and the highest one of each class and cell: [N, M, C, Y, X] to [N, C, Y, X].
    const tenon::Tensor from_x = tenon::arange(heat, columns, TENON_FLOAT32) - reshape(x, {n, m, 1, 1});
    const tenon::Tensor from_y =
        reshape(tenon::arange(heat, rows, TENON_FLOAT32), {rows, 1}) - reshape(y, {n, m, 1, 1});
    const tenon::Tensor deviation = clamp_min(reshape(size, {n, m, 1, 1}) / 6, 0.3);
    const tenon::Tensor bump = exp(-(from_x * from_x + from_y * from_y) / (deviation * deviation * 2));
    const tenon::Tensor of_class =
        to_dtype(one_hot(clamp_min(classes, 0), kinds), TENON_FLOAT32) * reshape(valid, {n, m, 1});
    const tenon::Tensor target = amax(unsqueeze(bump, 2) * reshape(of_class, {n, m, kinds, 1, 1}), {1});

    const tenon::Tensor probability = sigmoid(heat), is_centre = to_dtype(eq(target, 1), TENON_FLOAT32);
    const tenon::Tensor found = is_centre * pow(1 - probability, 2) * softplus(-heat);
    const tenon::Tensor invented = (1 - is_centre) * pow(1 - target, 4) * pow(probability, 2) * softplus(heat);
    const tenon::Tensor centres = sum(found + invented);

    // The sides in the cells of the centres, [N, 4, M].
    const tenon::Tensor cell = to_dtype(y * static_cast<double>(columns) + x, TENON_INT64);
    const tenon::Tensor all = reshape(to_dtype(inputs["sides"], TENON_FLOAT32), {n, 4, rows * columns}) / kStride;
    const tenon::Tensor predicted = gather(all, 2, expand(unsqueeze(cell, 1), {n, 4, m}));
    const tenon::Tensor expected =
        tenon::stack({x + 0.5 - side(0), y + 0.5 - side(1), side(2) - x - 0.5, side(3) - y - 0.5}, 1);
    const tenon::Tensor sides = sum(abs(predicted - expected) * unsqueeze(valid, 1));

    tenon::draft::LossSum result(centres + sides * 0.1, sum(valid));
    result.parts = {detach(centres), detach(sides)};
    return result;
  }
};
