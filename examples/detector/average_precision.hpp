// The metric: average precision at an intersection over union of 0.5, the area under the curve of precision over recall
// with the highest precision at this or a higher recall (Everingham et al., "The PASCAL VOC challenge: a
// retrospective", 2015), and the mean over the classes that have objects.
#pragma once

#include <algorithm>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include <tenon/draft/boxes.hpp>
#include <tenon/plugin.hpp>

#include "centre_net.hpp"

class AveragePrecision final {
 public:
  static std::vector<tenon::Param> schema() {
    return {tenon::param("most", 20)
                .range("[1, inf)")
                .doc("detections of an image that count, those with the highest scores")};
  }
  explicit AveragePrecision(const tenon::Params& params) : most_(params.integer("most")) {}

  std::vector<tenon::Port> ports() const {
    return {tenon::input("heat", "N,C,Y,X", TENON_ANY_FLOAT), tenon::input("sides", "N,4,Y,X", TENON_ANY_FLOAT),
            tenon::input("boxes", "N,M,4", TENON_ANY_FLOAT), tenon::input("classes", "N,M", TENON_INT64, "-1: padding"),
            tenon::input("count", "N", TENON_INT64, "number of objects")};
  }
  static std::vector<std::pair<std::string, std::string>> usual_sources() { return {{"count", "classes.lengths"}}; }

  // The rows of all images, image after image, in the same order in each state.
  std::vector<tenon::State> states() const {
    return {tenon::rows("detections", TENON_FLOAT32, {most_, 6}),  // left, top, right, bottom, class, score
            tenon::rows("objects", TENON_FLOAT32, {5}),            // left, top, right, bottom, class; also the padding
            tenon::rows("counts", TENON_INT64, {2})};              // rows of `objects`, and how many are objects
  }
  std::vector<tenon::MetricValue> values() const {
    return {tenon::higher_is_better("ap50", "average precision at an intersection over union of 0.5, in [0, 1]")};
  }

  void update(const tenon::Frame& frame, const tenon::Inputs& inputs) const {
    frame.append(0, detect(to_dtype(inputs["heat"], TENON_FLOAT32), to_dtype(inputs["sides"], TENON_FLOAT32)));
    const tenon::Tensor classes = inputs["classes"], count = inputs["count"];
    const int64_t n = classes.shape()[0], m = classes.shape()[1];
    const tenon::Tensor kinds = to_dtype(reshape(classes, {n, m, 1}), TENON_FLOAT32);
    frame.append(1, reshape(tenon::cat({to_dtype(inputs["boxes"], TENON_FLOAT32), kinds}, 2), {n * m, 5}));
    frame.append(2, tenon::stack({ones_like(count) * m, count}, 1));
  }

  double compute(const tenon::Frame& frame) const {
    const float* detection = frame.tensor(0).data<float>();
    const float* object = frame.tensor(1).data<float>();
    const tenon::Tensor counts = frame.tensor(2);
    std::map<int64_t, Class> classes;
    for (int64_t image = 0; image < counts.shape()[0]; ++image) {
      const int64_t rows = counts.data<int64_t>()[2 * image], count = counts.data<int64_t>()[2 * image + 1];
      std::map<int64_t, std::vector<tenon::draft::Box>> left;  // objects without a detection
      for (int64_t i = 0; i < count; ++i) left[class_of(object + 5 * i)].push_back(box_of(object + 5 * i));
      for (const auto& [kind, boxes] : left) classes[kind].objects += boxes.size();
      for (int64_t i = 0; i < most_; ++i, detection += 6) {  // by descending score
        std::vector<tenon::draft::Box>& boxes = left[class_of(detection)];
        const auto overlap = [&](const tenon::draft::Box& box) {
          return tenon::draft::intersection_over_union(box_of(detection), box);
        };
        const auto best = std::max_element(boxes.begin(), boxes.end(),
                                           [&](const auto& a, const auto& b) { return overlap(a) < overlap(b); });
        const bool is_true = best != boxes.end() && overlap(*best) > 0.5F;
        classes[class_of(detection)].found.push_back({detection[5], is_true});
        if (is_true) boxes.erase(best);
      }
      object += 5 * rows;
    }
    double total = 0, counted = 0;
    for (auto& [kind, one] : classes) {
      if (one.objects == 0) continue;
      total += area_under_curve(one);
      ++counted;
    }
    return counted > 0 ? total / counted : std::numeric_limits<double>::quiet_NaN();
  }

 private:
  struct Detection {
    float score;
    bool is_true;
  };
  struct Class {
    std::vector<Detection> found;
    size_t objects = 0;
  };

  static tenon::draft::Box box_of(const float* row) { return {row[0], row[1], row[2], row[3]}; }
  static int64_t class_of(const float* row) { return static_cast<int64_t>(row[4]); }

  // The cells with the highest probabilities among their neighbours, as [N, most, 6].
  tenon::Tensor detect(const tenon::Tensor& heat, const tenon::Tensor& sides) const {
    constexpr double kStride = CentreNet::kStride;
    const std::vector<int64_t> extents = heat.shape();
    const int64_t n = extents[0], cells = extents[2] * extents[3], columns = extents[3];
    const tenon::Tensor peaks = eq(max_pool2d(heat, 3, 1, 1), heat);
    const tenon::Tensor scores = sigmoid(heat) * to_dtype(peaks, TENON_FLOAT32);
    const tenon::TopK top = topk(reshape(scores, {n, extents[1] * cells}), most_);
    const tenon::Tensor place = to_dtype(top.indices, TENON_FLOAT32);  // exact below 2^24
    const tenon::Tensor kind = floor(place / static_cast<double>(cells));
    const tenon::Tensor cell = place - kind * static_cast<double>(cells);
    const tenon::Tensor row = floor(cell / static_cast<double>(columns));
    const tenon::Tensor x = (cell - row * static_cast<double>(columns) + 0.5) * kStride, y = (row + 0.5) * kStride;
    const tenon::Tensor of_cell =
        gather(reshape(sides, {n, 4, cells}), 2, expand(unsqueeze(to_dtype(cell, TENON_INT64), 1), {n, 4, most_}));
    const auto side = [&](int64_t i) { return select(of_cell, 1, i); };
    return tenon::stack({x - side(0), y - side(1), x + side(2), y + side(3), kind, top.values}, 2);
  }

  static double area_under_curve(Class& one) {
    std::stable_sort(one.found.begin(), one.found.end(),
                     [](const Detection& a, const Detection& b) { return a.score > b.score; });
    std::vector<double> precisions;  // at each true detection
    size_t seen = 0;
    for (const Detection& detection : one.found) {
      ++seen;
      if (detection.is_true)
        precisions.push_back(static_cast<double>(precisions.size() + 1) / static_cast<double>(seen));
    }
    double area = 0, highest = 0;
    for (size_t i = precisions.size(); i-- > 0;) {
      highest = std::max(highest, precisions[i]);
      area += highest / static_cast<double>(one.objects);
    }
    return area;
  }

  int64_t most_;
};
