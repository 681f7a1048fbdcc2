// Predictions of a trained model in C++: a thin wrapper over predictor.h, which explains threads and memory. Functions
// throw PredictorError. Link libtenon_predictor: find_package(Tenon COMPONENTS predictor), Tenon::predictor.
//
//   tenon::draft::Predictor predictor({"photos.tenon"});
//   const auto prediction = predictor.run(tenon::draft::InputValue::image_file("cat.jpg"), 3);
//   for (const auto& found : prediction.top(0)) std::cout << found.name << ' ' << found.probability << '\n';
#pragma once

#include <cstddef>
#include <cstdint>
#include <fstream>
#include <functional>
#include <iterator>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "predictor.h"

namespace tenon::draft {

class PredictorError : public std::runtime_error {
 public:
  PredictorError(tenon_status status, const std::string& message) : std::runtime_error(message), status_(status) {}
  tenon_status status() const noexcept { return status_; }  // TENON_BAD_DATA, ...

 private:
  tenon_status status_;
};

struct PredictorOptions {
  std::string model;                                                    // path of the model file
  std::vector<std::string> plugins = {};                                // folders and files
  unsigned threads = 0;                                                 // of one prediction; 0: one per core
  unsigned concurrency = 1;                                             // predictions at the same time
  bool accepts_any_plugin = false;                                      // see TENON_PREDICTOR_ANY_PLUGIN
  std::string libtorch = {};                                            // folder; empty: that of the installation
  std::function<void(unsigned level, std::string_view line)> log = {};  // TENON_PREDICTOR_WARNING, ...; any thread
};

// The value of one input for one sample. It keeps what it is made of, except for pixels and elements, which must live
// until the prediction has been made.
class InputValue {
 public:
  // `data`: C-contiguous, of the input's dtype. `shape`: needed only where the input has extents of -1.
  template <class T>
  static InputValue elements(const T* data, size_t count, std::vector<int64_t> shape = {}) {
    InputValue value(TENON_INPUT_ELEMENTS);
    value.base_.data = data;
    value.base_.byte_count = count * sizeof(T);
    value.shape_ = std::move(shape);
    return value;
  }
  template <class T>
  static InputValue elements(const std::vector<T>& data, std::vector<int64_t> shape = {}) {
    return elements(data.data(), data.size(), std::move(shape));
  }

