// Generates images at nearly the speed of a copy, so that a benchmark measures the work after data loading. A model can
// learn them: the brighter an image, the higher its class.
#include <algorithm>
#include <string>
#include <vector>

#include <tenon/plugin.hpp>

namespace {

constexpr uint64_t kOffsets = 4093;  // a prime; the number of different images of a class that are cut from the noise

// The noise has these levels in the lower half of the range. The class raises it towards the upper half.
constexpr int kNoiseLevels = 128;

class Synthetic final {
 public:
  static std::vector<tenon::Param> schema() {
    return {
        tenon::param("samples", 1024).range("[1, 1e9]").doc("number of images"),
        tenon::param("channels", 3).range("[1, 4096]").doc("channels of an image"),
        tenon::param("height", 224).range("[1, 65536]").doc("height of an image, in pixels"),
        tenon::param("width", 224).range("[1, 65536]").doc("width of an image, in pixels"),
        tenon::param("classes", 10).range("[1, 1e9]").doc("number of classes; sample i has class i % classes"),
        tenon::param("dtype", "float32")
            .choices({"float32", "uint8"})
            .doc("float32: [channels, height, width] in [0, 1); uint8: [height, width, channels]"),
    };
  }

  explicit Synthetic(const tenon::Params& params)
      : samples_(params.integer("samples")),
        channels_(params.integer("channels")),
        height_(params.integer("height")),
        width_(params.integer("width")),
        classes_(params.integer("classes")),
        is_float_(params.text("dtype") == "float32") {
    constexpr int64_t kMaxElements = int64_t{1} << 30;
    if (height_ * width_ > kMaxElements / channels_) {
      throw tenon::Error(TENON_INVALID_ARGUMENT,
                         "an image has channels x height x width = " + std::to_string(channels_) + " x " +
                             std::to_string(height_) + " x " + std::to_string(width_) + " elements; expected at most " +
                             std::to_string(kMaxElements));
    }
    tenon::Random random(0);
    const size_t count = static_cast<size_t>(elements()) + kOffsets;
    for (size_t i = 0; i < count; ++i) {
      const auto level = static_cast<uint8_t>(random.integer(kNoiseLevels));
      is_float_ ? noise_.push_back(static_cast<float>(level) / 256) : levels_.push_back(level);
    }
  }

  std::vector<tenon::Field> fields() const {
    const tenon::Field label = {"label", TENON_INT64, {}, "the class, from 0"};
    if (is_float_) return {{"image", TENON_FLOAT32, {channels_, height_, width_}, "noise, brighter by class"}, label};
    return {{"image", TENON_UINT8, {height_, width_, channels_}, "noise, brighter by class"}, label};
  }

  int64_t size() const { return samples_; }

  std::vector<tenon::ClassNames> class_names() const { return {{"label", {}, static_cast<uint64_t>(classes_)}}; }

  void get(const tenon::Sample& sample, const tenon::Sink& sink) const {
    const int64_t label = sample.index % classes_;
    const int level = static_cast<int>(static_cast<double>(label) / static_cast<double>(classes_) * kNoiseLevels);
    const size_t offset = tenon::Random(static_cast<uint64_t>(sample.index))() % kOffsets;
    if (is_float_) {
      copy_brighter(&noise_[offset], static_cast<float>(level) / 256, sink.slot<float>("image"));
    } else {
      copy_brighter(&levels_[offset], static_cast<uint8_t>(level), sink.slot<uint8_t>("image"));
    }
    sink.put("label", label);
  }

 private:
  int64_t elements() const { return channels_ * height_ * width_; }

  template <class T>
  void copy_brighter(const T* noise, T level, T* image) const {
    std::transform(noise, noise + elements(), image, [level](T value) { return static_cast<T>(value + level); });
  }

  int64_t samples_;
  int64_t channels_;
  int64_t height_;
  int64_t width_;
  int64_t classes_;
  bool is_float_;
  std::vector<float> noise_;  // only one of the two is used
  std::vector<uint8_t> levels_;
};

}  // namespace

TENON_PLUGIN("synthetic", "0.1.0", "Apache-2.0", "Synthetic images of any size for benchmarks.",
             tenon::dataset<Synthetic>("synthetic", "synthetic images of any size, for benchmarks"))
