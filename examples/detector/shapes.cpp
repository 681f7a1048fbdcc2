// Object detection: images with up to four circles, squares and triangles, their boxes and their classes.
#include <algorithm>
#include <opencv2/core.hpp>
#include <opencv2/imgproc.hpp>
#include <tenon/draft/boxes.hpp>
#include <tenon/draft/field_details.hpp>
#include <tenon/plugin.hpp>

namespace {

using tenon::draft::Box;

enum Shape { circle, square, triangle };

struct Drawing {
  cv::Mat image;  // bytes of red, green and blue
  std::vector<Box> boxes;
  std::vector<int64_t> classes;
};

void draw_shape(cv::Mat& image, Shape shape, cv::Point centre, int radius, const cv::Scalar& colour) {
  const cv::Point across(radius, 0), down(0, radius);
  if (shape == circle) cv::circle(image, centre, radius, colour, cv::FILLED);
  if (shape == square) cv::rectangle(image, centre - across - down, centre + across + down, colour, cv::FILLED);
  if (shape == triangle)
    cv::fillConvexPoly(image, std::vector{centre - down, centre + down + across, centre + down - across}, colour);
}

class Shapes final {
 public:
  static std::vector<tenon::Param> schema() {
    return {tenon::param("samples", 2000).range("[1, inf)").doc("number of images"),
            tenon::param("size", 64).range("[32, 1024]").doc("height and width in pixels, a multiple of 4"),
            tenon::param("seed", 0).doc("other images for validation than for training")};
  }

  explicit Shapes(const tenon::Params& params)
      : samples_(params.integer("samples")),
        size_(static_cast<int>(params.integer("size"))),
        seed_(static_cast<uint64_t>(params.integer("seed"))) {
    cv::setNumThreads(1);  // the data workers of the host are the threads
  }

  // The number of objects differs between images, so their extents are -1. Shorter lists are padded, classes with -1.
  std::vector<tenon::Field> fields() const {
    return {{"image", TENON_FLOAT32, {3, size_, size_}, "red, green and blue in [0, 1]"},
            {"boxes", TENON_FLOAT32, {-1, 4}, "left, top, right and bottom in pixels"},
            {"classes", TENON_INT64, {-1}, "0: circle, 1: square, 2: triangle", -1}};
  }

  // The host draws the boxes. A batch of images without objects is padded to one object.
  std::vector<tenon::draft::FieldDetail> field_details() const {
    return {tenon::draft::boxes("boxes", "image", "classes").at_least(1), tenon::draft::at_least("classes", 1)};
  }

  std::vector<tenon::ClassNames> class_names() const { return {{"classes", {"circle", "square", "triangle"}}}; }

  int64_t size() const { return samples_; }

  void get(const tenon::Sample& sample, const tenon::Sink& sink) const {
    tenon::Random random(seed_, static_cast<uint64_t>(sample.index));  // the same images in every epoch
    const Drawing drawing = draw(random);
    cv::Mat planes[3];
    float* const image = sink.slot<float>("image");
    for (int i = 0; i < 3; ++i) planes[i] = cv::Mat(size_, size_, CV_32F, image + i * size_ * size_);
    cv::Mat values;
    drawing.image.convertTo(values, CV_32F, 1.0 / 255);
    cv::split(values, planes);

    const auto count = static_cast<int64_t>(drawing.boxes.size());
    float* boxes = sink.slot<float>("boxes", {count, 4});
    for (const Box& box : drawing.boxes) boxes = std::copy(box.begin(), box.end(), boxes);
    sink.put("classes", drawing.classes);
  }

 private:
  Drawing draw(tenon::Random& random) const {
    const auto pick = [&](int64_t from, int64_t to) { return static_cast<int>(from + random.integer(to - from)); };
    const auto pick_colour = [&](double from, double to) {  // braces: from left to right with every compiler
      return cv::Scalar{random.uniform(from, to), random.uniform(from, to), random.uniform(from, to)};
    };
    Drawing drawing{cv::Mat(size_, size_, CV_8UC3, pick_colour(0, 100)), {}, {}};
    for (int64_t wanted = random.integer(5); wanted > 0; --wanted) {
      const auto shape = static_cast<Shape>(random.integer(3));
      const int radius = pick(4, size_ / 6);
      const cv::Point centre{pick(radius, size_ - radius), pick(radius, size_ - radius)};
      const cv::Scalar colour = pick_colour(100, 256);
      const auto edge = [&](int at, int side) { return static_cast<float>(at + side * radius + (side > 0 ? 1 : 0)); };
      const Box box{edge(centre.x, -1), edge(centre.y, -1), edge(centre.x, 1), edge(centre.y, 1)};
      const auto overlaps = [&](const Box& other) { return tenon::draft::intersection_over_union(box, other) > 0.05F; };
      if (std::any_of(drawing.boxes.begin(), drawing.boxes.end(), overlaps)) continue;
      draw_shape(drawing.image, shape, centre, radius, colour);
      drawing.boxes.push_back(box);
      drawing.classes.push_back(shape);
    }
    return drawing;
  }

  int64_t samples_;
  int size_;
  uint64_t seed_;
};

}  // namespace

TENON_PLUGIN("shapes", "1.0.0", "MIT", "Drawn shapes with their boxes.",
             tenon::draft::detailed_dataset<Shapes>("shapes", "circles, squares and triangles with their boxes"))
