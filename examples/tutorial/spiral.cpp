#include <cmath>
#include <tenon/plugin.hpp>

// Points on two interleaved spirals. The label is the spiral that the point is on.
class Spiral final {
 public:
  static std::vector<tenon::Param> schema() {
    return {tenon::param("samples", 1000).range("[1, inf)").doc("number of points"),
            tenon::param("noise", 0.02)
                .range("[0, inf)")
                .doc("standard deviation of the noise on the points")};
  }

  explicit Spiral(const tenon::Params& params)
      : samples_(params.integer("samples")), noise_(params.number("noise")) {}

  std::vector<tenon::Field> fields() const {
    return {{"point", TENON_FLOAT32, {2}, "x and y"}, {"label", TENON_INT64, {}, "0 or 1"}};
  }
  int64_t size() const { return samples_; }

  void get(const tenon::Sample& sample, const tenon::Sink& sink) const {
    // Seeded per sample: any number of workers gives the same points.
    tenon::Random random(sample.seed);
    const int64_t label = sample.index % 2;
    const double radius = random.uniform(0.1, 1);
    const double angle = 7 * radius + 3.14159265 * static_cast<double>(label);
    // The memory of the batch: no copy is needed.
    float* point = sink.slot<float>("point");
    point[0] = static_cast<float>(radius * std::cos(angle) + noise_ * random.normal());
    point[1] = static_cast<float>(radius * std::sin(angle) + noise_ * random.normal());
    sink.put<int64_t>("label", label);
  }

 private:
  int64_t samples_;
  double noise_;
};

TENON_PLUGIN("spiral", "1.0.0", "MIT", "Two spirals.",
             tenon::dataset<Spiral>("spiral", "points of two spirals"))
