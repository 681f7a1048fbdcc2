// `host predict` with masks as pictures and with a page.
#include <doctest/doctest.h>

#include <sstream>

#include "framework/artifacts/files/encode.h"
#include "tests/artifacts/drawn_fields.h"
#include "tests/end_to_end/hosted_run.h"
#include "tests/evaluation/read_values.h"
#include "tests/messages.h"
#include "tests/test_folder.h"

using namespace tenon::end_to_end;
using tenon::count_parts;
using tenon::artifacts::decode_png;
namespace fs = std::filesystem;

namespace {

constexpr int kSide = 8;

std::string quoted(const fs::path& path) { return "\"" + path.string() + "\""; }

// A picture that is bright right of a column, and its mask.
void write_pair(const fs::path& folder, const std::string& name, int column) {
  std::string picture = "P6\n8 8\n255\n";
  std::vector<std::byte> mask, png;
  for (int pixel = 0; pixel < kSide * kSide; ++pixel) {
    const bool is_bright = pixel % kSide >= column;
    picture += std::string(3, static_cast<char>(is_bright ? 120 : 10));
    mask.push_back(static_cast<std::byte>(is_bright));
  }
  write_file(folder / "images" / (name + ".ppm"), picture);
  tenon::artifacts::encode_png(mask, kSide, kSide, 1, png);
  write_file(folder / "masks" / (name + ".png"), std::string(reinterpret_cast<const char*>(png.data()), png.size()));
}

// A trained run of a segmentation model.
std::string train_masks() {
  const fs::path data = make_empty_folder("data"), folder = make_empty_folder("run");
  for (int i = 0; i < 6; ++i) write_pair(data, "deep/" + std::to_string(i), 1 + i);
  const std::string dataset =
      "use = \"segmentation\"\nparams = { path = " + quoted(data) + ", classes = 2, transforms = [\"normalize()\"] }\n";
  const std::string config =
      write_file(folder / "masks.toml",
                 "[run]\nthreads = 1\noutput_dir = " + quoted(folder / "runs") +
                     "\n[model]\nuse = \"unet\"\nparams = { classes = 2, depth = 1, width = 2 }\n"
                     "[data]\nbatch_size = 2\nworkers = 0\n[data.train]\n" +
                     dataset + "[data.validation]\n" + dataset +
                     "[[loss]]\nuse = \"cross_entropy\"\n"
                     "[train]\nepochs = 2\n[optimizer]\nuse = \"adamw\"\nlr = 1e-2\n")
          .string();
  require_success(run_host({"--config", config}));
  return config;
}

void predict(const std::string& config, const std::vector<std::string>& more) {
  require_success(run_host(joined({"predict", "--config", config}, more)));
}

// The scores of this number of pictures.
std::vector<float> read_scores(const fs::path& path, size_t count) {
  const auto values = read_values<float>(tenon::artifacts::SafetensorsFile(path), "logits");
  REQUIRE(values.size() == count * 2 * kSide * kSide);
  return values;
}

std::vector<uint8_t> read_mask(const fs::path& file) {
  const std::string bytes = read_file(file);
  return decode_png(std::as_bytes(std::span(bytes)), 1);
}

}  // namespace

TEST_CASE("the masks of predict are the largest scores, also of unlabelled pictures and in two processes") {
  const std::string config = train_masks();
  const fs::path folder = make_empty_folder("predicted");
  const fs::path pictures = make_empty_folder("unlabelled");
  for (int i = 0; i < 3; ++i) {
    write_pair(pictures / "pairs", "x/" + std::to_string(i), 2 + i);
    fs::create_directories(pictures / "x");
    fs::rename(pictures / "pairs" / "images" / "x" / (std::to_string(i) + ".ppm"),
               pictures / "x" / (std::to_string(i) + ".ppm"));
  }
  fs::remove_all(pictures / "pairs");
  predict(config, {"--input", pictures.string(), "--masks", (folder / "masks").string()});
  predict(config, {"--input", pictures.string(), "--output", (folder / "scores.safetensors").string()});
  const std::vector<float> values = read_scores(folder / "scores.safetensors", 3);
  for (size_t i = 0; i < 3; ++i) {
    const std::string name = "x/" + std::to_string(i) + ".png";
    const std::vector<uint8_t> mask = read_mask(folder / "masks" / name);
    REQUIRE(mask.size() == kSide * kSide);
    const float* first = values.data() + i * 2 * kSide * kSide;
    for (size_t pixel = 0; pixel < mask.size(); ++pixel)
      CHECK(mask[pixel] == (first[pixel + kSide * kSide] > first[pixel] ? 1 : 0));
    predict(config, {"--input", pictures.string(), "--masks", (folder / ("two" + std::to_string(i))).string(),
                     "--processes", "2"});
    CHECK(read_file(folder / ("two" + std::to_string(i)) / name) == read_file(folder / "masks" / name));
  }
  check_errors(run_host({"predict", "--config", config, "--data", "validation", "--masks", folder.string()}), 2,
               {"has content; expected an empty folder, or one to create"});
}

