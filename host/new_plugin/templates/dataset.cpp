// A dataset: points of a square, and whether they are in the circle in its middle.
// The header tenon/dataset.hpp describes all functions of a dataset.
#include <tenon/plugin.hpp>

namespace {

class MyName final {
 public:
  static std::vector<tenon::Param> schema() {
    return {tenon::param("samples", 1000).range("[1, inf)").doc("number of points"),
            tenon::param("radius", 0.8).range("(0, 1]").doc("radius of the circle")};
  }

  // To read files, declare tenon::required<tenon::Path>("path"), and list the files here.
  explicit MyName(const tenon::Params& params)
      : samples_(params.integer("samples")), radius_(params.number("radius")) {}

  // A sample. Models, losses and metrics are connected to the fields by name, dtype and shape.
  std::vector<tenon::Field> fields() const {
    return {{"point", TENON_FLOAT32, {2}, "x and y, from -1 to 1"}, {"label", TENON_INT64, {}, "1: in the circle"}};
  }
  std::vector<tenon::ClassNames> class_names() const { return {{"label", {"outside", "inside"}}}; }
  int64_t size() const { return samples_; }

  // Several threads call this at the same time. It writes to the memory of the batch. Report a file that cannot be read
  // with `throw tenon::DataError(...)`.
  void get(const tenon::Sample& sample, const tenon::Sink& sink) const {
    tenon::Random random(sample.seed);  // the only randomness, so that any number of threads gives the same samples
    float* point = sink.slot<float>("point");
    point[0] = static_cast<float>(random.uniform(-1, 1));
    point[1] = static_cast<float>(random.uniform(-1, 1));
    sink.put<int64_t>("label", point[0] * point[0] + point[1] * point[1] < radius_ * radius_);
  }

 private:
  int64_t samples_;
  double radius_;
};

}  // namespace

TENON_PLUGIN("my_name", "0.1.0", "MIT", "The dataset my_name.",
             tenon::dataset<MyName>("my_name", "points of a square, and whether they are in a circle"))
