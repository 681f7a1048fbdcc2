// Passes arbitrary bytes as an image to the table of tenon/draft/images.h, as a dataset does: through up to four
// transforms that the first bytes choose, with a target of each kind, and decoded in each form. A wrong file is refused
// with TENON_BAD_DATA. What remains of the targets lies within the image. Only JPEG and PNG are read, because OpenCV's
// decoders of the other formats are not compiled for fuzzing.
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include <tenon/draft/images.hpp>

#include "framework/components/calls/host_table.h"
#include "framework/images/decode/image_info.h"
#include "framework/images/library/images_table.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/images/sample_slots.h"

namespace {

using namespace tenon::fuzz;
using tenon::draft::ImageTarget;

constexpr int64_t kMostPixels = 1 << 14;

const char* const kEntries[] = {"resize((9, 14))",
                                "resize(24, max_size=40, interpolation=bicubic)",
                                "center_crop(12)",
                                "random_crop((8, 6), pad_if_needed=true)",
                                "random_resized_crop(16)",
                                "letterbox(20)",
                                "scale_jitter((20, 24))",
                                "random_zoom_out()",
                                "random_iou_crop()",
                                "horizontal_flip()",
                                "vertical_flip()",
                                "random_rotation(45, expand=true)",
                                "random_affine(20, translate=(0.2, 0.1), scale=(0.5, 2), shear=20)",
                                "random_perspective(0.9, p=1)",
                                "color_jitter(0.4, 0.4, 0.4, 0.2)",
                                "gaussian_blur(3)",
                                "gaussian_noise()",
                                "clahe(p=1)",
                                "coarse_dropout(p=1)",
                                "rand_augment()",
                                "trivial_augment_wide()"};

void install_host() {
  static const tenon_host table = [] {
    tenon_host made = tenon::components::host_table();
    made.get_extension = [](tenon_string id) -> const void* {
      return tenon::detail::copy(id) == TENON_IMAGES ? &images::open_images(*tenon::detail::host) : nullptr;
    };
    return made;
  }();
  tenon::detail::host = &table;
}

tenon::draft::ImagePipeline make_pipeline(Choices& choices) {
  std::vector<std::string> transforms;
  for (size_t count = choices.choose(5); count > 0; --count)
    transforms.emplace_back(kEntries[choices.choose(std::size(kEntries))]);
  if (choices.choose(2) == 1) transforms.emplace_back("normalize()");
  const tenon::config::Values values = {{"transforms", transforms},
                                        {"scaled_decoding", choices.choose(2) == 1},
                                        {"background", std::vector<int64_t>{}},
                                        {"max_value", int64_t{65535}},
                                        {"max_pixels", kMostPixels},
                                        {"cache", std::string("none")},
                                        {"cache_bytes", int64_t{1} << 20},
                                        {"cache_dir", std::string()}};
  const tenon_params params(values);
  return tenon::draft::ImagePipeline(tenon::Params(&params));
}

class InputImage final : public tenon::draft::EmbeddedImage {
 public:
  explicit InputImage(Input file) : EmbeddedImage("fuzzed"), file_(file) {}

  uint64_t byte_count() const override { return file_.size(); }
  void read(uint8_t* bytes) const override { std::memcpy(bytes, file_.data(), file_.size()); }
  std::string identity() const override { return place(); }

 private:
  Input file_;
};

bool is_read(Input file) {
  try {
    const images::Format format = images::read_image_info(file, "fuzzed", {.max_pixels = kMostPixels}).format;
    return format == images::Format::jpeg || format == images::Format::png;
  } catch (const tenon::DataError&) {
    return false;
  }
}

void check_within(const ImageTarget& target, size_t numbers, double width, double height) {
  const size_t count = static_cast<size_t>(target.shape()[0]) * numbers;
  for (size_t i = 0; i < count; ++i) {
    const float value = target.values<float>()[i];
    require(value >= 0 && value <= (i % 2 == 0 ? width : height));
  }
}

void write(const InputImage& image, Choices& choices) {
  const tenon::draft::ImagePipeline pipeline = make_pipeline(choices);
  tenon::draft::ImageWorker worker = pipeline.open_worker();
  const auto info = worker.inspect(image);
  const auto height = static_cast<float>(info.height), width = static_cast<float>(info.width);
  const std::vector<uint8_t> classes(static_cast<size_t>(info.height * info.width), 7);
  auto mask = ImageTarget::mask(classes.data(), TENON_UINT8, info.height, info.width, 255);
  auto boxes = ImageTarget::boxes({0, 0, width, height, width / 3, height / 3, width / 2, height}, {}, 0.1);
  auto turned = ImageTarget::rotated_boxes({width / 2, height / 2, width / 2, height / 3, 30});
  auto points = ImageTarget::keypoints({width / 2, height / 2, 1, 0, 0, 1}, 2, 3, {{0, 1}});
  auto outlines = ImageTarget::polygons({0, 0, width, 0, width, height / 2}, {3});
  const bool is_normalised = pipeline.field("image", "").dtype == TENON_FLOAT32;
  SampleSlots slots({pipeline.field("image", "")});
  worker.write(image, choices.choose(256), slots.sink(), "image", {&mask, &boxes, &turned, &points, &outlines});
  const auto rows = static_cast<double>(slots.shape[is_normalised ? 1 : 0]);
  const auto columns = static_cast<double>(slots.shape[is_normalised ? 2 : 1]);
  require(mask.shape()[0] == static_cast<int64_t>(rows) && mask.shape()[1] == static_cast<int64_t>(columns));
  for (int64_t i = 0; i < mask.shape()[0] * mask.shape()[1]; ++i)
    require(mask.values<uint8_t>()[i] == 7 || mask.values<uint8_t>()[i] == 255);
  check_within(boxes, 4, columns, rows);
  check_within(outlines, 2, columns, rows);
  require(turned.kept_indices().size() <= 1 && points.shape()[0] == 1);
}

void decode(const InputImage& image, uint32_t form, Choices& choices) {
  const tenon::draft::ImagePipeline pipeline = make_pipeline(choices);
  tenon::draft::ImageWorker worker = pipeline.open_worker();
  const tenon::draft::Pixels pixels = worker.decode(image, form);
  require(pixels.height * pixels.width <= kMostPixels && pixels.channels >= 1 && pixels.channels <= 4);
  const size_t element = pixels.dtype == TENON_UINT8 ? 1 : 4;
  uint64_t sum = 0;
  for (size_t i = 0; i < static_cast<size_t>(pixels.height * pixels.width * pixels.channels) * element; ++i)
    sum += pixels.elements[i];
  require(sum <= uint64_t{255} * 16 * static_cast<uint64_t>(kMostPixels));
}

}  // namespace

TENON_FUZZ_TARGET(images) {
  constexpr size_t kChoices = 9;
  if (input.size() <= kChoices) return;
  const InputImage image(input.subspan(kChoices));
  if (!is_read(input.subspan(kChoices))) return;
  install_host();
  Choices choices(input.first(kChoices));
  const auto form = static_cast<uint32_t>(choices.choose(4));
  try {
    form == 0 ? write(image, choices) : decode(image, form, choices);
  } catch (const tenon::HostError& error) {
    require(error.status() == TENON_BAD_DATA);
  }
}
