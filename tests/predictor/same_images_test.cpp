// Inputs as a program has them: files of images, pixels, and rows of a table.
#include <doctest/doctest.h>

#include <cstring>
#include <opencv2/imgcodecs.hpp>
#include <tenon/draft/predictor.hpp>

#include "framework/artifacts/checkpoint/safetensors.h"
#include "tests/end_to_end/hosted_run.h"
#include "tests/evaluation/read_values.h"
#include "tests/messages.h"
#include "tests/predictor/exported_model.h"

using namespace tenon::end_to_end;
using tenon::artifacts::SafetensorsFile;
using tenon::draft::InputValue;
using tenon::draft::Prediction;
using tenon::draft::Predictor;
using tenon::draft::PredictorError;
namespace fs = std::filesystem;

namespace {

// Pictures of several sizes in two folders, as PNG and JPEG. A JPEG of twice the size is decoded at half of it.
std::vector<fs::path> write_pictures(const fs::path& root) {
  std::vector<fs::path> files;
  for (int i = 0; i < 6; ++i) {
    cv::Mat image(20 + 9 * i, 30 + 5 * i, CV_8UC3);
    for (int y = 0; y < image.rows; ++y)
      for (int x = 0; x < image.cols; ++x)
        image.at<cv::Vec3b>(y, x) = {static_cast<uchar>(5 * x + i), static_cast<uchar>(7 * y),
                                     static_cast<uchar>(x * y)};
    const fs::path file = root / (i % 2 == 0 ? "bird" : "cat") / (std::to_string(i) + (i < 3 ? ".png" : ".jpg"));
    fs::create_directories(file.parent_path());
    REQUIRE(cv::imwrite(file.string(), image));
    files.push_back(file);
  }
  return files;
}

// `more`: parameters of the data. `tables`: the end of the run file, which then normalises.
ExportedModel export_images(const fs::path& root, const std::string& more = "", const std::string& transforms = "",
                            const std::string& tables = "") {
  const std::string normalize = tables.empty() ? ", \"normalize()\"" : "";
  const std::string dataset = "use = \"image_folder\"\nparams = { path = " + in_quotes(root) + more +
                              ", transforms = [" + transforms + "\"resize(16)\", \"center_crop(16)\"" + normalize +
                              "] }\n";
  return export_model("images",
                      "[model]\nuse = \"small_cnn\"\nparams = { width = 4 }\n[data]\nbatch_size = 1\n"
                      "workers = 0\n[data.train]\n" +
                          dataset + "[data.validation]\n" + dataset + "[[loss]]\nuse = \"cross_entropy\"\n" + tables);
}

std::vector<float> floats_of(const tenon_predicted_output& output) {
  std::vector<float> values(output.byte_count / sizeof(float));
  std::memcpy(values.data(), output.elements, output.byte_count);
  return values;
}

std::vector<float> predict_by_host(const ExportedModel& exported, const fs::path& input) {
  return read_values<float>(SafetensorsFile(exported.predict({"--input", input.string(), "--outputs", "logits"})),
                            "logits");
}

}  // namespace

TEST_CASE("files and pixels of images have the bits of host predict, and classes have names") {
  const fs::path root = make_empty_folder("pictures");
  const std::vector<fs::path> files = write_pictures(root);
  const ExportedModel exported = export_images(root);
  Predictor predictor({.model = exported.file, .threads = 1});
  REQUIRE(predictor.info().input_count == 1);
  CHECK(predictor.info().inputs[0]->accepts == (TENON_INPUT_ELEMENTS | TENON_INPUT_IMAGE | TENON_INPUT_PIXELS));
  for (const fs::path& file : files) {
    CAPTURE(file.string());
    const std::vector<float> expected = predict_by_host(exported, file);
    const Prediction prediction = predictor.run(InputValue::image_file(file.string()), 2);
    CHECK(floats_of(prediction.output("logits")) == expected);
    const auto top = prediction.top(0);
    REQUIRE(top.size() == 2);
    CHECK(top[0].name == (expected[0] >= expected[1] ? "bird" : "cat"));
    CHECK(top[0].probability >= top[1].probability);
    CHECK(top[0].probability + top[1].probability == doctest::Approx(1));
    // A PNG is the pixels. The view has gaps between its rows.
    if (file.extension() != ".png") continue;
    const cv::Mat image = cv::imread(file.string());
    cv::Mat large(image.rows + 2, image.cols + 3, CV_8UC3, cv::Scalar(9, 9, 9));
    image.copyTo(large(cv::Rect(3, 2, image.cols, image.rows)));
    const cv::Mat view = large(cv::Rect(3, 2, image.cols, image.rows));
    CHECK(floats_of(predictor.run(InputValue::pixels(view)).output("logits")) == expected);
  }
}

TEST_CASE("settings of the decoding are those of the data") {
  const fs::path root = make_empty_folder("pictures");
  const std::vector<fs::path> files = write_pictures(root);
  const std::vector<float> scaled = predict_by_host(export_images(root), files.back());
  const ExportedModel exported = export_images(root, ", scaled_decoding = false");
  Predictor predictor({.model = exported.file, .threads = 1});
  const std::vector<float> found =
      floats_of(predictor.run(InputValue::image_file(files.back().string())).output("logits"));
  CHECK(found == predict_by_host(exported, files.back()));
  CHECK(found != scaled);
}

