// Tests tenon/draft/images.h through its C++ classes, as a dataset uses it: with a host that has the table alone.
#include <doctest/doctest.h>
#include <zlib.h>

#include <cmath>
#include <cstring>
#include <fstream>
#include <map>
#include <random>
#include <string_view>

#include <opencv2/imgcodecs.hpp>
#include <opencv2/imgproc.hpp>
#include <tenon/draft/images.hpp>

#include "framework/images/decode/decode_image.h"
#include "framework/images/library/images_table.h"
#include "tests/datasets/written_images.h"
#include "tests/images/damage.h"
#include "tests/images/images_host.h"
#include "tests/images/sample_slots.h"

namespace images_extension_test {
namespace {

namespace fs = std::filesystem;
using namespace images_host;
using tenon::draft::BoxFormat;
using tenon::draft::ImageFile;
using tenon::draft::ImageTarget;
using tenon::draft::ImageWorker;
using tenon::draft::Pixels;

const std::vector<tenon::Field> kFields = {
    {"image", TENON_UINT8, {-1, -1, 3}}, {"boxes", TENON_FLOAT32, {-1, 4}}, {"mask", TENON_INT64, {-1, -1}}};

std::vector<uint8_t> read_bytes(const fs::path& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

}  // namespace

TEST_CASE("a pipeline reads the parameters of images, or its transforms alone") {
  Settings settings({"resize(8)", "normalize()"});
  const ImagePipeline pipeline = settings.pipeline();
  const tenon::Field field = pipeline.field("image", "the photo");
  CHECK(field.dtype == TENON_FLOAT32);
  CHECK(field.shape == std::vector<int64_t>{3, -1, -1});
  CHECK(pipeline.list_moving() == "resize");
  CHECK(pipeline.list_moving(/*counts_scaling=*/false) == "");
  CHECK(contains(pipeline.preprocessing("image").steps, R"({"name": "resize", "size": 8)"));

  const auto refused = [&](const std::string& name, tenon_value value) {
    Settings wrong({"resize(8)"});
    wrong.set(name, value);
    return failure_of(TENON_INVALID_ARGUMENT, [&] { wrong.pipeline(); });
  };
  CHECK(contains(refused("max_pixels", tenon_text("1", 1)),
                 "\"max_pixels\" of the images has another type than an integer"));
  CHECK(contains(refused("max_value", tenon_int(65536)),
                 "\"max_value\" has the number 65536; expected one from 1 to 65535"));
  CHECK(contains(refused("scaled_decoding", tenon_int(1)),
                 "\"scaled_decoding\" of the images has another type than a boolean"));
  const int64_t levels[] = {0, 0, 256};
  CHECK(
      contains(refused("background", tenon_ints(levels, 3)), "\"background\" has the number 256; expected one from 0"));
  CHECK(contains(refused("cache", tenon_text("ram", 3)), "\"cache\" is \"ram\"; expected none, memory or disk"));
  CHECK(contains(refused("transforms", tenon_int(1)),
                 "\"transforms\" of the images has another type than a list of strings"));
  CHECK(contains(failure_of(TENON_NOT_FOUND, [&] { ImagePipeline(settings.params(), "depth_transforms"); }),
                 "the schema of the dataset has no parameter \"depth_transforms\"; expected those of image_params()"));
  settings.set("depth_transforms", tenon_int(1));
  CHECK(contains(failure_of(TENON_INVALID_ARGUMENT, [&] { ImagePipeline(settings.params(), "depth_transforms"); }),
                 "\"depth_transforms\" of the images has another type"));
  // A parameter of the dataset with the name of one of the images means something else.
  settings.set("cache", tenon_bool(true));
  CHECK(ImagePipeline(settings.params(), "transforms").field("image", "").dtype == TENON_FLOAT32);
  CHECK(contains(failure_of(TENON_INVALID_ARGUMENT, [] { Settings({"resise(8)"}).pipeline(); }),
                 "entry 1 of parameter \"transforms\", \"resise(8)\": there is no transform \"resise\"; did you mean"));
}

TEST_CASE("an image is written with what moves with it") {
  const cv::Mat image = make_gradient(20, 10);
  // Left half of the image, mirrored: x' = 10 - x.
  Settings settings({"horizontal_flip(p=1)", "random_crop((10, 10))"});
  const ImagePipeline pipeline = settings.pipeline();
  ImageWorker worker = pipeline.open_worker();
  SampleSlots slots(kFields);
  const FileBytes file("photo.png", encode(".png", image));
  std::vector<uint8_t> mask(200);
  for (size_t i = 0; i < mask.size(); ++i) mask[i] = static_cast<uint8_t>(i % 20);
  uint64_t seed = 0;
  for (; seed < 100; ++seed) {  // until the crop begins at column 10 of the mirrored image
    auto probe = ImageTarget::boxes({0, 0, 1, 1});
    worker.write(file, seed, slots.sink(), "image", {&probe});
    if (!probe.kept_indices().empty() && probe.values<float>()[2] == 10) break;
  }
  REQUIRE(seed < 100);
  auto boxes = ImageTarget::boxes({1, 2, 3, 4, /**/ 12, 0, 14, 5, /**/ 8, 1, 12, 6}, BoxFormat::xyxy, 0.5);
  auto classes = ImageTarget::mask(mask.data(), TENON_UINT8, 10, 20, 255, "mask.png");
  auto points = ImageTarget::keypoints({1, 1, 9, 9}, 2, 2, {{0, 1}});
  auto outlines = ImageTarget::polygons({0, 0, 4, 0, 0, 4, /**/ 15, 0, 19, 0, 19, 4}, {3, 3});
  auto turned = ImageTarget::rotated_boxes({5, 5, 4, 2, 0});
  const auto info = worker.write(file, seed, slots.sink(), "image", {&boxes, &classes, &points, &outlines, &turned});
  CHECK(info.height == 10);
  CHECK(info.width == 20);
  CHECK(info.orientation == 1);
  CHECK(slots.shape == std::vector<int64_t>{10, 10, 3});
  const uint8_t* pixels = slots.get<uint8_t>(0);
  for (int y = 0; y < 10; ++y)
    for (int x = 0; x < 10; ++x) CHECK(pixels[3 * (10 * y + x) + 2] == image.at<cv::Vec3b>(y, 9 - x)[0]);
  // The second box is outside, and of the third one half remains.
  CHECK(boxes.kept_indices() == std::vector<int64_t>{0, 2});
  CHECK(boxes.shape() == std::vector<int64_t>{2, 4});
  CHECK(std::vector<float>(boxes.values<float>(), boxes.values<float>() + 8) ==
        std::vector<float>{7, 2, 9, 4, /**/ 0, 1, 2, 6});
  CHECK(boxes.select(std::vector<std::string>{"cat", "dog", "bird"}) == std::vector<std::string>{"cat", "bird"});
  CHECK(classes.shape() == std::vector<int64_t>{10, 10});
  for (int i = 0; i < 100; ++i) CHECK(classes.values<uint8_t>()[i] == 9 - i % 10);
  CHECK(std::vector<float>(points.values<float>(), points.values<float>() + 4) == std::vector<float>{1, 9, 9, 1});
  CHECK(outlines.kept_indices() == std::vector<int64_t>{0});
  CHECK(outlines.lengths() == std::vector<int64_t>{3});
  CHECK(outlines.shape() == std::vector<int64_t>{3, 2});
  CHECK(std::vector<float>(turned.values<float>(), turned.values<float>() + 4) == std::vector<float>{5, 5, 4, 2});
  boxes.put(slots.sink(), "boxes");
  CHECK(slots.shape == std::vector<int64_t>{2, 4});
  CHECK(slots.get<float>(1)[4] == 0);
  classes.put(slots.sink(), "mask");
  CHECK(slots.get<int64_t>(2)[99] == 0);
}

TEST_CASE("a target can be passed for several images, and has no values before") {
  Settings settings({"horizontal_flip(p=1)"});
  const ImagePipeline pipeline = settings.pipeline();
  ImageWorker worker = pipeline.open_worker();
  SampleSlots slots(kFields);
  const FileBytes file("photo.png", encode(".png", make_gradient(20, 10)));
  auto boxes = ImageTarget::boxes({1, 2, 3, 4});
  CHECK(contains(failure_of(TENON_INVALID_ARGUMENT, [&] { boxes.put(slots.sink(), "boxes"); }), "no moved values"));
  for (int image = 0; image < 3; ++image) {
    worker.write(file, 0, slots.sink(), "image", {&boxes});
    CHECK(std::vector<float>(boxes.values<float>(), boxes.values<float>() + 4) == std::vector<float>{17, 2, 19, 4});
  }
  auto points = ImageTarget::keypoints({1, 1, 2, 2}, 1);
  worker.write(file, 0, slots.sink(), "image", {&points});
  CHECK(points.select(std::vector<int>{7, 8}) == std::vector<int>{7, 8});
}

TEST_CASE("boxes are clipped to the image at first, so that random transforms do not decide it") {
  for (const std::vector<std::string>& transforms :
       {std::vector<std::string>{}, {"normalize()"}, {"vertical_flip(p=1)"}, {"resize((20, 40))"}}) {
    Settings settings(transforms);
    const ImagePipeline pipeline = settings.pipeline();
    ImageWorker worker = pipeline.open_worker();
    SampleSlots slots(kFields);
    auto boxes =
        ImageTarget::boxes({-3, 0, 5, 10, /**/ 30, 0, 40, 5, /**/ 0, 0, 20, 10, /**/ 4, 4, 4, 8}, BoxFormat::xyxy, 1);
    worker.write(FileBytes("photo.png", encode(".png", make_gradient(20, 10))), 0, slots.sink(), "image", {&boxes});
    CHECK(boxes.kept_indices() == std::vector<int64_t>{0, 2});
    CHECK(boxes.values<float>()[0] == 0);
  }
}

TEST_CASE("random_iou_crop takes the boxes of the image, and a dataset without boxes is refused") {
  Settings settings({"random_iou_crop(sampler_options=0.5)", "resize((16, 16))"});
  const ImagePipeline pipeline = settings.pipeline();
  ImageWorker worker = pipeline.open_worker();
  SampleSlots slots(kFields);
  const FileBytes file("photo.png", encode(".png", make_gradient(80, 60)));
  for (uint64_t seed = 0; seed < 20; ++seed) {
    auto boxes = ImageTarget::boxes({10, 10, 50, 40}, BoxFormat::xywh);
    worker.write(file, seed, slots.sink(), "image", {&boxes});
    CHECK(boxes.kept_indices().size() == 1);
  }
  // Resizes next to the crop are joined with it, and change nothing about which boxes remain.
  const std::vector<float> several = {2, 2, 30, 20, 25, 10, 60, 50, 50, 30, 78, 58, 5, 35, 20, 55};
  for (const std::vector<std::string>& transforms :
       {std::vector<std::string>{"random_iou_crop(sampler_options=0.1)", "resize((16, 16))"},
        {"resize((60, 80))", "random_iou_crop(sampler_options=0.1)", "resize((90, 30))"}}) {
    Settings alone({"random_iou_crop(sampler_options=0.1)"}), resized(transforms);
    const ImagePipeline first = alone.pipeline(), second = resized.pipeline();
    ImageWorker reader = first.open_worker(), other = second.open_worker();
    int dropped = 0;
    for (uint64_t seed = 0; seed < 60; ++seed) {
      auto expected = ImageTarget::boxes(several), found = ImageTarget::boxes(several);
      reader.write(file, seed, slots.sink(), "image", {&expected});
      other.write(file, seed, slots.sink(), "image", {&found});
      CHECK(found.kept_indices() == expected.kept_indices());
      dropped += expected.kept_indices().size() < 4 ? 1 : 0;
    }
    CHECK(dropped > 30);
  }
  CHECK(contains(failure_of(TENON_INVALID_ARGUMENT, [&] { worker.write(file, 0, slots.sink(), "image"); }),
                 "random_iou_crop needs the boxes of an image, and this dataset passes none"));
}

TEST_CASE("a mosaic has the images, boxes and masks of several samples, with and without a cache") {
  std::vector<std::vector<uint8_t>> files;
  for (int i = 0; i < 6; ++i) files.push_back(encode(".png", cv::Mat(30, 40, CV_8UC3, cv::Scalar::all(40 * i + 10))));
  std::vector<std::vector<uint8_t>> first_pixels;
  for (const char* const cache : {"none", "memory"}) {
    CAPTURE(cache);
    Settings settings({"mosaic(20)", "resize((20, 20))"});
    settings.set("cache", tenon_text(cache, std::strlen(cache)));
    settings.set("scaled_decoding", tenon_bool(false));
    const ImagePipeline pipeline = settings.pipeline();
    ImageWorker worker = pipeline.open_worker();
    SampleSlots slots(kFields);
    for (uint64_t seed = 0; seed < 20; ++seed) {
      const std::vector<int64_t> indices = pipeline.sample_indices(2, 6, seed);
      REQUIRE(indices.size() == 4);
      CHECK(indices[0] == 2);
      std::vector<tenon::draft::ImageInput> images;
      std::vector<std::vector<int>> numbers;
      std::vector<std::vector<uint8_t>> masks(indices.size());
      for (size_t k = 0; k < indices.size(); ++k) {
        const auto i = static_cast<size_t>(indices[k]);
        masks[k].assign(30 * 40, static_cast<uint8_t>(i));
        images.push_back({std::make_shared<FileBytes>("file " + std::to_string(i), files[i]),
                          {ImageTarget::boxes({0, 0, 40, 30, 10, 10, 20, 20}),
                           ImageTarget::mask(masks[k].data(), TENON_UINT8, 30, 40, 255)}});
        numbers.push_back({static_cast<int>(10 * i), static_cast<int>(10 * i + 1)});
      }
      worker.write(images, seed, slots.sink(), "image");
      const ImageTarget& boxes = images[0].targets[0];
      const ImageTarget& mask = images[0].targets[1];
      CHECK(mask.shape() == std::vector<int64_t>{20, 20});
      const std::vector<int> selected = boxes.select_of_images(numbers);
      REQUIRE(selected.size() == static_cast<size_t>(boxes.shape()[0]));
      // In the middle of each box are the level and the class of its image.
      for (size_t row = 0; row < selected.size(); ++row) {
        const float* box = boxes.values<float>() + 4 * row;
        const int i = selected[row] / 10;
        CHECK(indices.at(static_cast<size_t>(boxes.kept_images()[row])) == i);
        if (box[2] - box[0] < 2 || box[3] - box[1] < 2) continue;
        const int at = 20 * static_cast<int>((box[1] + box[3]) / 2) + static_cast<int>((box[0] + box[2]) / 2);
        CHECK(mask.values<uint8_t>()[at] == i);
        CHECK(std::abs(slots.get<uint8_t>(0)[3 * at] - (40 * i + 10)) <= 1);
      }
      const std::vector<uint8_t> pixels(slots.get<uint8_t>(0), slots.get<uint8_t>(0) + 20 * 20 * 3);
      if (cache == std::string("none")) {
        first_pixels.push_back(pixels);
      } else {
        CHECK(pixels == first_pixels[seed]);
      }
    }
    CHECK(contains(
        failure_of(TENON_INVALID_ARGUMENT, [&] { worker.write(FileBytes("a", files[0]), 0, slots.sink(), "image"); }),
        "a sample has 1 images; expected the 4 of ImagePipeline::sample_indices() for its seed"));
  }
}

TEST_CASE("a dataset that does not request the samples of a mosaic is refused at its first sample") {
  Settings settings({"mosaic(20, p=0.01)"});
  const ImagePipeline pipeline = settings.pipeline();
  ImageWorker worker = pipeline.open_worker();
  SampleSlots slots(kFields);
  CHECK(contains(
      failure_of(TENON_INVALID_ARGUMENT,
                 [&] { worker.write(FileBytes("a", encode(".png", make_gradient(9, 9))), 1, slots.sink(), "image"); }),
      "mosaic, which combines 4 samples, and this dataset passes one; expected a dataset that passes those of "
      "ImagePipeline::sample_indices()"));
}

TEST_CASE("a mosaic of JPEGs of any size is the same with each cache, and errors name the list") {
  std::vector<std::vector<uint8_t>> files;
  for (int i = 0; i < 7; ++i) files.push_back(encode(".jpg", make_gradient(20 + 37 * i, 90 - 11 * i)));
  const auto read = [&](uint64_t seed, const ImagePipeline& pipeline, ImageWorker& worker,
                        std::vector<uint8_t>& pixels) {
    SampleSlots slots(kFields);
    std::vector<tenon::draft::ImageInput> images;
    for (const int64_t i : pipeline.sample_indices(static_cast<int64_t>(seed % 7), 7, seed))
      images.push_back({std::make_shared<FileBytes>("file " + std::to_string(i), files[static_cast<size_t>(i)]),
                        {ImageTarget::boxes({0, 0, 20, 20})}});
    worker.write(images, seed, slots.sink(), "image");
    pixels.assign(slots.get<uint8_t>(0), slots.get<uint8_t>(0) + 60 * 60 * 3);
    const ImageTarget& boxes = images[0].targets[0];
    const auto* values = boxes.values<float>();
    return std::vector<float>(values, values + 4 * boxes.shape()[0]);
  };
  const std::string folder = make_empty_folder("mosaic_cache").string();
  std::vector<std::vector<uint8_t>> expected_pixels;
  std::vector<std::vector<float>> expected_boxes;
  using Kind = std::pair<const char*, int64_t>;
  for (const Kind& kind : {Kind("none", 1), Kind("memory", 1 << 30), Kind("memory", 30000), Kind("disk", 1)}) {
    const char* const cache = kind.first;
    const int64_t bytes = kind.second;
    CAPTURE(cache);
    CAPTURE(bytes);
    Settings settings({"mosaic(30)", "random_affine(20)"});
    settings.set("cache", tenon_text(cache, std::strlen(cache)));
    settings.set("cache_bytes", tenon_int(bytes));
    settings.set("cache_dir", tenon_text(folder.data(), folder.size()));
    settings.set("scaled_decoding", tenon_bool(false));
    const ImagePipeline pipeline = settings.pipeline();
    ImageWorker worker = pipeline.open_worker();
    for (uint64_t seed = 0; seed < 12; ++seed) {
      std::vector<uint8_t> pixels;
      const std::vector<float> boxes = read(seed, pipeline, worker, pixels);
      if (expected_pixels.size() <= seed) {
        expected_pixels.push_back(pixels);
        expected_boxes.push_back(boxes);
      }
      CHECK(pixels == expected_pixels[seed]);
      CHECK(boxes == expected_boxes[seed]);
    }
  }
  Settings settings({"mosaic(30)", "random_crop(100)"});
  const ImagePipeline pipeline = settings.pipeline();
  ImageWorker worker = pipeline.open_worker();
  SampleSlots slots(kFields);
  const auto failure = [&](const std::vector<uint8_t>& third) {
    pipeline.sample_indices(0, 7, 0);
    std::vector<tenon::draft::ImageInput> images;
    for (size_t i = 0; i < 4; ++i)
      images.push_back({std::make_shared<FileBytes>("file " + std::to_string(i), i == 2 ? third : files[0]), {}});
    struct Listed final : EmbeddedImage {
      explicit Listed(std::vector<uint8_t> given)
          : EmbeddedImage("third.jpg", "photos.csv:3"), bytes(std::move(given)) {}
      uint64_t byte_count() const override { return bytes.size(); }
      void read(uint8_t* out) const override { std::copy(bytes.begin(), bytes.end(), out); }
      std::string identity() const override { return ""; }
      std::vector<uint8_t> bytes;
    };
    images[2].file = std::make_shared<Listed>(third);
    return failure_of(TENON_BAD_DATA, [&] { worker.write(images, 0, slots.sink(), "image"); });
  };
  const std::string broken = failure({1, 2, 3});
  CHECK(broken.starts_with("third.jpg: "));
  CHECK(broken.ends_with(" (photos.csv:3)"));
  CHECK(failure(files[1]).starts_with("file 0: an image of 60 x 60 pixels reaches random_crop"));
}

TEST_CASE("a mask keeps its numbers under a background for transparent pixels") {
  // A grey PNG with a transparent level, as Pillow writes it: a chunk tRNS before the pixels.
  std::vector<uint8_t> png = encode(".png", cv::Mat(4, 4, CV_8UC1, cv::Scalar(3)));
  std::vector<uint8_t> chunk = {0, 0, 0, 2, 't', 'R', 'N', 'S', 0, 3};
  const auto crc = static_cast<uint32_t>(crc32_z(0, chunk.data() + 4, chunk.size() - 4));
  for (int shift = 24; shift >= 0; shift -= 8) chunk.push_back(static_cast<uint8_t>(crc >> shift));
  png.insert(png.begin() + 33, chunk.begin(), chunk.end());
  const int64_t white[] = {255, 255, 255};
  Settings settings({});
  settings.set("background", tenon_ints(white, 3));
  const ImagePipeline pipeline = settings.pipeline();
  ImageWorker worker = pipeline.open_worker();
  CHECK(worker.decode(FileBytes("mask.png", png)).elements[0] == 255);
  CHECK(worker.decode(FileBytes("mask.png", png), TENON_DECODE_MASK).elements[0] == 3);
}

TEST_CASE("examine reports orientations and transparency of some images, and leaves out those it cannot read") {
  const ImagePipeline pipeline = Settings({}).pipeline();
  std::vector<std::vector<uint8_t>> files(3, encode(".jpg", make_gradient(20, 10)));
  files[1] = with_jpeg_orientation(files[1], 6);
  files[2] = {1, 2, 3};
  files.push_back(encode(".png", cv::Mat(4, 4, CV_8UC4, cv::Scalar(1, 2, 3, 4))));
  log_lines.clear();
  std::map<size_t, int> found;
  const size_t examined = pipeline.examine(
      files.size(), [&](size_t i) { return std::make_unique<FileBytes>("file " + std::to_string(i), files[i]); },
      [&](size_t i, int orientation) { found[i] = orientation; });
  CHECK(examined == 3);
  CHECK(found == std::map<size_t, int>{{1, 6}});
  REQUIRE(log_lines.size() == 1);
  CHECK(contains(log_lines[0], "transparent pixels in 1 of 3 examined images (file 3)"));
}

TEST_CASE("an error of an embedded image has its message and its list") {
  struct Broken final : EmbeddedImage {
    using EmbeddedImage::EmbeddedImage;
    uint64_t byte_count() const override { return 4; }
    void read(uint8_t*) const override { throw std::runtime_error("the archive is closed"); }
    std::string identity() const override { return ""; }
  };
  const ImagePipeline pipeline = Settings({}).pipeline();
  ImageWorker worker = pipeline.open_worker();
  CHECK(failure_of(TENON_BAD_DATA, [&] { worker.decode(Broken("a.zip/1.jpg", "photos.csv:3")); }) ==
        "a.zip/1.jpg: the archive is closed (photos.csv:3)");
}

TEST_CASE("equal seeds transform images of one size alike, also for another worker") {
  Settings settings({"random_resized_crop(16)", "horizontal_flip()", "random_rotation(30)"});
  const ImagePipeline pipeline = settings.pipeline();
  const FileBytes file("photo.png", encode(".png", make_gradient(50, 40)));
  for (uint64_t seed = 0; seed < 8; ++seed) {
    std::vector<std::vector<float>> boxes;
    std::vector<std::vector<uint8_t>> pixels;
    for (int repeat = 0; repeat < 2; ++repeat) {
      ImageWorker worker = pipeline.open_worker();
      SampleSlots slots(kFields);
      auto target = ImageTarget::boxes({0, 0, 50, 40});
      worker.write(file, seed, slots.sink(), "image", {&target});
      boxes.emplace_back(target.values<float>(), target.values<float>() + 4);
      pixels.emplace_back(slots.get<uint8_t>(0), slots.get<uint8_t>(0) + 16 * 16 * 3);
    }
    CHECK(boxes[0] == boxes[1]);
    CHECK(pixels[0] == pixels[1]);
  }
}

TEST_CASE("a cache distinguishes images by their place, and moves targets from the whole image") {
  for (const char* const cache : {"none", "memory", "disk"}) {
    CAPTURE(cache);
    Settings settings({"resize((20, 25))", "random_crop(10)"});
    const std::string folder = make_empty_folder("extension_cache").string();
    settings.set("cache", tenon_text(cache, std::strlen(cache)));
    settings.set("cache_dir", tenon_text(folder.data(), folder.size()));
    const ImagePipeline pipeline = settings.pipeline();
    ImageWorker worker = pipeline.open_worker();
    SampleSlots slots(kFields);
    const FileBytes first("a.png", encode(".png", make_gradient(50, 40)));
    const FileBytes second("b.png", encode(".png", cv::Mat(40, 50, CV_8UC3, cv::Scalar::all(7))));
    for (int epoch = 0; epoch < 3; ++epoch) {
      auto target = ImageTarget::boxes({0, 0, 50, 40});
      worker.write(first, 1, slots.sink(), "image", {&target});
      CHECK(std::vector<float>(target.values<float>(), target.values<float>() + 4) == std::vector<float>{0, 0, 10, 10});
      CHECK(slots.get<uint8_t>(0)[0] != 7);
      worker.write(second, 1, slots.sink(), "image");
      CHECK(slots.get<uint8_t>(0)[0] == 7);
    }
    CHECK(first.reads == (cache == std::string("none") ? 3 : 1));
  }
}

TEST_CASE("targets that contradict their description are refused by number, and masks of another size by name") {
  const ImagePipeline pipeline = Settings({}).pipeline();
  ImageWorker worker = pipeline.open_worker();
  SampleSlots slots(kFields);
  const FileBytes file("photo.png", encode(".png", make_gradient(20, 10)));
  const uint8_t pixels[200] = {};
  const auto refused = [&](tenon_status status, ImageTarget target) {
    auto fine = ImageTarget::boxes({});
    return failure_of(status, [&] { worker.write(file, 0, slots.sink(), "image", {&fine, &target}); });
  };
  CHECK(refused(TENON_BAD_DATA, ImageTarget::mask(pixels, TENON_UINT8, 20, 10, 0, "mask.png")) ==
        "mask.png: has 10 x 20 pixels; expected 20 x 10, as photo.png has");
  CHECK(contains(refused(TENON_INVALID_ARGUMENT, ImageTarget::mask(pixels, TENON_INT64, 2, 2, 0)),
                 "target 1 of an image (mask) has the dtype int64; expected uint8, int32 or float32"));
  CHECK(contains(refused(TENON_INVALID_ARGUMENT, ImageTarget::mask(pixels, TENON_UINT8, -1, 2, 0)),
                 "has the shape [-1, 2]; expected extents from 0"));
  CHECK(contains(refused(TENON_INVALID_ARGUMENT, ImageTarget::mask(nullptr, TENON_UINT8, 1, 2, 0)), "has no values"));
  CHECK(contains(refused(TENON_INVALID_ARGUMENT, ImageTarget::mask(pixels, TENON_UINT8, 10, 20, -100)),
                 "has the fill -100.000000, which uint8 cannot represent"));
  CHECK(refused(TENON_BAD_DATA, ImageTarget::boxes({1, 2, 3, 4, 10, 2, 5, 4})) ==
        "photo.png: row 1 of its boxes is [10.0, 2.0, 5.0, 4.0]; expected left <= right and top <= bottom; boxes of "
        "another format are passed with their format");
  CHECK(contains(refused(TENON_BAD_DATA, ImageTarget::boxes({1, 2, -3, 4}, BoxFormat::cxcywh)), "a width and height"));
  CHECK(contains(refused(TENON_BAD_DATA, ImageTarget::keypoints({1, NAN}, 1)), "expected finite numbers"));
  CHECK(contains(refused(TENON_INVALID_ARGUMENT, ImageTarget::boxes({1, 2, 3, 4}, BoxFormat::xyxy, 1.5)),
                 "min_visibility 1.5"));
  CHECK(contains(refused(TENON_INVALID_ARGUMENT, ImageTarget::boxes({}, static_cast<BoxFormat>(7))), "the format 7"));
  CHECK(contains(refused(TENON_INVALID_ARGUMENT, ImageTarget::polygons({1, 2, 3, 4}, {3})), "a polygon of 3 points"));
  CHECK(contains(refused(TENON_INVALID_ARGUMENT, ImageTarget::polygons({1, 2, 3, 4}, {1})),
                 "polygons of 1 points together; expected 2"));
  CHECK(contains(refused(TENON_INVALID_ARGUMENT, ImageTarget::keypoints({1, 2, 3, 4}, 2, 2, {{0, 2}})),
                 "exchanges point 2; expected points from 0 to 1"));
  CHECK(contains(refused(TENON_INVALID_ARGUMENT, ImageTarget::keypoints({1, 2, 3, 4}, 1, 4)),
                 "expected 2 or 3 numbers for each point"));
  CHECK(failure_of(TENON_INVALID_ARGUMENT, [] {
          ImageTarget::boxes({1, 2, 3});
        }) == "a target of an image has 3 values; expected a multiple of 4");
  // A null image, and results without a size. After an error, no target is left.
  tenon_moved_target moved = {};
  moved.size = sizeof moved;
  tenon_image_worker* raw = nullptr;
  const tenon_images& table = images::open_images(*tenon::detail::host);
  tenon_image_pipeline* made = nullptr;
  Settings settings({});
  tenon_image_format format = {};
  REQUIRE(table.create(settings.params().handle(), tenon::detail::borrow("transforms"), &made) == TENON_OK);
  CHECK(table.describe(made, &format) == TENON_INVALID_ARGUMENT);
  CHECK(last_failure == "a tenon_image_format has the size 0; expected 72 or more: set its member size");
  REQUIRE(table.open_worker(made, &raw) == TENON_OK);
  const auto box = ImageTarget::boxes({1, 2, 3, 4}), wrong = ImageTarget::boxes({1, 2, NAN, 4});
  const tenon_image_source source = file.describe();
  const tenon::Sink sink = slots.sink();
  const auto write = [&](const ImageTarget& target) {
    const tenon_image_target described = target.describe();
    const tenon_image_target* pointer = &described;
    const tenon_image_input input = {sizeof input, &source, &pointer, 1};
    const tenon_image_input* inputs = &input;
    return table.write(raw, &inputs, 1, 0, sink.handle(), 0, nullptr);
  };
  REQUIRE(write(box) == TENON_OK);
  CHECK(table.moved(raw, 0, &moved) == TENON_OK);
  CHECK(write(wrong) == TENON_BAD_DATA);
  CHECK(table.moved(raw, 0, &moved) == TENON_INVALID_ARGUMENT);
  CHECK(last_failure == "the last image has no target 0; the number of its targets is 0");
  CHECK(table.write(raw, nullptr, 1, 0, sink.handle(), 0, nullptr) == TENON_INVALID_ARGUMENT);
  table.close_worker(raw);
  table.destroy(made);
}

TEST_CASE("errors name the image, and where it is listed") {
  const ImagePipeline pipeline = Settings({"random_crop(64)"}).pipeline();
  ImageWorker worker = pipeline.open_worker();
  SampleSlots slots(kFields);
  const fs::path folder = make_empty_folder("extension_errors");
  write_file(folder / "small.png", encode(".png", make_gradient(20, 10)));
  const std::string path = (folder / "small.png").string();
  CHECK(failure_of(TENON_BAD_DATA, [&] { worker.write(ImageFile(path, "photos.csv:7"), 0, slots.sink(), "image"); }) ==
        path +
            ": an image of 20 x 10 pixels reaches random_crop, which crops 64 x 64; put a resize before it, or add "
            "pad_if_needed=true (photos.csv:7)");
  CHECK(contains(failure_of(TENON_BAD_DATA, [&] { worker.inspect(ImageFile((folder / "no.png").string())); }),
                 "no.png: cannot be read: No such file or directory"));
  CHECK(contains(failure_of(TENON_BAD_DATA, [&] { worker.decode(FileBytes("cell 3", {})); }), "cell 3: is empty"));
  CHECK(contains(failure_of(TENON_BAD_DATA, [&] { worker.decode(ImageFile(path), TENON_DECODE_MASK); }),
                 "has 3 channels of 8 bits; expected a mask"));
  CHECK(contains(failure_of(TENON_INVALID_ARGUMENT, [&] { worker.decode(ImageFile(path), 9); }),
                 "decoded in the form 9; expected TENON_DECODE_RGB or another one"));
}

TEST_CASE("every reference file is decoded as by the decoders, from a file and from bytes") {
  const ImagePipeline pipeline = Settings({}).pipeline();
  ImageWorker worker = pipeline.open_worker();
  images::Decoder decoder;
  int count = 0;
  for (const fs::directory_entry& entry : fs::directory_iterator(TENON_SOURCE_DIR "/tests/images/reference/decode")) {
    const fs::path file = entry.path();
    if (!fs::exists(file.string() + ".ppm")) continue;
    CAPTURE(file.string());
    ++count;
    const std::vector<uint8_t> bytes = read_bytes(file);
    const images::ImageInfo info = images::read_image_info(bytes, file.string());
    const cv::Mat expected = images::decode_image(bytes, info, file.string(), decoder).clone();
    const auto check = [&](const Pixels& pixels) {
      REQUIRE(pixels.height == expected.rows);
      REQUIRE(pixels.width == expected.cols);
      CHECK(pixels.channels == 3);
      CHECK(std::memcmp(pixels.elements, expected.data, expected.total() * 3) == 0);
    };
    check(worker.decode(ImageFile(file.string())));
    check(worker.decode(FileBytes("bytes", bytes)));
    SampleSlots slots(kFields);
    worker.write(ImageFile(file.string()), 0, slots.sink(), "image");
    CHECK(std::memcmp(slots.get<uint8_t>(0), expected.data, expected.total() * 3) == 0);
    CHECK(worker.inspect(ImageFile(file.string())).width == expected.cols);
  }
  CHECK(count == 60);
}

TEST_CASE("an image is decoded with the channels and values of its file") {
  const ImagePipeline pipeline = Settings({}).pipeline();
  ImageWorker worker = pipeline.open_worker();
  cv::RNG random(5);
  for (const char* extension : {".png", ".tiff"}) {
    for (const int type : {CV_8UC1, CV_8UC3, CV_8UC4, CV_16UC1, CV_16UC3}) {
      CAPTURE(extension);
      CAPTURE(type);
      cv::Mat image(7, 9, type);
      random.fill(image, cv::RNG::UNIFORM, 0, CV_MAT_DEPTH(type) == CV_8U ? 256 : 65536);
      const Pixels pixels =
          worker.decode(FileBytes(std::string("image") + extension, encode(extension, image)), TENON_DECODE_STORED);
      REQUIRE(pixels.height == 7);
      REQUIRE(pixels.width == 9);
      REQUIRE(pixels.channels == image.channels());
      CHECK(pixels.dtype == (image.depth() == CV_8U ? TENON_UINT8 : TENON_INT32));
      cv::Mat expected;
      image.convertTo(expected, CV_32S);
      const int channels = image.channels();
      for (int i = 0; i < 7 * 9 * channels; ++i) {
        const int channel = i % channels;
        const int stored = channels >= 3 && channel < 3 ? 2 - channel : channel;  // OpenCV's order is blue, green, red
        const int value = image.depth() == CV_8U ? pixels.values<uint8_t>()[i] : pixels.values<int32_t>()[i];
        CHECK(value == expected.ptr<int32_t>()[i - channel + stored]);
      }
    }
  }
  cv::Mat depth(5, 6, CV_32FC1);
  random.fill(depth, cv::RNG::UNIFORM, -3, 9);
  const FileBytes file("depth.tiff", encode(".tiff", depth));
  const Pixels pixels = worker.decode(file, TENON_DECODE_STORED);
  REQUIRE(pixels.dtype == TENON_FLOAT32);
  CHECK(pixels.channels == 1);
  CHECK(std::memcmp(pixels.values<float>(), depth.data, 30 * sizeof(float)) == 0);
  CHECK(contains(failure_of(TENON_INVALID_ARGUMENT, [&] { pixels.values<uint8_t>(); }), "accessed as uint8"));
  CHECK(contains(failure_of(TENON_BAD_DATA, [&] { worker.decode(file); }),
                 "depth.tiff: is a TIFF of numbers with 32 bits; expected unsigned integers of up to 16 bits"));
  // A depth map moves with an image that is read after it.
  Settings flipping({"horizontal_flip(p=1)"});
  const ImagePipeline flipped = flipping.pipeline();
  ImageWorker reader = flipped.open_worker();
  const Pixels map = reader.decode(file, TENON_DECODE_STORED);
  auto target = ImageTarget::mask(map.elements, map.dtype, map.height, map.width, 0);
  SampleSlots slots(kFields);
  reader.write(FileBytes("photo.png", encode(".png", make_gradient(6, 5))), 0, slots.sink(), "image", {&target});
  for (int x = 0; x < 6; ++x) CHECK(target.values<float>()[x] == depth.at<float>(0, 5 - x));
  // Every reference file, with an orientation or not, has the size and the channels of its header.
  for (const fs::directory_entry& entry : fs::directory_iterator(TENON_SOURCE_DIR "/tests/images/reference/decode")) {
    if (!fs::exists(entry.path().string() + ".ppm")) continue;
    CAPTURE(entry.path().string());
    const Pixels stored = worker.decode(ImageFile(entry.path().string()), TENON_DECODE_STORED);
    const auto info = worker.inspect(ImageFile(entry.path().string()));
    CHECK(stored.width == info.width);
    CHECK(stored.height == info.height);
  }
}

TEST_CASE("damaged files are errors of their data, or are decoded") {
  Settings settings({"random_resized_crop(8)"});
  const ImagePipeline pipeline = settings.pipeline();
  ImageWorker worker = pipeline.open_worker();
  SampleSlots slots(kFields);
  std::vector<DamagedBase> bases;
  for (const fs::directory_entry& entry : fs::directory_iterator(TENON_SOURCE_DIR "/tests/images/reference/decode"))
    if (fs::exists(entry.path().string() + ".ppm"))
      bases.push_back({entry.path().extension().string(), read_bytes(entry.path())});
  std::mt19937 random(71);
  int refused = 0, decoded = 0;
  for (int i = 0; i < 3000; ++i) {
    const DamagedFile file = damage(bases, random);
    auto target = ImageTarget::boxes({0, 0, 5, 5});
    try {
      worker.write(FileBytes("damaged", file.bytes), static_cast<uint64_t>(i), slots.sink(), "image", {&target});
      ++decoded;
      worker.decode(FileBytes("damaged", file.bytes), TENON_DECODE_STORED);
    } catch (const tenon::Error& error) {
      REQUIRE(error.status() == TENON_BAD_DATA);
      REQUIRE(last_failure.starts_with("damaged: "));
      ++refused;
    }
  }
  CHECK(refused > 500);
  CHECK(decoded > 500);
}

}  // namespace images_extension_test
