#include "framework/pipeline/build/batch_transforms.h"

#include <tenon/draft/field_details.h>
#include <torch/types.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include <tenon/random.hpp>

#include "framework/components/calls/ports.h"
#include "framework/formats/nearest_name.h"
#include "framework/formats/strings.h"
#include "framework/support/diagnostics/error.h"
#include "framework/support/text/format.h"

namespace tenon::pipeline {

using components::SampleField;
using support::Error;
using support::ErrorKind;

namespace {

using Fields = std::vector<SampleField>;

[[noreturn]] void refuse(const std::string& place, const std::string& what) {
  throw Error(ErrorKind::configuration, "{}: the batch transform {}", place, what);
}

std::string describe(const SampleField& field) {
  std::string shape;
  for (const int64_t extent : field.shape)
    shape += (shape.empty() ? "" : ", ") + (extent == -1 ? "?" : std::to_string(extent));
  return fmt::format("{}, which is {} [{}]", field.name, components::dtype_name(field.dtype), shape);
}

size_t find_field(const Fields& fields, const std::string& name, const std::string& place) {
  std::vector<std::string> names;
  for (size_t i = 0; i < fields.size(); ++i) {
    if (fields[i].name == name) return i;
    names.push_back(fields[i].name);
  }
  refuse(place, fmt::format("is for the field \"{}\"{}; expected one of {}", name, formats::suggest_name(name, names),
                            formats::join(names)));
}

bool is_floating(const SampleField& field) {
  return (TENON_DTYPE_BIT(field.dtype) & TENON_ANY_FLOAT) != 0 && field.dtype != TENON_FLOAT64;
}

// Converts bytes [H, W, C] to floats [C, H, W], like normalize() in the data workers.
class Normalize final : public BatchTransform {
 public:
  Normalize(const config::NormalizeBatch& plan, const std::string& place, Fields& fields, const c10::Device& device)
      : index_(find_field(fields, plan.field, place)) {
    SampleField& field = fields[index_];
    if (field.dtype != TENON_UINT8 || field.shape.size() != 3)
      refuse(place, "normalize is for the field " + describe(field) +
                        "; expected uint8 [height, width, channels]: remove normalize() from the dataset's transforms");
    const int64_t channels = field.shape[2];
    for (const auto* list : {&plan.mean, &plan.std})
      if (list->size() != 1 && static_cast<int64_t>(list->size()) != channels)
        refuse(place, fmt::format("normalize has {} numbers for the field {}; expected one, or one for each channel",
                                  list->size(), describe(field)));
    field.dtype = TENON_FLOAT32;
    field.shape = {channels, field.shape[0], field.shape[1]};
    field.element_bytes = sizeof(float);
    field.sample_bytes *= sizeof(float);
    std_ = at::tensor(plan.std, at::kFloat).mul_(255).view({-1, 1, 1}).to(device);
    mean_ = at::tensor(plan.mean, at::kFloat).mul_(255).view({-1, 1, 1}).to(device);
  }

  void apply(std::vector<at::Tensor>& fields, bool, uint64_t) const override {
    at::Tensor& image = fields[index_];
    image = image.permute({0, 3, 1, 2})
                .to(at::kFloat, /*non_blocking=*/false, /*copy=*/true, at::MemoryFormat::Contiguous)
                .sub_(mean_)
                .div_(std_);
  }

 private:
  size_t index_;
  at::Tensor mean_;
  at::Tensor std_;
};

// Gamma(shape, 1): Marsaglia and Tsang, "A simple method for generating gamma variables", TOMS 26(3), 2000.
double draw_gamma(Random& random, double shape) {
  if (shape < 1) return draw_gamma(random, shape + 1) * std::pow(1 - random.uniform(), 1 / shape);
  const double d = shape - 1.0 / 3;
  const double c = 1 / std::sqrt(9 * d);
  for (;;) {
    const double x = random.normal();
    const double root = 1 + c * x;
    if (root <= 0) continue;
    const double v = root * root * root;
    if (std::log(1 - random.uniform()) < x * x / 2 + d - d * v + d * std::log(v)) return d * v;
  }
}

double draw_beta(Random& random, double alpha) {
  const double left = draw_gamma(random, alpha);
  const double right = draw_gamma(random, alpha);
  return left + right > 0 ? left / (left + right) : 0.5;
}

// Mixes each sample with its neighbour in the batch. Zhang et al., "mixup: Beyond empirical risk minimization", ICLR
// 2018; Yun et al., "CutMix", ICCV 2019.
class Mix final : public BatchTransform {
 public:
  Mix(const config::MixBatch& plan, const std::string& place, Fields& fields)
      : plan_(plan),
        image_(find_field(fields, plan.image, place)),
        label_(find_field(fields, plan.label, place)),
        cuts_(std::ranges::find(plan.methods, "cut_mix") != plan.methods.end()),
        mixes_(std::ranges::find(plan.methods, "mix_up") != plan.methods.end()) {
    if (!is_floating(fields[image_]) || (cuts_ && fields[image_].shape.size() < 2))
      refuse(place, "mix has as its image the field " + describe(fields[image_]) +
                        "; expected floats [..., height, width]: use normalize first");
    if (fields[label_].dtype != TENON_INT64 || !fields[label_].shape.empty())
      refuse(place, fmt::format("mix has as its label the field {}; expected int64 []", describe(fields[label_])));
    // A place in an image is not mixed with it.
    for (const SampleField& field : fields)
      if (field.role != TENON_FIELD_NUMBERS && field.image == fields[image_].name)
        refuse(place,
               fmt::format("mix has as its image the field {}, and the field {} has places in it; expected an image "
                           "without boxes, keypoints and angles",
                           fields[image_].name, field.name));
    for (const SampleField& field : fields)
      if (field.name == plan.target)
        refuse(place, "mix adds the field \"" + plan.target + "\", which exists already; choose another target");
    const size_t bytes = sizeof(float) * static_cast<size_t>(plan.classes);
    fields.push_back({plan.target, TENON_FLOAT32, {plan.classes}, sizeof(float), bytes});
  }

