#include "plugins/images/transforms/transform_chain.h"

#include <algorithm>
#include <map>
#include <string_view>

#include <tenon/error.hpp>

#include "framework/formats/nearest_name.h"
#include "plugins/hash_text.h"
#include "plugins/images/transforms/chain_text.h"

namespace images {
namespace {

const TransformKind& find_kind(const std::string& name) {
  std::vector<std::string> names;
  for (const TransformKind& kind : all_transforms()) {
    if (kind.name == name) return kind;
    names.push_back(kind.name);
  }
  throw TextError("there is no transform \"" + name + "\"" + formats::suggest_name(name, names));
}

bool has_probability(const TransformKind& kind) {
  return std::any_of(kind.arguments.begin(), kind.arguments.end(), [](const Argument& a) { return a.name == "p"; });
}

// Whether a transform moves the pixels of a large image, with some of its random values. `counts_scaling`: whether
// scaling the whole image counts.
bool moves_pixels(const Transform& transform, bool counts_scaling) {
  const cv::Size large = {4000, 3000};
  constexpr uint64_t kDraws = 64;
  for (uint64_t seed = 0; seed < kDraws; ++seed) {
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
      const bool moves = resize || std::holds_alternative<Crop>(step) || std::holds_alternative<Flip>(step) ||
                         std::holds_alternative<Warp>(step);
      if (moves && (counts_scaling || !is_whole)) return true;
      size = size_after(step, size);
    }
  }
  return false;
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
  const TransformKind& kind = find_kind(written.name);
  const Arguments arguments(written.arguments, kind.arguments);
  Link link;
  link.transform = kind.make(arguments);
  link.transform->check_place(normalizes());
  link.probability = has_probability(kind) ? arguments.number("p") : 1;
  link.after_normalize = normalizes();
  // A number distinguishes the streams of transforms with the same name.
  const auto same = std::count_if(links_.begin(), links_.end(), [&](const Link& l) { return l.name == kind.name; });
  link.name = kind.name;
  link.stream = components::hash_text(kind.name) + static_cast<uint64_t>(same);
  if (const Normalization* normalization = link.transform->normalization()) scaling_.emplace(*normalization);
  if (fixed_ == links_.size() && link.transform->draws_nothing()) {
    ++fixed_;
    fixed_text_ += entry + '\n';
  }
  steps_text_ += ", {\"name\": \"" + kind.name + '"';
  if (link.transform->normalization()) steps_text_ += R"(, "divide_by": 255)";
  if (!kind.arguments.empty()) steps_text_ += ", " + arguments.format_json(kind.arguments);
  steps_text_ += '}';
  links_.push_back(std::move(link));
}

void TransformChain::draw_links(size_t begin, size_t end, uint64_t seed, Drawing& drawing) const {
  for (size_t i = begin; i < end; ++i) {
    const Link& link = links_[i];
    tenon::Random random(seed, link.stream);
    if (link.probability < 1 && !random.chance(link.probability)) continue;
    link.transform->draw(drawing.size, random, link.after_normalize ? drawing.erasures : drawing.steps);
  }
}

// A fixed part that scales nothing would let later random transforms decide the decoding scale.
Reducing TransformChain::reducing_of(const Steps& fixed) const {
  const bool scales =
      std::any_of(fixed.begin(), fixed.end(), [](const Step& step) { return std::holds_alternative<Resize>(step); });
  return fixed_ == 0 || scales ? Reducing::yes : Reducing::no;
}

SampledTransforms TransformChain::draw(cv::Size image, uint64_t seed) const {
  Drawing drawing = {image, {}, {}};
  draw_links(0, fixed_, seed, drawing);
  const Reducing reducing = reducing_of(drawing.steps);
  draw_links(fixed_, links_.size(), seed, drawing);
  return SampledTransforms(image, std::move(drawing.steps), std::move(drawing.erasures), scaling_, reducing);
}

SampledTransforms TransformChain::draw_fixed_part(cv::Size image) const {
  Drawing drawing = {image, {}, {}};
  draw_links(0, fixed_, 0, drawing);
  const Reducing reducing = reducing_of(drawing.steps);
  return SampledTransforms(image, std::move(drawing.steps), {}, std::nullopt, reducing);
}

SampledTransforms TransformChain::sample_rest(cv::Size image, uint64_t seed) const {
  Drawing drawing = {image, {}, {}};
  draw_links(fixed_, links_.size(), seed, drawing);
  return SampledTransforms(image, std::move(drawing.steps), std::move(drawing.erasures), scaling_, Reducing::no);
}

std::string TransformChain::list_moving(bool counts_scaling) const {
  std::string names;
  for (const Link& link : links_) {
    if (moves_pixels(*link.transform, counts_scaling)) names += (names.empty() ? "" : ", ") + link.name;
  }
  return names;
}

std::vector<int64_t> TransformChain::shape() const {
  std::optional<cv::Size> size;
  for (const Link& link : links_) size = link.transform->output_size(size);
  const int64_t height = size ? size->height : -1;
  const int64_t width = size ? size->width : -1;
  if (normalizes()) return {3, height, width};
  return {height, width, 3};
}

}  // namespace images