TEST_CASE("--tta flip mirrors the scores of pixels back before the mean") {
  const std::string config = train_masks();
  const fs::path folder = make_empty_folder("predicted");
  const auto predict_scores = [&](const std::string& name, const std::vector<std::string>& more) {
    const fs::path path = folder / (name + ".safetensors");
    predict(config, joined(more, {"--data", "validation", "--output", path.string()}));
    return read_scores(path, 6);
  };
  const std::vector<float> plain = predict_scores("plain", {});
  const std::vector<float> mirrored = predict_scores(
      "mirrored", {"--set", R"toml(data.validation.params.transforms=["horizontal_flip(p=1)", "normalize()"])toml"});
  const std::vector<float> mean = predict_scores("mean", {"--tta", "flip"});
  CHECK(plain != mean);
  for (size_t row = 0; row < mean.size(); row += kSide)
    for (size_t x = 0; x < kSide; ++x)
      CHECK(mean[row + x] == doctest::Approx((plain[row + x] + mirrored[row + kSide - 1 - x]) / 2).epsilon(1e-5));
}

TEST_CASE("names of masks stay within the folder and differ") {
  const std::string config = train_masks();
  const fs::path outside = make_empty_folder("outside"), folder = make_empty_folder("predicted") / "masks";
  write_pair(outside, "a", 3);
  fs::copy_file(outside / "images" / "a.ppm", outside / "images" / "a.pnm.ppm");
  fs::copy_file(outside / "images" / "a.ppm", outside / "images" / "b.PPM");
  fs::copy_file(outside / "images" / "a.ppm", outside / "images" / "b.ppm");
  const std::string images = (outside / "images").string();
  predict(config, {"--input", images + "/../images/a.ppm", "--input", images + "/b.PPM", "--input", images + "/b.ppm",
                   "--masks", folder.string()});
  size_t files = 0;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) files += entry.is_regular_file();
  CHECK(files == 3);
}

TEST_CASE("the page of predict shows pictures, names, classes and probabilities") {
  const std::string config = train_masks();
  const fs::path page = make_empty_folder("page") / "page.html";
  predict(config, {"--data", "validation", "--page", page.string()});
  const std::string with_masks = read_file(page);
  CHECK(count_parts(with_masks, "<figcaption>") == 6);
  CHECK(with_masks.find("deep/0.ppm") != std::string::npos);
  const fs::path photos = make_empty_folder("photos"), run = make_empty_folder("run");
  for (const std::string kind : {"<dark>", "light"})
    for (int i = 0; i < 4; ++i)
      write_file(photos / kind / (std::to_string(i) + ".ppm"),
                 "P6\n8 8\n255\n" + std::string(3 * 64, static_cast<char>(kind == "light" ? 100 + i : i)));
  const std::string data =
      "use = \"image_folder\"\nparams = { path = " + quoted(photos) + ", transforms = [\"normalize()\"] }\n";
  const std::string folder_config =
      write_file(run / "photos.toml", "[run]\nthreads = 1\noutput_dir = " + quoted(run / "runs") +
                                          "\n[model]\nuse = \"small_cnn\"\n"
                                          "params = { channels = 3, classes = 2, width = 2 }\n"
                                          "[data]\nbatch_size = 4\nworkers = 0\n[data.train]\n" +
                                          data + "[data.validation]\n" + data +
                                          "[[loss]]\nuse = \"cross_entropy\"\n[train]\nepochs = 1\n"
                                          "[optimizer]\nuse = \"adamw\"\nlr = 1e-3\n")
          .string();
  require_success(run_host({"--config", folder_config}));
  const fs::path table = page.parent_path() / "table.csv";
  predict(folder_config, {"--data", "validation", "--top-k", "1", "--fields", "label", "--output", table.string(),
                          "--page", page.string()});
  // index,name,label,label.name,top.1,top.1.probability
  size_t wrong = 0;
  std::istringstream lines(read_file(table));
  std::string line;
  std::getline(lines, line);
  while (std::getline(lines, line)) {
    const bool is_dark = line.find("<dark>/") != std::string::npos;
    wrong += count_parts(line, is_dark ? "light" : "light") != (is_dark ? 0U : 3U);
  }
  const std::string text = read_file(page);
  CHECK(count_parts(text, "<figcaption>") == 8);
  CHECK(count_parts(text, "data:image/png;base64,") == 8);
  CHECK(count_parts(text, " (wrong)") == wrong);
  CHECK(count_parts(text, "&lt;dark&gt;/") == 4);
  CHECK(count_parts(text, "<dark>") == 0);
  CHECK(count_parts(text, "<br>predicted: ") == 8);
  CHECK(count_parts(text, "\u00A0%<br>") == 8);
  predict(folder_config, {"--data", "validation", "--page", (page.parent_path() / "two.html").string(), "--top-k", "1",
                          "--fields", "label", "--processes", "2"});
  CHECK(read_file(page.parent_path() / "two.html") == text);
}

TEST_CASE("predict refuses masks of a model without pixels, and to write nothing") {
  const std::string config = TENON_SOURCE_DIR "/configs/digits.toml";
  check_errors(run_host({"predict", "--config", config, "--data", "validation"}), 2,
               {"none of --output, --masks and --page is given"});
}