TEST_CASE("images that the run normalises in whole batches") {
  const fs::path root = make_empty_folder("pictures");
  const std::vector<fs::path> files = write_pictures(root);
  const ExportedModel exported = export_images(root, "", "", "[[data.batch_transform]]\nuse = \"normalize\"\n");
  Predictor predictor({.model = exported.file, .threads = 1});
  CHECK(predictor.info().inputs[0]->dtype == TENON_UINT8);
  CHECK(floats_of(predictor.run(InputValue::image_file(files[1].string())).output("logits")) ==
        predict_by_host(exported, files[1]));
}

TEST_CASE("an image that cannot be decoded, and values of another kind, are refused by name") {
  const fs::path root = make_empty_folder("pictures");
  write_pictures(root);
  Predictor predictor({.model = export_images(root).file, .threads = 1});
  const auto check_refused = [&](InputValue value, tenon_status status, const std::string& text) {
    CAPTURE(text);
    try {
      predictor.run(std::move(value));
      FAIL("it was accepted");
    } catch (const PredictorError& error) {
      CHECK(error.status() == status);
      CAPTURE(error.what());
      CHECK(tenon::contains(error.what(), text));
    }
  };
  check_refused(InputValue::image("no image"), TENON_BAD_DATA, "sample 0, input image");
  check_refused(InputValue::image(""), TENON_BAD_DATA, "sample 0, input image");
  check_refused(InputValue::row({"1"}), TENON_INVALID_ARGUMENT, "expected TENON_INPUT_ELEMENTS or TENON_INPUT_IMAGE");
  check_refused(InputValue::elements(std::vector<float>(5)), TENON_INVALID_ARGUMENT, "has 20 bytes; expected 3072");
  check_refused(InputValue::elements(std::vector<float>(5), {5}), TENON_INVALID_ARGUMENT,
                "the value has the shape [5]; expected [3, 16, 16]");
}

TEST_CASE("an input with random transforms accepts elements alone, and the log says so") {
  const fs::path root = make_empty_folder("pictures");
  write_pictures(root);
  const ExportedModel exported = export_images(root, "", "\"horizontal_flip()\", ");
  std::string log;
  Predictor predictor({.model = exported.file, .threads = 1, .log = [&](unsigned level, std::string_view line) {
                         if (level == TENON_PREDICTOR_WARNING) log += line;
                       }});
  CHECK(predictor.info().inputs[0]->accepts == TENON_INPUT_ELEMENTS);
  CHECK(tenon::contains(log, "the preprocessing of image is random"));
}

TEST_CASE("rows of a table have the bits of host predict") {
  const fs::path folder = make_empty_folder("table");
  std::string table = "weight,origin,year,mpg\n";
  std::vector<std::vector<std::string>> rows;
  for (int i = 0; i < 9; ++i) {
    rows.push_back({std::to_string(1000 + 37 * i) + ".25",
                    i % 3 == 0   ? "usa"
                    : i % 3 == 1 ? "japan, far"
                                 : "europe",
                    i == 4 ? "" : std::to_string(70 + i)});
    table += rows.back()[0] + ",\"" + rows.back()[1] + "\"," + rows.back()[2] + "," + std::to_string(15 + i) + "\n";
  }
  const std::string dataset =
      "use = \"table\"\nparams = { path = " + in_quotes(write_file(folder / "cars.csv", table)) +
      ", target = \"mpg\", task = \"regression\", missing = \"mean\" }\n";
  const ExportedModel exported = export_model(
      "cars",
      "[model]\nuse = \"mlp\"\nparams = { hidden = [4], classes = 1 }\ninputs = { image = \"data.features\" }\n"
      "[data]\nbatch_size = 1\nworkers = 0\n[data.train]\n" +
          dataset + "[data.validation]\n" + dataset + "[[loss]]\nuse = \"mse\"\n");
  const std::vector<float> expected =
      read_values<float>(SafetensorsFile(exported.predict({"--data", "validation"})), "logits");
  // The data need not exist.
  fs::remove(folder / "cars.csv");
  Predictor predictor({.model = exported.file, .threads = 1});
  const tenon_predictor_input& input = *predictor.info().inputs[0];
  CHECK(input.accepts == (TENON_INPUT_ELEMENTS | TENON_INPUT_ROW));
  REQUIRE(input.column_count == 3);
  CHECK(std::string(input.columns[1].data, input.columns[1].size) == "origin");
  for (size_t i = 0; i < rows.size(); ++i)
    CHECK(floats_of(predictor.run(InputValue::row(rows[i])).output("logits")) == std::vector{expected[i]});
  try {
    predictor.run(InputValue::row({"heavy", "usa", "70"}));
    FAIL("it was accepted");
  } catch (const PredictorError& error) {
    CHECK(error.status() == TENON_BAD_DATA);
    CHECK(tenon::contains(error.what(), "column \"weight\""));
    CHECK(tenon::contains(error.what(), "sample 0, input features"));
  }
}
