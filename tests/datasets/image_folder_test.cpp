// Tests the built plugin through the C table that the host uses.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "tests/datasets/opened_dataset.h"
#include "tests/datasets/written_images.h"

namespace image_folder_test {

namespace {

const std::string kPlugin = TENON_BINARY_DIR "/plugins/image_folder.so";

using Texts = std::vector<std::string>;

const std::string kUnchanged = "normalize(mean=0, std=1)";

ParamValues make_params(const std::filesystem::path& path, const ParamValues& changes = {}) {
  return with_changes({{"path", path.string()}, {"transforms", Texts{"resize(8)", "center_crop(8)", kUnchanged}}},
                      changes);
}

// Two classes with one image each: a gradient of 64 x 32 pixels, and a green square.
std::filesystem::path make_two_classes() {
  const std::filesystem::path root = make_empty_folder("two_classes");
  write_file(root / "gradient" / "a.png", encode(".png", make_gradient(64, 32)));
  write_file(root / "green" / "a.png", encode(".png", cv::Mat(8, 8, CV_8UC3, cv::Scalar(0, 255, 0))));
  return root;
}

std::string refusal(const ParamValues& params) {
  return error_of<Refused>([&] { OpenedDataset(kPlugin, params); });
}

}  // namespace

TEST_CASE("image_folder gives normalised planes and the class") {
  const OpenedDataset images(
      kPlugin,
      make_params(make_two_classes(), {{"transforms", Texts{"resize(8)", "center_crop(8)",
                                                            "normalize(mean=(0, 0.5, 0), std=(1, 0.25, 1))"}}}));
  CHECK(images.size() == 2);
  CHECK(images.describe_fields() == std::vector<std::string>{"image float32 3,8,8", "label int64"});
  CHECK(images.describe_classes() == Texts{"label: gradient, green"});
  CHECK(images.integer(0, "label") == 0);
  CHECK(images.integer(1, "label") == 1);
  const std::vector<float> green = images.floats(1, "image");
  CHECK(std::all_of(green.begin(), green.begin() + 64, [](float value) { return value == 0; }));
  CHECK(std::all_of(green.begin() + 64, green.begin() + 128, [](float value) { return value == 2; }));
  CHECK(std::all_of(green.begin() + 128, green.end(), [](float value) { return value == 0; }));
}

TEST_CASE("a fault that leaves the pixels of a PNG intact is logged, first as a warning") {
  const std::filesystem::path root = make_two_classes();
  std::vector<uint8_t> png = encode(".png", make_gradient(64, 32));
  const std::vector<uint8_t> text = {0, 0, 0, 1, 't', 'E', 'X', 't', 'a', 0, 0, 0, 0};  // with a wrong checksum
  png.insert(png.begin() + 33, text.begin(), text.end());                               // after the header
  const std::filesystem::path file = root / "gradient" / "a.png";
  write_file(file, png);
  const OpenedDataset images(kPlugin, make_params(root));
  images.floats(0, "image");
  images.floats(1, "image");
  images.floats(0, "image");
  const std::string expected = file.string() + ": decoded, but its file has a fault: tEXt: CRC error";
  CHECK(OpenedDataset::log() == Texts{expected + "; further messages of this kind are only in the log", expected});
}

TEST_CASE("without normalize image_folder gives bytes, red first in each pixel") {
  const OpenedDataset images(kPlugin, make_params(make_two_classes(), {{"transforms", Texts{"center_crop((2, 3))"}}}));
  CHECK(images.describe_fields() == std::vector<std::string>{"image uint8 2,3,3", "label int64"});
  CHECK(images.bytes(1, "image") ==
        std::vector<uint8_t>{0, 255, 0, 0, 255, 0, 0, 255, 0, 0, 255, 0, 0, 255, 0, 0, 255, 0});
}

TEST_CASE("images keep their sizes if no transform makes them equal") {
  const OpenedDataset images(kPlugin,
                             make_params(make_two_classes(), {{"transforms", Texts{"resize(8)", kUnchanged}}}));
  CHECK(images.describe_fields() == std::vector<std::string>{"image float32 3,-1,-1", "label int64"});
  CHECK(images.floats(0, "image").size() == 3 * 8 * 16);
  CHECK(images.floats(1, "image").size() == 3 * 8 * 8);
}

TEST_CASE("a larger image is averaged and its centre is cropped") {
  const OpenedDataset images(kPlugin, make_params(make_two_classes()));
  const std::vector<float> planes = images.floats(0, "image");
  // 64 x 32 shrinks to 16 x 8. Columns 4 to 11 remain. Each is a mean around the middle of four columns.
  for (int x = 0; x < 8; ++x) {
    const double expected = (16 + 4 * x + 1.5) / 64;
    CHECK(std::abs(planes[static_cast<size_t>(128 + x)] - expected) < 0.005);
  }
  CHECK(planes[7 * 8] > 0.85);  // red grows downwards
  CHECK(planes[0] < 0.1);
}

TEST_CASE("augmentation is a function of the sample's seed") {
  const OpenedDataset images(
      kPlugin, make_params(make_two_classes(),
                           {{"transforms", Texts{"random_resized_crop(4)", "horizontal_flip()", kUnchanged}}}));
  std::set<std::vector<float>> seen;
  for (uint64_t seed = 0; seed < 20; ++seed) {
    CHECK(images.floats(0, "image", seed) == images.floats(0, "image", seed));
    seen.insert(images.floats(0, "image", seed));
  }
  CHECK(seen.size() == 20);
}

TEST_CASE("a JPEG decoded at a smaller scale gives nearly the same sample") {
  const std::filesystem::path root = make_empty_folder("scaled");
  write_file(root / "gradient" / "a.jpg", encode(".jpg", make_gradient(400, 300)));
  const Texts transforms = {"random_resized_crop(16)", "horizontal_flip()", kUnchanged};
  const OpenedDataset scaled(kPlugin, make_params(root, {{"transforms", transforms}}));
  const OpenedDataset full(kPlugin, make_params(root, {{"transforms", transforms}, {"scaled_decoding", false}}));
  bool differs = false;
  for (uint64_t seed = 0; seed < 10; ++seed) {
    const std::vector<float> small = scaled.floats(0, "image", seed);
    const std::vector<float> whole = full.floats(0, "image", seed);
    REQUIRE(small.size() == whole.size());
    for (size_t i = 0; i < small.size(); ++i) CHECK(std::abs(small[i] - whole[i]) < 0.03);
    differs = differs || small != whole;
  }
  CHECK(differs);
}

TEST_CASE("a single folder can be split for training and validation") {
  const std::filesystem::path root = make_empty_folder("parts");
  for (int i = 0; i < 40; ++i) {
    const std::string group = i % 2 ? "odd" : "even";
    write_file(root / group / (std::to_string(i) + ".png"),
               encode(".png", cv::Mat(8, 8, CV_8UC3, cv::Scalar(i, i, i))));
  }
  const OpenedDataset train(kPlugin, make_params(root, {{"split", "train"}}));
  const OpenedDataset validation(kPlugin, make_params(root, {{"split", "validation"}}));
  CHECK(train.size() + validation.size() == 40);
  CHECK(validation.size() >= 5);
  std::set<int> numbers;
  for (const OpenedDataset* part : {&train, &validation}) {
    for (int64_t i = 0; i < part->size(); ++i) {
      const int number = static_cast<int>(std::lround(part->floats(i, "image")[0] * 255));
      numbers.insert(number);
      CHECK(part->integer(i, "label") == number % 2);
    }
  }
  CHECK(numbers.size() == 40);
}

TEST_CASE("files that are skipped are counted in the log") {
  const std::filesystem::path root = make_two_classes();
  CHECK(OpenedDataset(kPlugin, make_params(root)).size() == 2);
  CHECK(OpenedDataset::log().empty());
  write_file(root / "green" / "b.gif", {1});
  write_file(root / "green" / "a.gif", {1});
  CHECK(OpenedDataset(kPlugin, make_params(root)).size() == 2);
  CHECK(OpenedDataset::log() ==
        Texts{root.string() + ": 2 files were skipped, the first is green/a.gif; expected the extension of an image, "
                              "such as .jpg or .png; convert images of other formats, or remove the files"});
}

TEST_CASE("folders with the same number are refused, and names that differ in case are reported") {
  const std::filesystem::path root = make_empty_folder("numbers");
  for (const char* name : {"1", "01"}) write_file(root / name / "a.png", encode(".png", make_gradient(8, 8)));
  CHECK(refusal(make_params(root)) ==
        root.string() +
            ": \"01\" and \"1\" are the same value, and would be two classes; expected one text for each "
            "class: rename a folder, or move its images to the other one");
  std::filesystem::rename(root / "1", root / "Cat");
  std::filesystem::rename(root / "01", root / "cat");
  CHECK(OpenedDataset(kPlugin, make_params(root)).size() == 2);
  CHECK(OpenedDataset::log()[0].find("the classes \"Cat\" and \"cat\" differ only in case") != std::string::npos);
}

TEST_CASE("classes that have no image in the training split are named") {
  const std::filesystem::path root = make_two_classes();
  for (int i = 0; i < 20; ++i)
    write_file(root / "green" / (std::to_string(i) + ".png"), encode(".png", make_gradient(8, 8)));
  double fraction = 0.05;  // the image a.png of the class gradient falls into the validation split of some fraction
  while (OpenedDataset(kPlugin, make_params(root, {{"split", "train"}, {"validation_fraction", fraction}}))
             .integer(0, "label") == 0)
    fraction += 0.05;
  const Texts expected = {root.string() +
                          ": the split \"train\" has no image of 1 of the 2 classes (gradient), so they are never "
                          "learned; expected images of each class; add some, or change validation_fraction"};
  CHECK(OpenedDataset::log() == expected);
}

TEST_CASE("transparent pixels and 16-bit images that use a part of the range are reported once, before any sample") {
  const std::filesystem::path root = make_empty_folder("lossy");
  cv::Mat opaque(8, 8, CV_8UC4, cv::Scalar(10, 20, 30, 255)), transparent = opaque.clone();
  transparent.at<cv::Vec4b>(3, 3)[3] = 254;
  const cv::Mat low(8, 8, CV_16UC1, cv::Scalar(4000));
  for (int i = 0; i < 4; ++i) {
    write_file(root / "a" / (std::to_string(i) + ".png"), encode(".png", i == 0 ? opaque : transparent));
    write_file(root / "b" / (std::to_string(i) + ".png"), encode(".png", low));
  }
  const auto log_of = [&](const ParamValues& changes) {
    const OpenedDataset images(kPlugin, make_params(root, changes));
    const Texts before = OpenedDataset::log();
    for (int64_t i = 0; i < images.size(); ++i) images.get(i);
    CHECK(OpenedDataset::log() == before);
    return before;
  };
  const Texts found = log_of({});
  REQUIRE(found.size() == 2);
  CHECK(found[0].find("transparent pixels in 3 of 8 examined images (" + root.string() + "/a/") == 0);
  CHECK(found[0].find("set background = [255, 255, 255]") != std::string::npos);
  CHECK(found[1].find("the largest 16-bit value in 4 of 8 examined images (" + root.string() + "/b/") == 0);
  CHECK(found[1].find(" is 4000, and 65535 becomes 255") != std::string::npos);
  CHECK(found[1].find("set max_value = 4095") != std::string::npos);
  CHECK(log_of({{"background", std::vector<int64_t>{255, 0, 0}}, {"max_value", int64_t{4095}}}).empty());
}

TEST_CASE("background and max_value change the pixels of every cache") {
  const std::filesystem::path root = make_empty_folder("rendered");
  write_file(root / "a" / "clear.png", encode(".png", cv::Mat(2, 2, CV_8UC4, cv::Scalar(10, 20, 30, 0))));
  write_file(root / "b" / "deep.png", encode(".png", cv::Mat(2, 2, CV_16UC1, cv::Scalar(2048))));
  const std::string folder = make_empty_folder("rendered_cache").string();
  for (const std::string cache : {"none", "memory", "disk"}) {
    CAPTURE(cache);
    const auto first_bytes = [&](ParamValues changes, int64_t index) {
      changes.insert({{"cache", cache}, {"cache_dir", folder}, {"transforms", Texts{"resize((2, 2))"}}});
      const OpenedDataset images(kPlugin, make_params(root, changes));
      images.get(index);
      std::vector<uint8_t> bytes = images.bytes(index, "image");
      bytes.resize(3);
      return bytes;
    };
    CHECK(first_bytes({}, 0) == std::vector<uint8_t>{30, 20, 10});
    CHECK(first_bytes({{"background", std::vector<int64_t>{1, 2, 3}}}, 0) == std::vector<uint8_t>{1, 2, 3});
    CHECK(first_bytes({}, 1) == std::vector<uint8_t>{8, 8, 8});
    CHECK(first_bytes({{"max_value", int64_t{4095}}}, 1) == std::vector<uint8_t>{128, 128, 128});
  }
  CHECK(refusal(make_params(root, {{"background", std::vector<int64_t>{255}}})).find("expected red, green and blue") !=
        std::string::npos);
}

TEST_CASE("a split without images is refused") {
  const std::string text =
      refusal(make_params(make_two_classes(), {{"split", "validation"}, {"validation_fraction", 1e-9}}));
  CHECK(text.find("none of its images falls into the split \"validation\"") != std::string::npos);
}

TEST_CASE("an error in the transforms is refused before the first sample") {
  CHECK(refusal(make_params(make_two_classes(), {{"transforms", Texts{"resize(8)", "centre_crop(8)"}}})) ==
        "entry 2 of parameter \"transforms\", \"centre_crop(8)\": there is no transform \"centre_crop\"; did you mean "
        "\"center_crop\"?");
}

TEST_CASE("an image with too many pixels, or too few for a crop, is refused with its path") {
  const std::filesystem::path root = make_two_classes();
  const auto complaint = [&](const ParamValues& changes) {
    return error_of<Refused>([&] { OpenedDataset(kPlugin, make_params(root, changes)).get(0); });
  };
  const std::string path = (root / "gradient" / "a.png").string() + ": ";
  CHECK(complaint({{"max_pixels", int64_t{64 * 32 - 1}}}).find(path) == 0);
  CHECK(complaint({{"max_pixels", int64_t{64 * 32}}}).empty());
  CHECK(complaint({{"transforms", Texts{"random_crop(33)"}}}).find(path + "an image of 64 x 32 pixels") == 0);
}

TEST_CASE("a truncated image among good ones is reported as bad data, with its path") {
  const std::filesystem::path root = make_two_classes();
  std::vector<uint8_t> cut = encode(".jpg", make_gradient(64, 64));
  cut.resize(cut.size() - 100);
  write_file(root / "green" / "b.jpg", cut);
  const OpenedDataset images(kPlugin, make_params(root));
  REQUIRE(images.size() == 3);
  CHECK(refusal_of(TENON_BAD_DATA, [&] {
          images.get(2);
        }).starts_with((root / "green" / "b.jpg").string() + ": is truncated"));
  images.get(0);  // the worker continues
}

}  // namespace image_folder_test
