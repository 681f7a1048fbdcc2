// Tests the transforms of plugins within a chain, with transforms that this file defines in place of plugins.
#include <doctest/doctest.h>

#include <cmath>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include <opencv2/core.hpp>
#include <tenon/draft/transforms.hpp>

#include "framework/images/transforms/plugin_transform.h"
#include "tests/datasets/written_images.h"
#include "tests/images/images_host.h"
#include "tests/images/sample_slots.h"

namespace plugin_transforms_test {
namespace {

using namespace images_host;
using tenon::draft::ImageInput;
using tenon::draft::ImageSize;
using tenon::draft::ImageTarget;
using tenon::draft::ImageWarp;
using tenon::draft::ImageWorker;
using tenon::draft::MovingImage;

struct Definition {
  uint32_t moved_kinds = 0;
  std::function<void(MovingImage&, tenon::Random&)> apply;
  std::function<ImageSize(ImageSize)> output_size = {};
  double probability = 1;
};

std::map<std::string, Definition> definitions;
int instances = 0;

struct Made {
  const Definition& definition;
  std::string description;
};

const images::PluginTransforms kTransforms = {
    [](const tenon_text_sink* names) -> tenon_status {
      for (const auto& [name, definition] : definitions) names->put(names, tenon::detail::borrow(name));
      return TENON_OK;
    },
    [](tenon_string id, const images::PluginArgument* arguments, uint64_t count, const tenon_text_sink* error,
       void** made, images::PluginTransformInfo* info) -> tenon_status {
      for (uint64_t i = 0; i < count; ++i)
        if (tenon::detail::copy(arguments[i].name) != "text") {
          error->put(error, tenon::detail::borrow("there is no such argument"));
          return TENON_INVALID_ARGUMENT;
        }
      const std::string name = tenon::detail::copy(id);
      auto* created = new Made{definitions.at(name), "transform \"" + name + "\" of plugin test 1.0"};
      ++instances;
      *made = created;
      *info = {created->definition.probability, created->definition.moved_kinds, tenon::detail::borrow("\"p\": 1.0"),
               tenon::detail::borrow(created->description)};
      return TENON_OK;
    },
    [](void* made) {
      delete static_cast<Made*>(made);
      --instances;
    },
    [](void* made, int64_t* height, int64_t* width) -> tenon_status {
      const Definition& definition = static_cast<Made*>(made)->definition;
      ImageSize size = {*height, *width};
      if (definition.output_size)
        size = definition.output_size(size);
      else if (definition.moved_kinds != 0)
        size = {-1, -1};
      *height = size.height;
      *width = size.width;
      return TENON_OK;
    },
    [](void* made, tenon_moving_image* image, uint64_t seed) {
      return tenon::detail::guard([&] {
        MovingImage moving(image);
        tenon::Random random(seed);
        static_cast<Made*>(made)->definition.apply(moving, random);
      });
    }};

// Makes the transforms available while it lives.
struct Defined {
  explicit Defined(std::map<std::string, Definition> given) {
    Settings({}).pipeline();  // opens the library, which sets none
    definitions = std::move(given);
    images::use_plugin_transforms(&kTransforms);
  }
  ~Defined() {
    images::use_plugin_transforms(nullptr);
    CHECK(instances == 0);
  }
};

// An image with a target of each kind.
struct Scene {
  explicit Scene(uint64_t seed) : random(seed), name(std::to_string(seed) + ".png") {
    height = 20 + random.integer(30);
    width = 20 + random.integer(30);
    cv::Mat image(static_cast<int>(height), static_cast<int>(width), CV_8UC3);
    for (int i = 0; i < static_cast<int>(height * width * 3); ++i)
      image.data[i] = static_cast<uint8_t>(random.integer(256));
    file = encode(".png", image);
    for (int64_t i = 0; i < height * width; ++i) classes.push_back(static_cast<uint8_t>(random.integer(9)));
    const auto x = [&] { return static_cast<float>(random.uniform(0, static_cast<double>(width))); };
    const auto y = [&] { return static_cast<float>(random.uniform(0, static_cast<double>(height))); };
    for (int i = 0; i < 6; ++i) {
      const float x0 = x(), x1 = x(), y0 = y(), y1 = y();
      boxes.insert(boxes.end(), {std::min(x0, x1), std::min(y0, y1), std::max(x0, x1), std::max(y0, y1)});
      turned.insert(turned.end(), {x(), y(), 4 + x() / 4, 4 + y() / 4, static_cast<float>(random.uniform(-90, 90))});
      points.insert(points.end(), {x(), y(), i == 3 ? 0.f : 1.f});
      for (int corner = 0; corner < 3; ++corner) outlines.insert(outlines.end(), {x(), y()});
    }
  }

