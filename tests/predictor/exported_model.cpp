#include "tests/predictor/exported_model.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>
#include <tenon/draft/predictor.hpp>

#include "framework/artifacts/checkpoint/safetensors.h"
#include "tests/end_to_end/hosted_run.h"

namespace tenon::end_to_end {

namespace fs = std::filesystem;
using artifacts::SafetensorsFile;
using artifacts::TensorView;
using draft::InputValue;
using draft::Prediction;
using draft::Predictor;

std::string in_quotes(const fs::path& path) { return "\"" + path.string() + "\""; }

ExportedModel export_model(const std::string& name, const std::string& body, const std::string& train) {
  const fs::path folder = make_empty_folder(name);
  const std::string config =
      write_file(folder / "run.toml", "[run]\nthreads = 1\noutput_dir = " + in_quotes(folder / "runs") + "\n" + body +
                                          "[train]\nsteps = 1\n" + train +
                                          "[optimizer]\nuse = \"adamw\"\nlr = 1e-2\n"
                                          "[checkpoint]\nmonitor = \"\"\n[validation]\nevery = \"never\"\n")
          .string();
  require_success(run_host({"--config", config}));
  const std::string file = (folder / (name + ".tenon")).string();
  require_success(run_host({"export", "--config", config, "--output", file}));
  return {folder, config, file};
}

fs::path ExportedModel::predict(const std::vector<std::string>& arguments) const {
  const fs::path output = folder / "predictions.safetensors";
  fs::remove(output);
  require_success(run_host(joined({"predict", "--config", config, "--output", output.string()}, arguments)));
  return output;
}

namespace {

std::string name_of(tenon_string text) { return {text.data, static_cast<size_t>(text.size)}; }

// Row `row` of a field. Rows of different lengths are one after the other, with the offsets of their beginnings.
InputValue row_of(const SafetensorsFile& file, const std::string& field, size_t row) {
  if (const TensorView* const column = file.find(field)) {
    const size_t bytes = column->bytes / static_cast<size_t>(column->shape.front());
    return InputValue::elements(reinterpret_cast<const uint8_t*>(column->data) + row * bytes, bytes,
                                {column->shape.begin() + 1, column->shape.end()});
  }
  const TensorView *const values = file.find(field + ".values"), *const offsets = file.find(field + ".offsets");
  REQUIRE(values);
  REQUIRE(offsets);
  int64_t ends[2];
  std::memcpy(ends, offsets->data + row * sizeof(int64_t), sizeof ends);
  const size_t row_bytes = values->bytes / static_cast<size_t>(values->shape.front());
  std::vector<int64_t> shape = values->shape;
  shape.front() = ends[1] - ends[0];
  return InputValue::elements(reinterpret_cast<const uint8_t*>(values->data) + static_cast<size_t>(ends[0]) * row_bytes,
                              static_cast<size_t>(shape.front()) * row_bytes, shape);
}

void check_values(const SafetensorsFile& predicted, const tenon_predicted_output& output, size_t begin,
                  size_t samples) {
  const TensorView* const expected = predicted.find(name_of(output.name));
  REQUIRE(expected);
  CHECK(std::vector<int64_t>(output.shape + 1, output.shape + output.ndim) ==
        std::vector<int64_t>(expected->shape.begin() + 1, expected->shape.end()));
  const size_t row_bytes = expected->bytes / samples;
  REQUIRE(output.byte_count == row_bytes * static_cast<size_t>(output.shape[0]));
  CHECK(std::memcmp(output.elements, expected->data + begin * row_bytes, output.byte_count) == 0);
}

// Lists, such as boxes: the rows of all samples are one after the other.
void check_rows(const SafetensorsFile& predicted, const tenon_predicted_output& output, size_t begin) {
  const TensorView *const expected = predicted.find(name_of(output.name) + ".values"), *const offsets = predicted.find(
                                                                                           name_of(output.name) +
                                                                                           ".offsets");
  REQUIRE(expected);
  REQUIRE(offsets);
  const auto all = static_cast<size_t>(expected->shape.front());
  const size_t row_bytes = all == 0 ? 0 : expected->bytes / all;
  const size_t sample_bytes = output.byte_count / static_cast<size_t>(output.shape[0]);
  for (size_t i = 0; i < static_cast<size_t>(output.shape[0]); ++i) {
    int64_t ends[2];
    std::memcpy(ends, offsets->data + (begin + i) * sizeof(int64_t), sizeof ends);
    REQUIRE(output.row_counts[i] == ends[1] - ends[0]);
    const size_t bytes = static_cast<size_t>(output.row_counts[i]) * row_bytes;
    CHECK(std::memcmp(static_cast<const char*>(output.elements) + i * sample_bytes,
                      expected->data + static_cast<size_t>(ends[0]) * row_bytes, bytes) == 0);
  }
}

}  // namespace

void compare_with_host(const ExportedModel& exported, const std::vector<std::string>& plugins) {
  Predictor predictor({.model = exported.file, .plugins = plugins, .threads = 1});
  const tenon_predictor_info& info = predictor.info();
  std::string fields;
  for (uint64_t i = 0; i < info.input_count; ++i) fields += (i > 0 ? "," : "") + name_of(info.inputs[i]->name);
  const SafetensorsFile predicted(exported.predict({"--data", "validation", "--fields", fields}));
  const TensorView* const index = predicted.find("index");
  REQUIRE(index);
  const auto samples = static_cast<size_t>(index->shape.front());
  REQUIRE(samples > kBatch);
  for (size_t begin = 0; begin < samples; begin += kBatch) {
    const size_t end = std::min<size_t>(begin + kBatch, samples);
    std::vector<InputValue> values;
    for (size_t row = begin; row < end; ++row)
      for (uint64_t i = 0; i < info.input_count; ++i)
        values.push_back(row_of(predicted, name_of(info.inputs[i]->name), row));
    const Prediction prediction = predictor.run(std::move(values));
    REQUIRE(prediction.samples() == end - begin);
    for (size_t i = 0; i < prediction.output_count(); ++i) {
      const tenon_predicted_output& output = prediction.output(i);
      CAPTURE(name_of(output.name));
      if (output.row_counts)
        check_rows(predicted, output, begin);
      else
        check_values(predicted, output, begin, samples);
    }
  }
}

}  // namespace tenon::end_to_end
