// The metric: average precision at an intersection over union of 0.5, the mean over the classes that have objects.
// Each detection, by descending score, matches the object of its class with the largest intersection that no detection
// before it has matched, as in COCO. The area is that under the highest precision at a recall or above it (Everingham
// et al., "The PASCAL VOC challenge: a retrospective", 2015).
#pragma once

#include <algorithm>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include <tenon/draft/boxes.hpp>
#include <tenon/plugin.hpp>

class AveragePrecision final {
 public:
  std::vector<tenon::Port> ports() const {
    return {tenon::input("found_boxes", "N,K,4", TENON_ANY_FLOAT, "by descending score"),
            tenon::input("found_classes", "N,K", TENON_INT64),
            tenon::input("scores", "N,K", TENON_ANY_FLOAT),
            tenon::input("found", "N", TENON_INT64, "number of found boxes; the others are padding"),
            tenon::input("boxes", "N,M,4", TENON_ANY_FLOAT),
            tenon::input("classes", "N,M", TENON_INT64),
            tenon::input("count", "N", TENON_INT64, "number of objects; the others are padding")};
  }
  static std::vector<std::pair<std::string, std::string>> usual_sources() {
    return {{"found", "result.found_boxes.lengths"}, {"count", "data.boxes.lengths"}};
  }

  // The rows of all images, image after image, in the same order in each state. All have the padding.
  std::vector<tenon::State> states() const {
    return {tenon::rows("detections", TENON_FLOAT32, {6}),  // left, top, right, bottom, class, score
            tenon::rows("objects", TENON_FLOAT32, {5}),     // left, top, right, bottom, class
            tenon::rows("counts", TENON_INT64, {4})};  // rows of detections, of these without padding; likewise objects
  }
  std::vector<tenon::MetricValue> values() const {
    return {tenon::higher_is_better("ap50", "average precision at an intersection over union of 0.5, in [0, 1]")};
  }

  void update(const tenon::Frame& frame, const tenon::Inputs& inputs) const {
    const auto column = [](const tenon::Tensor& numbers) { return unsqueeze(to_dtype(numbers, TENON_FLOAT32), 2); };
    const auto append = [&](uint64_t state, const std::vector<tenon::Tensor>& columns) {
      const tenon::Tensor rows = tenon::cat(columns, 2);
      const std::vector<int64_t> shape = rows.shape();
      frame.append(state, reshape(rows, {shape[0] * shape[1], shape[2]}));
      return shape[1];
    };
    const int64_t k = append(
        0, {to_dtype(inputs["found_boxes"], TENON_FLOAT32), column(inputs["found_classes"]), column(inputs["scores"])});
    const int64_t m = append(1, {to_dtype(inputs["boxes"], TENON_FLOAT32), column(inputs["classes"])});
    const tenon::Tensor count = inputs["found"], one = ones_like(count);
    frame.append(2, tenon::stack({one * k, count, one * m, inputs["count"]}, 1));
  }

  double compute(const tenon::Frame& frame) const {
    const float* detection = frame.tensor(0).data<float>();
    const float* object = frame.tensor(1).data<float>();
    const tenon::Tensor counts = frame.tensor(2);
    std::map<int64_t, Class> classes;
    for (int64_t image = 0; image < counts.shape()[0]; ++image) {
      const int64_t* const count = counts.data<int64_t>() + 4 * image;
      std::map<int64_t, std::vector<tenon::draft::Box>> left;  // objects without a detection
      for (int64_t i = 0; i < count[3]; ++i) left[class_of(object + 5 * i)].push_back(box_of(object + 5 * i));
      for (const auto& [kind, boxes] : left) classes[kind].objects += boxes.size();
      for (int64_t i = 0; i < count[1]; ++i) {
        const float* const row = detection + 6 * i;
        std::vector<tenon::draft::Box>& boxes = left[class_of(row)];
        const auto overlap = [&](const tenon::draft::Box& box) {
          return tenon::draft::intersection_over_union(box_of(row), box);
        };
        const auto best = std::max_element(boxes.begin(), boxes.end(),
                                           [&](const auto& a, const auto& b) { return overlap(a) < overlap(b); });
        const bool is_true = best != boxes.end() && overlap(*best) > 0.5F;
        classes[class_of(row)].found.push_back({row[5], is_true});
        if (is_true) boxes.erase(best);
      }
      detection += 6 * count[0];
      object += 5 * count[2];
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
};