  std::vector<ImageTarget> targets(double min_visibility = 0) const {
    return {ImageTarget::mask(classes.data(), TENON_UINT8, height, width, 255),
            ImageTarget::boxes(boxes, tenon::draft::BoxFormat::xyxy, min_visibility),
            ImageTarget::rotated_boxes(turned, min_visibility), ImageTarget::keypoints(points, 2, 3, {{0, 1}}),
            ImageTarget::polygons(outlines, std::vector<int64_t>(6, 3), min_visibility)};
  }

  tenon::Random random;
  std::string name;
  int64_t height;
  int64_t width;
  std::vector<uint8_t> file;
  std::vector<uint8_t> classes;
  std::vector<float> boxes, turned, points, outlines;
};

const std::vector<tenon::Field> kFields = {{"image", TENON_UINT8, {-1, -1, 3}}};

struct Result {
  std::vector<int64_t> shape;
  std::vector<uint8_t> pixels;
  std::vector<ImageTarget> targets;
  std::vector<std::vector<float>> rows;  // of each target but the mask
  std::vector<uint8_t> mask;
};

void copy_targets(Result& result) {
  const auto& mask_shape = result.targets[0].shape();
  const auto* mask = result.targets[0].values<uint8_t>();
  result.mask.assign(mask, mask + mask_shape[0] * mask_shape[1]);
  for (size_t i = 1; i < result.targets.size(); ++i) {
    int64_t count = 1;
    for (const int64_t extent : result.targets[i].shape()) count *= extent;
    result.rows.emplace_back(result.targets[i].values<float>(), result.targets[i].values<float>() + count);
  }
}

Result write(const Scene& scene, const ImagePipeline& pipeline, uint64_t seed, double min_visibility = 0) {
  Result result;
  result.targets = scene.targets(min_visibility);
  std::vector<ImageTarget*> pointers;
  for (ImageTarget& target : result.targets) pointers.push_back(&target);
  SampleSlots slots(kFields);
  ImageWorker worker = pipeline.open_worker();
  worker.write(FileBytes(scene.name, scene.file), seed, slots.sink(), "image", pointers);
  result.shape = slots.shape;
  result.pixels.assign(slots.get<uint8_t>(0), slots.get<uint8_t>(0) + result.shape[0] * result.shape[1] * 3);
  copy_targets(result);
  return result;
}

// `tolerance`: of coordinates in pixels, and degrees. `has_rectangles`: whether the numbers of rotated boxes are
// compared.
void check_same(const Result& found, const Result& expected, double tolerance, bool has_rectangles = true) {
  CHECK(found.shape == expected.shape);
  CHECK(found.pixels == expected.pixels);
  CHECK(found.mask == expected.mask);
  for (size_t i = 1; i < found.targets.size(); ++i) {
    CAPTURE(i);
    CHECK(found.targets[i].shape() == expected.targets[i].shape());
    CHECK(found.targets[i].kept_indices() == expected.targets[i].kept_indices());
    CHECK(found.targets[i].lengths() == expected.targets[i].lengths());
    REQUIRE(found.rows[i - 1].size() == expected.rows[i - 1].size());
    if (i == 2 && !has_rectangles) continue;
    double largest = 0;
    for (size_t k = 0; k < found.rows[i - 1].size(); ++k)
      largest = std::max(largest, std::abs(double{found.rows[i - 1][k]} - expected.rows[i - 1][k]));
    CHECK(largest <= tolerance);
  }
}

ImagePipeline make_pipeline(std::vector<std::string> transforms) { return Settings(std::move(transforms)).pipeline(); }

const auto kNothing = [](MovingImage&, tenon::Random&) {};

ImageWarp mirror_of(const MovingImage& image) {
  return {{-1, 0, static_cast<double>(image.width()), 0, 1, 0, 0, 0, 1}, {image.height(), image.width()}};
}

}  // namespace

TEST_CASE("a plugin's transform within a list leaves the rest of it as it is") {
  const Defined defined({{"nothing", {TENON_MOVES_ALL, kNothing}}});
  // Between two stages, a rotated box that became a parallelogram is a rectangle. In the first list it stays one.
  const std::vector<std::vector<std::string>> lists = {
      {"random_resized_crop(24, scale=(0.2, 1), ratio=(1, 1))", "horizontal_flip()", "color_jitter(0.4, 0.4, 0.4)"},
      {"resize(30)", "random_affine(30, translate=(0.1, 0.1), shear=10)", "random_crop(20)", "vertical_flip()"},
      {"horizontal_flip()", "random_perspective(p=1)", "letterbox(40)", "horizontal_flip()"},
      {"random_rotation(90, expand=true)", "resize(24)", "center_crop(20)", "gaussian_noise(0, 0.1)"}};
  for (const std::vector<std::string>& list : lists) {
    const ImagePipeline whole = make_pipeline(list);
    for (size_t at = 0; at <= list.size(); ++at) {
      std::vector<std::string> divided = list;
      divided.insert(divided.begin() + static_cast<ptrdiff_t>(at), "nothing");
      if (at == 1) divided.push_back("nothing()");
      const ImagePipeline pipeline = make_pipeline(divided);
      for (uint64_t seed = 0; seed < 25; ++seed) {
        CAPTURE(list.front());
        CAPTURE(at);
        CAPTURE(seed);
        const Scene scene(seed);
        // Between the stages, coordinates are float32: an error of 2^-24 of up to 100 pixels, which scaling by up to 5
        // enlarges; an angle also depends on the position of two such points a few pixels apart.
        check_same(write(scene, pipeline, seed, 0.3), write(scene, whole, seed, 0.3), 1e-3, list == lists.front());
      }
    }
  }
}

TEST_CASE("a warp moves the image and all targets as a bundled transform does") {
  const Defined defined(
      {{"mirror", {TENON_MOVES_ALL, [](MovingImage& image, tenon::Random&) { image.warp(mirror_of(image)); }}}});
  const ImagePipeline pipeline = make_pipeline({"mirror"}), expected = make_pipeline({"horizontal_flip(p=1)"});
  for (uint64_t seed = 0; seed < 50; ++seed) {
    const Scene scene(seed);
    check_same(write(scene, pipeline, seed), write(scene, expected, seed), 1e-4);
  }
}

TEST_CASE("a warp may change the size, and fills what is outside of the image before") {
  const Defined defined(
      {{"turn",
        {TENON_MOVES_ALL,
         [](MovingImage& image, tenon::Random&) {
           const auto height = static_cast<double>(image.height());
           image.warp({{0, -1, height + 2, 1, 0, 0, 0, 0, 1}, {image.width(), image.height() + 2}, true, {10, 20, 30}});
         },
         [](ImageSize size) {
           return ImageSize{size.width, size.height < 0 ? -1 : size.height + 2};
         }}}});
  const ImagePipeline pipeline = make_pipeline({"turn"});
  CHECK(pipeline.list_moving() == "turn");
  CHECK(pipeline.field("image", "").shape == std::vector<int64_t>{-1, -1, 3});
  CHECK(make_pipeline({"resize((20, 30))", "turn"}).field("image", "").shape == std::vector<int64_t>{30, 22, 3});
  const Scene scene(3);
  const Result result = write(scene, pipeline, 0), before = write(scene, make_pipeline({}), 0);
  REQUIRE(result.shape == std::vector<int64_t>{scene.width, scene.height + 2, 3});
  const auto pixel = [](const Result& from, int64_t y, int64_t x) {
    const auto at = static_cast<size_t>(3 * (y * from.shape[1] + x));
    return std::vector<uint8_t>(&from.pixels[at], &from.pixels[at] + 3);
  };
  for (int64_t y = 0; y < scene.width; ++y) {
    CHECK(pixel(result, y, 0) == std::vector<uint8_t>{10, 20, 30});
    CHECK(result.mask[static_cast<size_t>(y * (scene.height + 2))] == 255);
    for (int64_t x = 2; x < scene.height + 2; ++x) {
      CHECK(pixel(result, y, x) == pixel(before, scene.height + 1 - x, y));
      CHECK(result.mask[static_cast<size_t>(y * (scene.height + 2) + x)] ==
            before.mask[static_cast<size_t>((scene.height + 1 - x) * scene.width + y)]);
    }
  }
  // A box keeps its size and lies 2 pixels from the left edge.
  const auto height = static_cast<float>(scene.height);
  CHECK(result.rows[0][0] == doctest::Approx(height + 2 - before.rows[0][3]));
  CHECK(result.rows[0][1] == doctest::Approx(before.rows[0][0]));
  CHECK(result.rows[0][2] == doctest::Approx(height + 2 - before.rows[0][1]));
  CHECK(result.rows[0][3] == doctest::Approx(before.rows[0][2]));
}

TEST_CASE("a transform sees the targets at its place, and changes and drops them") {
  std::vector<float> seen;
  const Defined defined({{"drop_small", {TENON_MOVES_ALL, [&](MovingImage& image, tenon::Random&) {
                                           REQUIRE(image.target_count() == 5);
                                           tenon_moving_target& boxes = image.target(1);
                                           REQUIRE(boxes.kind == TENON_IMAGE_BOXES);
                                           auto* corners = static_cast<float*>(boxes.values);
                                           seen.assign(corners, corners + 4 * boxes.kept_count);
                                           CHECK(image.target(3).kept_count == 0);  // keypoints all remain
                                           boxes.kept[0] = 0;
                                           corners[0] = NAN;  // of the dropped box
                                           for (uint64_t i = 1; i < boxes.kept_count; ++i) corners[4 * i] = -5;
                                           auto* polygon = static_cast<float*>(image.target(4).values);
                                           polygon[0] = 0;
                                           image.target(4).kept[1] = 0;
                                           static_cast<uint8_t*>(image.target(0).values)[0] = 77;
                                           image.pixels()[0] = 99;
                                         }}}});
  const Scene scene(5);
  const Result before = write(scene, make_pipeline({"resize((16, 16))"}), 0);
  const Result result = write(scene, make_pipeline({"resize((16, 16))", "drop_small"}), 0);
  CHECK(seen == before.rows[0]);
  CHECK(result.pixels[0] == 99);
  CHECK(result.mask[0] == 77);
  const ImageTarget& boxes = result.targets[1];
  REQUIRE(boxes.kept_indices().size() + 1 == before.targets[1].kept_indices().size());
  CHECK(boxes.kept_indices()[0] == before.targets[1].kept_indices()[1]);
  CHECK(result.rows[0][0] == 0);  // clipped
  CHECK(result.rows[0][1] == before.rows[0][5]);
  const ImageTarget &polygons = result.targets[4], &polygons_before = before.targets[4];
  REQUIRE(polygons.lengths().size() + 1 == polygons_before.lengths().size());
  CHECK(polygons.kept_indices()[1] == polygons_before.kept_indices()[2]);
  CHECK(polygons.shape()[0] == polygons_before.shape()[0] - polygons_before.lengths()[1]);
}

TEST_CASE("boxes of another format are corners for a transform") {
  const Defined defined({{"grow", {TENON_MOVES(TENON_IMAGE_BOXES), [](MovingImage& image, tenon::Random&) {
                                     auto* corners = static_cast<float*>(image.target(0).values);
                                     CHECK(std::vector<float>(corners, corners + 4) == std::vector<float>{2, 3, 6, 9});
                                     corners[2] = 8;
                                   }}}});
  SampleSlots slots(kFields);
  const ImagePipeline pipeline = make_pipeline({"grow"});
  ImageWorker worker = pipeline.open_worker();
  auto boxes = ImageTarget::boxes({4, 6, 4, 6}, tenon::draft::BoxFormat::cxcywh);
  worker.write(FileBytes("a.png", encode(".png", make_gradient(20, 10))), 0, slots.sink(), "image", {&boxes});
  CHECK(std::vector<float>(boxes.values<float>(), boxes.values<float>() + 4) == std::vector<float>{5, 6, 6, 6});
}

TEST_CASE("the visible part of a box is the product of all stages") {
  // Each crop keeps 0.7 of a box that covers the image.
  const auto cut = [](MovingImage& image, tenon::Random&) {
    image.warp({{1, 0, 0, 0, 1, 0, 0, 0, 1}, {image.height(), image.width() * 7 / 10}});
  };
  const Defined defined({{"cut", {TENON_MOVES_ALL, cut}}});
  const auto kept = [&](const std::vector<std::string>& transforms, double min_visibility) {
    SampleSlots slots(kFields);
    const ImagePipeline pipeline = make_pipeline(transforms);
    ImageWorker worker = pipeline.open_worker();
    auto boxes = ImageTarget::boxes({0, 0, 100, 10}, tenon::draft::BoxFormat::xyxy, min_visibility);
    auto turned = ImageTarget::rotated_boxes({50, 5, 100, 10, 0}, min_visibility);
    auto outlines = ImageTarget::polygons({0, 0, 100, 0, 100, 10, 0, 10}, {4}, min_visibility);
    worker.write(FileBytes("a.png", encode(".png", make_gradient(100, 10))), 0, slots.sink(), "image",
                 {&boxes, &turned, &outlines});
    CHECK(boxes.kept_indices().size() == outlines.kept_indices().size());
    CHECK(boxes.kept_indices().size() == turned.kept_indices().size());
    return boxes.kept_indices().size();
  };
  CHECK(kept({"cut"}, 0.71) == 0);
  CHECK(kept({"cut"}, 0.7) == 1);
  CHECK(kept({"cut", "cut"}, 0.5) == 0);
  CHECK(kept({"cut", "cut"}, 0.48) == 1);
  CHECK(kept({"center_crop((10, 70))", "cut"}, 0.5) == 0);
  CHECK(kept({"center_crop((10, 70))", "cut"}, 0.48) == 1);
}

TEST_CASE("resizing gives an empty image and masks, and the old pixels remain readable") {
  const Defined defined({{"halve", {TENON_MOVES(TENON_IMAGE_MASK), [](MovingImage& image, tenon::Random&) {
                                      const uint8_t* pixels = image.pixels();
                                      const auto* classes = static_cast<const uint8_t*>(image.target(0).values);
                                      const int64_t width = image.width();
                                      image.resize({image.height(), width / 2});
                                      auto* mask = static_cast<uint8_t*>(image.target(0).values);
                                      CHECK(image.target(0).shape[1] == width / 2);
                                      CHECK(mask[1] == 255);
                                      CHECK(image.pixels()[1] == 0);
                                      for (int64_t y = 0; y < image.height(); ++y)
                                        for (int64_t x = 0; x < image.width(); ++x) {
                                          mask[y * image.width() + x] = classes[y * width + 2 * x];
                                          for (int64_t c = 0; c < 3; ++c)
                                            image.pixels()[3 * (y * image.width() + x) + c] =
                                                pixels[3 * (y * width + 2 * x) + c];
                                        }
                                    }}}});
  SampleSlots slots(kFields);
  const ImagePipeline pipeline = make_pipeline({"halve"});
  ImageWorker worker = pipeline.open_worker();
  std::vector<uint8_t> classes(200);
  for (size_t i = 0; i < classes.size(); ++i) classes[i] = static_cast<uint8_t>(i);
  auto mask = ImageTarget::mask(classes.data(), TENON_UINT8, 10, 20, 255);
  const cv::Mat image = make_gradient(20, 10);
  worker.write(FileBytes("a.png", encode(".png", image)), 0, slots.sink(), "image", {&mask});
  CHECK(slots.shape == std::vector<int64_t>{10, 10, 3});
  for (int y = 0; y < 10; ++y)
    for (int x = 0; x < 10; ++x) {
      CHECK(mask.values<uint8_t>()[10 * y + x] == 20 * y + 2 * x);
      CHECK(slots.get<uint8_t>(0)[3 * (10 * y + x)] == image.at<cv::Vec3b>(y, 2 * x)[2]);
    }
}

TEST_CASE("the seed of a transform depends on the sample, its name and its number, and p is drawn first") {
  std::vector<uint64_t> drawn;
  const Definition draw = {0, [&](MovingImage&, tenon::Random& random) { drawn.push_back(random()); }};
  Definition sometimes = draw;
  sometimes.probability = 0.25;
  const Defined defined({{"draw", draw}, {"other", draw}, {"sometimes", sometimes}});
  const Scene scene(1);
  const auto draws = [&](const std::vector<std::string>& transforms, uint64_t seed) {
    drawn.clear();
    write(scene, make_pipeline(transforms), seed);
    return drawn;
  };
  const std::vector<uint64_t> first = draws({"draw", "draw", "other"}, 7);
  REQUIRE(first.size() == 3);
  CHECK(first[0] != first[1]);
  CHECK(first[0] != first[2]);
  CHECK(draws({"horizontal_flip()", "draw", "color_jitter(0.5)"}, 7) == std::vector<uint64_t>{first[0]});
  CHECK(draws({"draw"}, 8) != std::vector<uint64_t>{first[0]});
  int applied = 0;
  for (uint64_t seed = 0; seed < 400; ++seed) applied += static_cast<int>(draws({"sometimes"}, seed).size());
  // Five standard deviations of a binomial distribution around 100.
  CHECK(std::abs(applied - 100) < 5 * std::sqrt(400 * 0.25 * 0.75));
}

TEST_CASE("transforms come after a mosaic and a cache, and before normalize and random_iou_crop") {
  const Defined defined(
      {{"mirror", {TENON_MOVES_ALL, [](MovingImage& image, tenon::Random&) { image.warp(mirror_of(image)); }}}});
  const auto write_mosaic = [&](const std::vector<std::string>& transforms, uint64_t seed) {
    const ImagePipeline pipeline = make_pipeline(transforms);
    REQUIRE(pipeline.sample_indices(0, 9, seed).size() == 4);
    std::vector<ImageInput> inputs;
    std::vector<Scene> scenes;
    for (uint64_t k = 0; k < 4; ++k) scenes.emplace_back(seed + k);
    for (const Scene& scene : scenes)
      inputs.push_back({std::make_shared<FileBytes>(scene.name, scene.file), scene.targets()});
    SampleSlots slots(kFields);
    ImageWorker worker = pipeline.open_worker();
    worker.write(inputs, seed, slots.sink(), "image");
    Result result = {slots.shape, {}, inputs[0].targets, {}, {}};
    result.pixels.assign(slots.get<uint8_t>(0), slots.get<uint8_t>(0) + result.shape[0] * result.shape[1] * 3);
    copy_targets(result);
    return result;
  };
  for (uint64_t seed = 0; seed < 10; ++seed) {
    const Result found = write_mosaic({"mosaic(32, p=1)", "mirror", "resize((30, 40))"}, seed);
    const Result expected = write_mosaic({"mosaic(32, p=1)", "horizontal_flip(p=1)", "resize((30, 40))"}, seed);
    check_same(found, expected, 1e-4);
    for (size_t i = 1; i < found.targets.size(); ++i)
      CHECK(found.targets[i].kept_images() == expected.targets[i].kept_images());
  }

  Settings cached({"resize(24)", "mirror", "random_iou_crop()", "resize((16, 16))"});
  cached.set("cache", tenon_text("memory", 6));
  const ImagePipeline from_cache = cached.pipeline();
  const ImagePipeline plain = make_pipeline({"resize(24)", "mirror", "random_iou_crop()", "resize((16, 16))"});
  const ImagePipeline expected =
      make_pipeline({"resize(24)", "horizontal_flip(p=1)", "random_iou_crop()", "resize((16, 16))"});
  for (uint64_t seed = 0; seed < 10; ++seed) {
    const Scene scene(seed);
    const Result result = write(scene, plain, seed);
    check_same(write(scene, from_cache, seed), result, 0);
    check_same(write(scene, from_cache, seed), result, 0);
    check_same(result, write(scene, expected, seed), 1e-4);
  }

  SampleSlots floats({{"image", TENON_FLOAT32, {3, -1, -1}}});
  const Scene scene(2);
  std::vector<std::vector<float>> normalised;
  for (const char* transform : {"mirror", "horizontal_flip(p=1)"}) {
    const ImagePipeline pipeline = make_pipeline({transform, "normalize()"});
    CHECK(pipeline.field("image", "").dtype == TENON_FLOAT32);
    ImageWorker worker = pipeline.open_worker();
    worker.write(FileBytes(scene.name, scene.file), 0, floats.sink(), "image");
    normalised.emplace_back(floats.get<float>(0), floats.get<float>(0) + 3 * scene.height * scene.width);
  }
  CHECK(normalised[0] == normalised[1]);
  CHECK(contains(make_pipeline({"mirror", "normalize()"}).preprocessing("image").steps,
                 R"({"name": "mirror", "p": 1.0}, {"name": "normalize")"));
}

TEST_CASE("what a transform may not do is refused with its name") {
  const auto fails = [](MovingImage&, tenon::Random&) { throw tenon::Error(TENON_FAILED, "no"); };
  const Defined defined(
      {{"nothing", {0, kNothing}},
       {"clahe", {0, kNothing}},
       {"fails", {0, fails}},
       {"resizes",
        {0,
         [](MovingImage& image, tenon::Random&) {
           image.resize({4, 4});
         }}},
       {"large",
        {TENON_MOVES_ALL,
         [](MovingImage& image, tenon::Random&) {
           image.resize({1 << 20, 1 << 20});
         }}},
       {"flat",
        {TENON_MOVES_ALL,
         [](MovingImage& image, tenon::Random&) {
           image.warp({{1, 0, 0, 1, 0, 0, 0, 0, 1}, {4, 4}});
         }}},
       {"wrong_size",
        {TENON_MOVES_ALL,
         [](MovingImage& image, tenon::Random&) {
           image.resize({4, 4});
         },
         [](ImageSize) {
           return ImageSize{5, 5};
         }}},
       {"swaps",
        {TENON_MOVES_ALL,
         [](MovingImage& image, tenon::Random&) { static_cast<float*>(image.target(1).values)[2] = -1; }}},
       {"spills",
        {TENON_MOVES_ALL,
         [](MovingImage& image, tenon::Random&) {
           image.resize({4, 4});
           image.pixels()[48] = 1;
         }}},
       {"spills_before", {0, [](MovingImage& image, tenon::Random&) { image.pixels()[-1] = 1; }}},
       {"moves_masks", {TENON_MOVES(TENON_IMAGE_MASK), kNothing}}});
  const Scene scene(4);
  const auto refused = [&](tenon_status status, const std::vector<std::string>& transforms) {
    return failure_of(status, [&] { write(scene, make_pipeline(transforms), 0); });
  };
  CHECK(
      contains(refused(TENON_INVALID_ARGUMENT, {"clahe()"}),
               "entry 1 of parameter \"transforms\", \"clahe()\": a plugin has a transform with the name of a bundled "
               "one; expected another name"));
  CHECK(contains(refused(TENON_INVALID_ARGUMENT, {"nothing(3)"}), "\"nothing(3)\": there is no such argument"));
  CHECK(refused(TENON_INVALID_ARGUMENT, {"nothing(text='a b')"}) == "accepted");
  CHECK(contains(refused(TENON_INVALID_ARGUMENT, {"nothing(text='a b)"}), "expected a second single quote"));
  CHECK(contains(refused(TENON_INVALID_ARGUMENT, {"nothin"}),
                 "there is no transform \"nothin\"; did you mean \"nothing\"?"));
  CHECK(contains(refused(TENON_INVALID_ARGUMENT, {"normalize()", "nothing"}), "comes after normalize"));
  CHECK(contains(refused(TENON_INVALID_ARGUMENT, {"resize(8, interpolation='nearest')"}), "expected"));
  CHECK(refused(TENON_FAILED, {"fails"}) == "no");
  CHECK(contains(refused(TENON_INVALID_ARGUMENT, {"resizes"}),
                 "resize: transform \"resizes\" of plugin test 1.0 declares that all pixels keep their places"));
  CHECK(contains(refused(TENON_INVALID_ARGUMENT, {"large"}), "resize: the size is 1048576 x 1048576; expected"));
  CHECK(contains(refused(TENON_INVALID_ARGUMENT, {"flat"}), "warp: the matrix has no inverse"));
  CHECK(
      contains(refused(TENON_FAILED, {"wrong_size"}), "becomes one of 4 x 4; expected 5 x 5, as output_size returns"));
  CHECK(contains(refused(TENON_FAILED, {"swaps"}),
                 "\"swaps\" of plugin test 1.0, apply: after it, an image: row 0 of its "
                 "boxes is ["));
  CHECK(contains(refused(TENON_FAILED, {"spills"}), "apply: wrote outside of the pixels of an image of 4 x 4"));
  CHECK(contains(refused(TENON_FAILED, {"spills_before"}), "apply: wrote outside of the pixels of an image"));
  CHECK(contains(refused(TENON_INVALID_ARGUMENT, {"moves_masks"}),
                 "\"moves_masks\" of plugin test 1.0 does not move boxes, and this dataset has some"));
}

}  // namespace plugin_transforms_test