  // The bytes of an image file.
  static InputValue image(std::string bytes) {
    InputValue value(TENON_INPUT_IMAGE);
    value.bytes_ = std::move(bytes);
    return value;
  }
  static InputValue image_file(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    std::string bytes((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
    if (!file) throw PredictorError(TENON_BAD_DATA, path + ": cannot be read");
    return image(std::move(bytes));
  }

  // A cv::Mat of the type CV_8UC3, blue first as cv::imread returns it, or CV_8UC1.
  template <class Mat>
  static InputValue pixels(const Mat& image) {
    if (image.elemSize1() != 1 || (image.channels() != 1 && image.channels() != 3))
      throw PredictorError(TENON_INVALID_ARGUMENT, "an image with " + std::to_string(image.channels()) +
                                                       " channels of " + std::to_string(image.elemSize1()) +
                                                       " bytes; expected CV_8UC3 or CV_8UC1");
    InputValue value(TENON_INPUT_PIXELS);
    value.base_.pixels = image.channels() == 1 ? TENON_PIXELS_GREY : TENON_PIXELS_BGR;
    value.base_.data = image.data;
    value.base_.row_bytes = static_cast<int64_t>(image.step[0]);
    value.shape_ = {image.rows, image.cols};
    return value;
  }

  // The cells of a row, in the order of the input's columns.
  static InputValue row(std::vector<std::string> cells) {
    InputValue value(TENON_INPUT_ROW);
    value.cells_ = std::move(cells);
    return value;
  }

  // Valid while this object lives.
  const tenon_predictor_value* get() {
    base_.size = sizeof base_;
    base_.shape = shape_.data();
    base_.ndim = static_cast<uint32_t>(shape_.size());
    if (base_.kind == TENON_INPUT_IMAGE) {
      base_.data = bytes_.data();
      base_.byte_count = bytes_.size();
    }
    texts_.clear();
    for (const std::string& cell : cells_) texts_.push_back({cell.data(), cell.size()});
    base_.cells = texts_.data();
    base_.cell_count = texts_.size();
    return &base_;
  }

 private:
  explicit InputValue(uint32_t kind) { base_.kind = kind; }

  tenon_predictor_value base_ = {};
  std::vector<int64_t> shape_;
  std::string bytes_;
  std::vector<std::string> cells_;
  std::vector<tenon_string> texts_;
};

struct PredictedClass {
  int64_t number;
  std::string name;  // its number if the classes have no names
  float probability;
};

class Prediction {
 public:
  size_t samples() const { return static_cast<size_t>(base_->sample_count); }
  size_t output_count() const { return static_cast<size_t>(base_->output_count); }
  const tenon_predicted_output& output(size_t index) const { return *base_->outputs[index]; }
  const tenon_predicted_output& output(std::string_view name) const {
    for (uint64_t i = 0; i < base_->output_count; ++i)
      if (std::string_view(base_->outputs[i]->name.data, base_->outputs[i]->name.size) == name)
        return *base_->outputs[i];
    throw PredictorError(TENON_NOT_FOUND, "the model has no output " + std::string(name));
  }

  // The most probable classes of a sample, in descending order; empty if top_k was 0.
  std::vector<PredictedClass> top(size_t sample) const {
    std::vector<PredictedClass> found;
    for (uint64_t k = 0; k < base_->top_k; ++k) {
      const uint64_t place = sample * base_->top_k + k;
      const int64_t number = base_->top_classes[place];
      const bool has_name = static_cast<size_t>(number) < names_.size();
      found.push_back({number, has_name ? names_[static_cast<size_t>(number)] : std::to_string(number),
                       base_->top_probabilities[place]});
    }
    return found;
  }

 private:
  friend class Predictor;
  Prediction(const tenon_prediction* base, std::vector<std::string> names)
      : base_(base, &tenon_prediction_free), names_(std::move(names)) {}

  std::unique_ptr<const tenon_prediction, decltype(&tenon_prediction_free)> base_;
  std::vector<std::string> names_;  // of the classes of the first output
};

class Predictor {
 public:
  explicit Predictor(PredictorOptions options)
      : log_(std::make_unique<decltype(options.log)>(std::move(options.log))), base_(nullptr, &tenon_predictor_close) {
    std::vector<tenon_string> plugins;
    for (const std::string& path : options.plugins) plugins.push_back({path.data(), path.size()});
    tenon_predictor_options given = {};
    given.size = sizeof given;
    given.model = {options.model.data(), options.model.size()};
    given.plugins = plugins.data();
    given.plugin_count = plugins.size();
    given.threads = options.threads;
    given.concurrency = options.concurrency;
    given.flags = options.accepts_any_plugin ? uint32_t{TENON_PREDICTOR_ANY_PLUGIN} : 0;
    given.libtorch = {options.libtorch.data(), options.libtorch.size()};
    if (*log_)
      given.log = [](void* context, uint32_t level, tenon_string line) {
        (*static_cast<decltype(options.log)*>(context))(level, std::string_view(line.data, line.size));
      };
    given.log_context = log_.get();
    tenon_predictor* opened = nullptr;
    check(tenon_predictor_open(&given, &opened));
    base_.reset(opened);
  }

  // Inputs, outputs, classes and the description, valid while the predictor lives.
  const tenon_predictor_info& info() const { return *tenon_predictor_describe(base_.get()); }

  // Predicts one sample of a model with one input.
  Prediction run(InputValue value, uint64_t top_k = 0) {
    std::vector<InputValue> values;
    values.push_back(std::move(value));
    return run(std::move(values), top_k);
  }

  // Predicts a batch. `values`: for each sample all inputs, in the order of info().
  Prediction run(std::vector<InputValue> values, uint64_t top_k = 0) {
    std::vector<const tenon_predictor_value*> given;
    for (InputValue& value : values) given.push_back(value.get());
    tenon_predictor_request request = {};
    request.size = sizeof request;
    request.values = given.data();
    request.value_count = given.size();
    request.sample_count = given.size() / info().input_count;
    request.top_k = top_k;
    const tenon_prediction* prediction = nullptr;
    check(tenon_predictor_run(base_.get(), &request, &prediction));
    std::vector<std::string> names;
    const tenon_predictor_output& first = *info().outputs[0];
    for (uint64_t i = 0; top_k > 0 && i < first.class_count; ++i)
      names.emplace_back(first.classes[i].data, first.classes[i].size);
    return {prediction, std::move(names)};
  }

 private:
  static void check(tenon_status status) {
    if (status != TENON_OK) throw PredictorError(status, tenon_predictor_error());
  }

  std::unique_ptr<std::function<void(unsigned, std::string_view)>> log_;  // at one address
  std::unique_ptr<tenon_predictor, decltype(&tenon_predictor_close)> base_;
};

}  // namespace tenon::draft
