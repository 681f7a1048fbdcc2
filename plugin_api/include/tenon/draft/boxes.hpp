// Boxes of object detection, for metrics and for results on the CPU. A draft: it may change or be removed in any
// release.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

namespace tenon::draft {

// Left, top, right, bottom.
using Box = std::array<float, 4>;

inline float area(const Box& box) { return std::max(box[2] - box[0], 0.0F) * std::max(box[3] - box[1], 0.0F); }

// Intersection over union, in [0, 1]; 0 if both boxes are empty.
inline float intersection_over_union(const Box& a, const Box& b) {
  const float shared = area({std::max(a[0], b[0]), std::max(a[1], b[1]), std::min(a[2], b[2]), std::min(a[3], b[3])});
  const float united = area(a) + area(b) - shared;
  return united > 0 ? shared / united : 0;
}

// Non-maximum suppression, as torchvision.ops.nms: takes the box with the highest score and removes all boxes with an
// intersection over union above `threshold` with it, and so on. Returns the indices of the taken boxes by descending
// score; of equal scores the first index is first. Boxes of different `classes` do not remove each other, as in
// torchvision.ops.batched_nms; empty: one class. REQUIRES: as many scores as boxes, and as many or no classes.
inline std::vector<size_t> suppress_overlaps(const std::vector<Box>& boxes, const std::vector<float>& scores,
                                             double threshold, const std::vector<int64_t>& classes = {}) {
  std::vector<size_t> order(boxes.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return scores[a] > scores[b]; });
  std::vector<size_t> taken;
  for (const size_t i : order) {
    const bool is_removed = std::any_of(taken.begin(), taken.end(), [&](size_t other) {
      return (classes.empty() || classes[i] == classes[other]) &&
             static_cast<double>(intersection_over_union(boxes[other], boxes[i])) > threshold;
    });
    if (!is_removed) taken.push_back(i);
  }
  return taken;
}

}  // namespace tenon::draft