  void check(const std::vector<at::Tensor>& fields) const override {
    const at::Tensor& label = fields[label_];
    if (label.numel() == 0) return;
    const int64_t least = label.min().item<int64_t>(), greatest = label.max().item<int64_t>();
    if (least < 0 || greatest >= plan_.classes)
      throw Error(ErrorKind::data,
                  "data.{} has labels from {} to {}; expected classes in [0, {}), the classes of "
                  "[[data.batch_transform]]",
                  plan_.label, least, greatest, plan_.classes);
  }

  void apply(std::vector<at::Tensor>& fields, bool training, uint64_t seed) const override {
    at::Tensor target = at::one_hot(fields[label_], plan_.classes).to(at::kFloat);
    Random random(seed);
    if (training && random.chance(plan_.p)) {
      const double share = draw_beta(random, plan_.alpha);  // the weight of the sample itself
      const bool cuts = cuts_ && (!mixes_ || random.chance(0.5));
      const double kept = cuts ? cut(fields[image_], share, random) : blend(fields[image_], share);
      target = target.roll(1, 0).mul_(1 - kept).add_(target.mul(kept));
    }
    fields.push_back(std::move(target));
  }

 private:
  double blend(at::Tensor& image, double share) const {
    image = image.roll(1, 0).mul_(1 - share).add_(image.mul(share));
    return share;
  }

  // A box with area 1 - share around a random point, clipped to the image.
  double cut(at::Tensor& image, double share, Random& random) const {
    const int64_t width = image.size(-1);
    const int64_t height = image.size(-2);
    const int64_t x = random.integer(width);
    const int64_t y = random.integer(height);
    const double half = 0.5 * std::sqrt(1 - share);
    const auto half_width = static_cast<int64_t>(half * static_cast<double>(width));
    const auto half_height = static_cast<int64_t>(half * static_cast<double>(height));
    const int64_t left = std::max<int64_t>(x - half_width, 0), right = std::min(x + half_width, width);
    const int64_t top = std::max<int64_t>(y - half_height, 0), bottom = std::min(y + half_height, height);
    const at::Tensor neighbour = image.roll(1, 0);
    image = image.clone();
    image.narrow(-2, top, bottom - top)
        .narrow(-1, left, right - left)
        .copy_(neighbour.narrow(-2, top, bottom - top).narrow(-1, left, right - left));
    return 1 - static_cast<double>((right - left) * (bottom - top)) / static_cast<double>(width * height);
  }

  config::MixBatch plan_;
  size_t image_;
  size_t label_;
  bool cuts_;
  bool mixes_;
};

std::unique_ptr<BatchTransform> make(const config::BatchTransformPlan& plan, Fields& fields,
                                     const c10::Device& device) {
  if (const auto* normalize = std::get_if<config::NormalizeBatch>(&plan.what))
    return std::make_unique<Normalize>(*normalize, plan.place, fields, device);
  return std::make_unique<Mix>(std::get<config::MixBatch>(plan.what), plan.place, fields);
}

}  // namespace

BatchTransforms::BatchTransforms(const std::vector<config::BatchTransformPlan>& plans, Fields fields,
                                 const c10::Device& device)
    : fields_(std::move(fields)) {
  for (const config::BatchTransformPlan& plan : plans) transforms_.push_back(make(plan, fields_, device));
}

void BatchTransforms::check(const std::vector<at::Tensor>& fields) const {
  for (const auto& transform : transforms_) transform->check(fields);
}

void BatchTransforms::apply(std::vector<at::Tensor>& fields, bool training, uint64_t seed) const {
  for (const auto& transform : transforms_) transform->apply(fields, training, seed);
}

}  // namespace tenon::pipeline
