#include "framework/images/transforms/transform_chain.h"

#include <algorithm>
#include <iterator>
#include <string>

#include <tenon/error.hpp>

#include "framework/formats/content_hash.h"
#include "framework/formats/nearest_name.h"
#include "framework/images/transforms/arguments.h"
#include "framework/images/transforms/move_targets.h"

namespace images {
namespace {

// Returns null if there is none. `names` receives all.
const TransformKind* find_kind(const std::string& name, std::vector<std::string>& names) {
  const TransformKind* found = nullptr;
  for (const TransformKind& kind : all_transforms()) {
    if (kind.name == name) found = &kind;
    names.push_back(kind.name);
  }
  return found;
}

bool has_probability(const TransformKind& kind) {
  return std::any_of(kind.arguments.begin(), kind.arguments.end(), [](const Argument& a) { return a.name == "p"; });
}

// Whether a transform moves the pixels of a large image, with some of its random values. `counts_scaling`: whether
// scaling the whole image counts.
bool moves_pixels(const Transform& transform, bool counts_scaling) {
  constexpr uint64_t kDraws = 64;
  for (uint64_t seed = 0; seed < kDraws; ++seed) {
    const cv::Size large = seed % 2 == 0 ? cv::Size(4000, 3000) : cv::Size(4096, 2304);
    tenon::Random random(seed, 0);
    cv::Size size = large;
    Steps steps;
    try {
      transform.draw(size, random, steps);
    } catch (const tenon::DataError&) {
      return true;  // a crop that is larger than the image
    }
    size = large;
    for (const Step& step : steps) {
      const auto* resize = std::get_if<Resize>(&step);
      const bool is_whole =
          resize && resize->source == cv::Rect({}, size) && resize->part == cv::Rect({}, resize->scaled);
      if (is_geometric(step) && (counts_scaling || !is_whole)) return true;
      size = size_after(step, size);
    }
  }
  return false;
}

// The default limit for images. Long thin images can exceed it when their shorter side is scaled up.
constexpr int64_t kMaxPixels = Limits().max_pixels;

// Returns the size after all steps. Throws if a step makes the image too large.
cv::Size final_size(const Steps& steps, cv::Size image) {
  cv::Size size = image;
  for (const Step& step : steps) {
    size = size_after(step, size);
    if (int64_t{size.width} * size.height > kMaxPixels) {
      throw tenon::DataError(
          "an image of " + describe_size(image) + " pixels would become one of " + describe_size(size) + "; expected " +
          std::to_string(kMaxPixels) +
          " pixels at most; put a resize before the transform that enlarges it, give resize a max_size, or "
          "remove the image");
    }
  }
  return size;
}

bool contains(cv::Rect outer, cv::Rect inner) { return !inner.empty() && (outer & inner) == inner; }

// Merges two steps into one if that gives the same pixels. `size` is the size before both.
std::optional<Step> join(const Step& first, const Step& second, cv::Size size) {
  if (const auto* crop = std::get_if<Crop>(&first)) {
    const auto* resize = std::get_if<Resize>(&second);
    if (!resize || !contains({{}, size}, crop->window)) return std::nullopt;
    Resize joined = *resize;
    joined.source += crop->window.tl();
    return joined;
  }
  if (const auto* resize = std::get_if<Resize>(&first)) {
    const auto* crop = std::get_if<Crop>(&second);
    if (!crop || !contains({{}, resize->part.size()}, crop->window)) return std::nullopt;
    Resize joined = *resize;
    joined.part = crop->window + resize->part.tl();
    return joined;
  }
  return std::nullopt;
}

Steps join_steps(const Steps& steps, cv::Size size) {
  Steps joined;
  cv::Size before_last = size;
  for (const Step& step : steps) {
    if (!joined.empty()) {
      if (const std::optional<Step> both = join(joined.back(), step, before_last)) {
        joined.back() = *both;
        continue;
      }
      before_last = size_after(joined.back(), before_last);
    }
    joined.push_back(step);
  }
  return joined;
}

void fill_with_noise(const Erase& step, cv::Size size, float* planes) {
  tenon::Random noise = step.noise;
  for (size_t channel = 0; channel < 3; ++channel) {
    cv::Mat plane(size, CV_32F, planes + channel * static_cast<size_t>(size.area()));
    for (int y = step.area.y; y < step.area.y + step.area.height; ++y) {
      float* row = plane.ptr<float>(y) + step.area.x;
      for (int x = 0; x < step.area.width; ++x) row[x] = static_cast<float>(noise.normal());
    }
  }
}

void erase(const Erase& step, cv::Size size, float* planes) {
  if (step.area.empty()) return;
  if (!step.colour) return fill_with_noise(step, size, planes);
  for (size_t channel = 0; channel < 3; ++channel) {
    cv::Mat plane(size, CV_32F, planes + channel * static_cast<size_t>(size.area()));
    plane(step.area).setTo((*step.colour)[channel]);
  }
}

}  // namespace

TransformChain::TransformChain(const std::vector<std::string>& entries, const std::string& parameter) {
  for (size_t i = 0; i < entries.size(); ++i) {
    try {
      append(entries[i]);
    } catch (const TextError& error) {
      throw tenon::Error(TENON_INVALID_ARGUMENT, "entry " + std::to_string(i + 1) + " of parameter \"" + parameter +
                                                     "\", \"" + entries[i] + "\": " + error.what());
    }
  }
}

void TransformChain::append(const std::string& entry) {
  const WrittenTransform written = parse_transform(entry);
  std::vector<std::string> names;
  const TransformKind* const kind = find_kind(written.name, names);
  const std::vector<std::string> of_plugins = plugin_transform_names();
  const bool is_of_plugin = std::count(of_plugins.begin(), of_plugins.end(), written.name) > 0;
  if (kind && is_of_plugin)
    throw TextError(
        "a plugin has a transform with the name of a bundled one; expected another name: rename that of the "
        "plugin, or remove the plugin");
  if (kind) return append_built_in(*kind, written, entry);
  if (is_of_plugin) return append_plugin(written);
  names.insert(names.end(), of_plugins.begin(), of_plugins.end());
  const bool is_near = formats::nearest_name(written.name, names).has_value();
  throw TextError("there is no transform \"" + written.name + "\"" + formats::suggest_name(written.name, names) +
                  (is_near ? "" : "; a transform of a plugin needs the folder of the plugin, with --plugin-dir"));
}

TransformChain::Link TransformChain::make_link(const std::string& name, std::unique_ptr<Transform> transform,
                                               double probability) const {
  transform->check_place(normalizes());
  // A number distinguishes the streams of transforms with the same name.
  const auto same = std::count_if(links_.begin(), links_.end(), [&](const Link& l) { return l.name == name; });
  const uint64_t stream = formats::hash_text(name) + static_cast<uint64_t>(same);
  return {name, std::move(transform), probability, stream, normalizes()};
}

void TransformChain::append_built_in(const TransformKind& kind, const WrittenTransform& written,
                                     const std::string& entry) {
  const Arguments arguments(written.arguments, kind.arguments);
  if (!kind.make) return begin_with_mosaic(kind, arguments);
  Link link = make_link(kind.name, kind.make(arguments), has_probability(kind) ? arguments.number("p") : 1);
  const Normalization* const normalization = link.transform->normalization();
  if (normalization) scaling_.emplace(*normalization);
  if (!mosaic_ && fixed_ == links_.size() && link.transform->draws_nothing()) {
    ++fixed_;
    fixed_text_ += entry + '\n';
  }
  append_to_text(kind.name, arguments.format_json(kind.arguments), normalization ? R"(, "divide_by": 255)" : "");
  links_.push_back(std::move(link));
}

void TransformChain::append_plugin(const WrittenTransform& written) {
  std::unique_ptr<PluginTransform> made = make_plugin_transform(written);
  const double probability = made->probability();
  append_to_text(written.name, made->arguments_json(), "");
  plugins_.push_back(links_.size());
  links_.push_back(make_link(written.name, std::move(made), probability));
}

void TransformChain::append_to_text(const std::string& name, const std::string& arguments, const std::string& more) {
  steps_text_ += ", {\"name\": \"" + name + '"' + more;
  if (!arguments.empty()) steps_text_ += ", " + arguments;
  steps_text_ += '}';
}

void TransformChain::begin_with_mosaic(const TransformKind& kind, const Arguments& arguments) {
  if (mosaic_ || !links_.empty())
    throw TextError("comes after other transforms; expected mosaic first, because it combines whole images");
  mosaic_ = MosaicLink{mosaic_settings(arguments), arguments.number("p"), formats::hash_text(kind.name)};
  append_to_text(kind.name, arguments.format_json(kind.arguments), "");
}

bool TransformChain::draws_mosaic(uint64_t seed) const {
  return mosaic_ && tenon::Random(seed, mosaic_->stream).chance(mosaic_->probability);
}

std::array<int64_t, kMosaicImages> TransformChain::choose_samples(int64_t index, int64_t length, uint64_t seed) const {
  tenon::Random random(seed, mosaic_->stream + 1);
  std::array<int64_t, kMosaicImages> samples = {index};
  for (size_t i = 1; i < kMosaicImages; ++i) samples[i] = random.integer(length);
  return samples;
}

std::array<Tile, kMosaicImages> TransformChain::draw_tiles(const std::array<cv::Size, kMosaicImages>& sizes,
                                                           uint64_t seed) const {
  tenon::Random random(seed, mosaic_->stream + 2);
  return place_tiles(mosaic_->settings, draw_mosaic_center(mosaic_->settings, random), sizes);
}

void TransformChain::draw_links(size_t begin, size_t end, uint64_t seed, Drawing& drawing) const {
  for (size_t i = begin; i < end; ++i) {
    const Link& link = links_[i];
    tenon::Random random(seed, link.stream);
    if (link.probability < 1 && !random.chance(link.probability)) continue;
    Steps& steps = link.after_normalize ? drawing.erasures : drawing.steps;
    if (link.transform->needs_boxes()) {
      move_boxes_of(drawing);
      link.transform->draw_with_boxes(drawing.size, drawing.boxes, random, steps);
    } else {
      link.transform->draw(drawing.size, random, steps);
    }
  }
}

// Moves the boxes by the steps since the last call.
void TransformChain::move_boxes_of(Drawing& drawing) {
  Steps steps;
  std::copy_if(drawing.steps.begin() + static_cast<ptrdiff_t>(drawing.moved), drawing.steps.end(),
               std::back_inserter(steps), is_geometric);
  drawing.boxes = move_boxes(drawing.boxes, BoxFormat::xyxy, 0, motions_of(steps, drawing.moved_size)).values;
  drawing.moved = drawing.steps.size();
  drawing.moved_size = drawing.size;
}

bool TransformChain::needs_boxes() const {
  return std::any_of(links_.begin(), links_.end(), [](const Link& link) { return link.transform->needs_boxes(); });
}

bool TransformChain::is_random() const {
  return mosaic_ || std::any_of(links_.begin(), links_.end(), [](const Link& link) {
           return link.probability < 1 || !(link.transform->draws_nothing() || link.transform->normalization());
         });
}

// A fixed part that scales nothing would let later random transforms decide the decoding scale.
Reducing TransformChain::reducing_of(const Steps& fixed) const {
  const bool scales =
      std::any_of(fixed.begin(), fixed.end(), [](const Step& step) { return std::holds_alternative<Resize>(step); });
  return fixed_ == 0 || scales ? Reducing::yes : Reducing::no;
}

SampledTransforms TransformChain::draw(cv::Size image, uint64_t seed, const Boxes& boxes) const {
  Drawing drawing = {image, boxes};
  draw_links(0, fixed_, seed, drawing);
  const Reducing reducing = reducing_of(drawing.steps);
  if (needs_boxes()) move_boxes_of(drawing);  // the same rounding as with a cached fixed part
  draw_links(fixed_, end_of_stage(0), seed, drawing);
  return finish(0, image, std::move(drawing), reducing);
}

// Only the last stage normalises.
SampledTransforms TransformChain::finish(size_t stage, cv::Size image, Drawing drawing, Reducing reducing) const {
  return SampledTransforms(image, std::move(drawing.steps), std::move(drawing.erasures),
                           stage == plugins_.size() ? scaling_ : std::nullopt, reducing);
}

SampledTransforms TransformChain::draw_fixed_part(cv::Size image) const {
  Drawing drawing = {image, {}};
  draw_links(0, fixed_, 0, drawing);
  const Reducing reducing = reducing_of(drawing.steps);
  return SampledTransforms(image, std::move(drawing.steps), {}, std::nullopt, reducing);
}

TransformChain::Boxes TransformChain::move_by_fixed_part(cv::Size image, const Boxes& boxes) const {
  Drawing drawing = {image, boxes};
  draw_links(0, fixed_, 0, drawing);
  move_boxes_of(drawing);
  return drawing.boxes;
}

SampledTransforms TransformChain::sample_rest(cv::Size image, uint64_t seed, const Boxes& boxes) const {
  Drawing drawing = {image, boxes};
  draw_links(fixed_, end_of_stage(0), seed, drawing);
  return finish(0, image, std::move(drawing), Reducing::no);
}

TransformChain::DrawnPlugin TransformChain::draw_plugin(size_t number, uint64_t seed) const {
  const Link& link = links_[plugins_[number]];
  tenon::Random random(seed, link.stream);
  if (link.probability < 1 && !random.chance(link.probability)) return {nullptr, 0};
  return {link.transform->plugin(), random()};
}

SampledTransforms TransformChain::sample_stage(size_t stage, cv::Size image, uint64_t seed, const Boxes& boxes) const {
  Drawing drawing = {image, boxes};
  draw_links(plugins_[stage - 1] + 1, end_of_stage(stage), seed, drawing);
  return finish(stage, image, std::move(drawing), Reducing::no);
}

std::string TransformChain::list_moving(bool counts_scaling) const {
  std::string names = mosaic_ ? "mosaic" : "";
  for (const Link& link : links_) {
    const PluginTransform* const plugin = link.transform->plugin();
    if (link.transform->needs_boxes() || (plugin && plugin->moved_kinds() != 0) ||
        moves_pixels(*link.transform, counts_scaling))
      names += (names.empty() ? "" : ", ") + link.name;
  }
  return names;
}

std::vector<int64_t> TransformChain::shape() const {
  std::optional<cv::Size> size;
  if (mosaic_ && mosaic_->probability == 1) size.emplace(2 * mosaic_->settings.side, 2 * mosaic_->settings.side);
  for (const Link& link : links_) size = link.transform->output_size(size);
  const int64_t height = size ? size->height : -1;
  const int64_t width = size ? size->width : -1;
  if (normalizes()) return {3, height, width};
  return {height, width, 3};
}

SampledTransforms::SampledTransforms(cv::Size image_size, Steps steps, Steps erasures,
                                     const std::optional<Scaling8Bit>& scaling, Reducing reducing)
    : image_size_(image_size), steps_(std::move(steps)), erasures_(std::move(erasures)), scaling_(scaling) {
  std::copy_if(steps_.begin(), steps_.end(), std::back_inserter(geometry_), is_geometric);
  steps_ = join_steps(steps_, image_size_);
  size_ = final_size(steps_, image_size_);
  defer_mirroring();
  find_window(reducing);
}

// The copy into the batch applies the last mirroring.
void SampledTransforms::defer_mirroring() {
  auto last = steps_.rbegin();
  while (last != steps_.rend() && is_pointwise(*last)) ++last;
  if (last == steps_.rend()) return;
  const auto* flip = std::get_if<Flip>(&*last);
  if (!flip || *flip != Flip::horizontal) return;
  steps_.erase(std::next(last).base());
  mirror_ = Mirror::yes;
}

void SampledTransforms::find_window(Reducing reducing) {
  window_ = {{}, image_size_};
  reduction_ = {image_size_, image_size_};
  if (steps_.empty()) return;
  if (const auto* resize = std::get_if<Resize>(&steps_.front())) {
    window_ = resize->source;
    const bool is_nearest = resize->interpolation == Interpolation::nearest;
    if (resize->antialias == Antialias::yes && !is_nearest) {
      window_ = needed_window(resize->source.size(), area_of(*resize), resize->interpolation) + resize->source.tl();
    }
    if (reducing == Reducing::yes && !is_nearest) reduction_ = {resize->source.size(), resize->scaled};
  } else if (const auto* crop = std::get_if<Crop>(&steps_.front())) {
    const cv::Rect within = crop->window & window_;
    if (!within.empty()) window_ = within;
  }
}

cv::Mat SampledTransforms::render(const cv::Mat& image, const cv::Rect2d& place, TransformBuffers& buffers) const {
  MovingImage moving(image, buffers);
  size_t done = 0;
  if (!steps_.empty()) {
    if (const auto* resize = std::get_if<Resize>(&steps_.front())) {
      // The source in pixels of the image. It may extend beyond the needed part, and so beyond the image.
      const double across = place.width / window_.width;
      const double down = place.height / window_.height;
      const cv::Rect2d box(place.x + (resize->source.x - window_.x) * across,
                           place.y + (resize->source.y - window_.y) * down, resize->source.width * across,
                           resize->source.height * down);
      moving.resize({box, resize->scaled, resize->part}, resize->interpolation, resize->antialias);
      done = 1;
    } else if (const auto* crop = std::get_if<Crop>(&steps_.front())) {
      moving.apply(Crop{crop->window - window_.tl(), crop->fill});
      done = 1;
    }
  }
  for (; done < steps_.size(); ++done) moving.apply(steps_[done]);
  return moving.get();
}

void SampledTransforms::write(const cv::Mat& image, const cv::Rect2d& place, TransformBuffers& buffers,
                              float* planes) const {
  write_planes(render(image, place, buffers), mirror_, scaling_.value(), planes);
  for (const Step& step : erasures_) erase(std::get<Erase>(step), size_, planes);
}

void SampledTransforms::write(const cv::Mat& image, const cv::Rect2d& place, TransformBuffers& buffers,
                              uint8_t* pixels) const {
  CV_Assert(!scaling_);
  write_bytes(render(image, place, buffers), mirror_, pixels);
}

cv::Mat SampledTransforms::move_mask(const cv::Mat& mask, double fill, TransformBuffers& buffers) const {
  CV_Assert(mask.size() == image_size_ && mask.channels() == 1);
  MovingImage moving(mask, buffers);
  for (const Step& step : steps_) moving.apply_to_mask(step, fill);
  if (mirror_ == Mirror::yes) moving.apply_to_mask(Flip::horizontal, fill);
  return moving.get();
}

}  // namespace images
