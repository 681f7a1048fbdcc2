#include "framework/artifacts/drawing/render_samples.h"

#include <tenon/abi.h>
#include <tenon/draft/field_details.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>
#include <set>
#include <span>
#include <sstream>

#include "framework/artifacts/checkpoint/metric_values.h"
#include "framework/artifacts/drawing/line_chart.h"
#include "framework/artifacts/files/encode.h"
#include "framework/support/text/format.h"
#include "framework/support/text/format_values.h"

namespace tenon::artifacts {

namespace {

struct SampleImage {
  int64_t height;
  int64_t width;
  int64_t channels;             // 1 (grey) or 3 (red, green, blue)
  std::vector<uint8_t> pixels;  // height * width * channels, top row first
};

constexpr size_t kMaxValues = 24;  // maximum number of values of a field shown as text

using Ranges = std::map<std::string, GreyRange>;

constexpr GreyRange kEmptyRange{std::numeric_limits<double>::infinity(), -std::numeric_limits<double>::infinity()};

bool is_readable(int32_t dtype) { return find_stored_type(dtype) && dtype != TENON_FLOAT16 && dtype != TENON_BFLOAT16; }

double value_at(const TensorView& field, uint64_t index) {
  return static_cast<double>(read_element(field.dtype, field.data + index * find_stored_type(field.dtype)->bytes));
}

bool is_floating(int32_t dtype) { return dtype == TENON_FLOAT32 || dtype == TENON_FLOAT64; }

uint64_t count_values(const TensorView& field) {
  uint64_t count = 1;
  for (const int64_t extent : field.shape) count *= static_cast<uint64_t>(extent);
  return count;
}

bool has_colours(int64_t channels) { return channels == 1 || channels == 3; }

bool is_byte_image(const TensorView& field) {
  return field.dtype == TENON_UINT8 && field.shape.size() == 3 && has_colours(field.shape[2]) &&
         count_values(field) > 0;
}

bool is_float_image(const TensorView& field) {
  return is_floating(field.dtype) && field.shape.size() == 3 && has_colours(field.shape[0]) && count_values(field) > 0;
}

// Returns nothing if the field has another number of channels than the normalisation.
std::optional<Normalisation> find_normalisation(const TensorView& field, const Normalisations& normalisations) {
  const auto found = normalisations.find(field.name);
  if (found == normalisations.end() || !is_float_image(field)) return std::nullopt;
  Normalisation normalisation = found->second;
  const auto channels = static_cast<size_t>(field.shape[0]);
  for (auto* numbers : {&normalisation.mean, &normalisation.std}) {
    if (numbers->size() == 1) numbers->resize(channels, numbers->front());
    if (numbers->size() != channels) return std::nullopt;
  }
  return normalisation;
}

Ranges find_ranges(const std::vector<SampleFields>& samples, const Normalisations& normalisations) {
  Ranges ranges;
  for (const SampleFields& fields : samples) {
    for (const TensorView& field : fields) {
      if (!is_float_image(field) || find_normalisation(field, normalisations)) continue;
      GreyRange& range = ranges.try_emplace(field.name, kEmptyRange).first->second;
      for (uint64_t i = 0, count = count_values(field); i < count; ++i) {
        const double value = value_at(field, i);
        if (!std::isfinite(value)) continue;
        range.smallest = std::min(range.smallest, value);
        range.largest = std::max(range.largest, value);
      }
    }
  }
  return ranges;
}

SampleImage draw_bytes(const TensorView& field) {
  SampleImage picture{field.shape[0], field.shape[1], field.shape[2], std::vector<uint8_t>(count_values(field))};
  std::memcpy(picture.pixels.data(), field.data, picture.pixels.size());
  return picture;
}

// Converts planes to pixels. `to_level` returns the brightness of a value of a channel, from 0 to 255. Values that are
// not finite are black.
template <class ToLevel>
SampleImage draw_floats(const TensorView& field, const ToLevel& to_level) {
  const int64_t channels = field.shape[0];
  SampleImage picture{field.shape[1], field.shape[2], channels, std::vector<uint8_t>(count_values(field))};
  const uint64_t plane = static_cast<uint64_t>(picture.height * picture.width);
  for (uint64_t i = 0; i < plane; ++i) {
    for (uint64_t c = 0; c < static_cast<uint64_t>(channels); ++c) {
      const double value = value_at(field, c * plane + i);
      const double level = std::isfinite(value) ? std::clamp(to_level(value, c), 0.0, 255.0) : 0;
      picture.pixels[i * static_cast<uint64_t>(channels) + c] = static_cast<uint8_t>(std::lround(level));
    }
  }
  return picture;
}

std::optional<SampleImage> draw(const TensorView& field, const Ranges& ranges, const Normalisations& normalisations) {
  if (is_byte_image(field)) return draw_bytes(field);
  if (!is_float_image(field)) return std::nullopt;
  if (const auto normalised = find_normalisation(field, normalisations))
    return draw_floats(
        field, [&](double value, size_t c) { return 255 * (value * normalised->std[c] + normalised->mean[c]); });
  const GreyRange& range = ranges.at(field.name);
  const double scale = range.largest > range.smallest ? 255 / (range.largest - range.smallest) : 0;
  return draw_floats(field, [&](double value, size_t) { return (value - range.smallest) * scale; });
}

bool is_mask_of(const TensorView& field, const SampleImage& picture) {
  return is_readable(field.dtype) && !is_floating(field.dtype) && field.shape.size() == 2 &&
         field.shape[0] == picture.height && field.shape[1] == picture.width;
}

// Spaces hues by the golden ratio, so that the colours of neighbouring numbers differ clearly.
std::array<double, 3> colour_of(double number) {
  const double hue = std::fmod(number * 0.618033988749895, 1.0) * 6;
  const auto ramp = [&](double shift) {
    const double k = std::fmod(hue + shift, 6.0);
    return 255 * (1 - std::clamp(std::min(k, 4 - k), 0.0, 1.0));
  };
  return {ramp(5), ramp(3), ramp(1)};
}

bool is_ignored(double number) { return number < 0 || number > 254; }

// A pixel of a mask over a grey one.
std::array<uint8_t, 3> blend(double number, double grey) {
  if (is_ignored(number)) return {255, 255, 255};
  const double share = number == 0 ? 0 : 0.65;
  if (number != 0) grey = 64 + grey / 2;  // so that dark and bright parts of an image change the colour little
  const std::array<double, 3> colour = colour_of(number);
  const auto mix = [&](size_t c) { return static_cast<uint8_t>(std::lround(grey * (1 - share) + colour[c] * share)); };
  return {mix(0), mix(1), mix(2)};
}

// The brightness of a pixel, as ITU-R BT.601 weights the colours.
double find_grey(const SampleImage& picture, size_t i) {
  if (picture.channels == 1) return picture.pixels[i];
  return 0.299 * picture.pixels[3 * i] + 0.587 * picture.pixels[3 * i + 1] + 0.114 * picture.pixels[3 * i + 2];
}

// The colours of the image would make those of the classes unreadable.
SampleImage draw_mask(const SampleImage& picture, const TensorView& mask) {
  SampleImage drawn{picture.height, picture.width, 3, {}};
  const size_t count = static_cast<size_t>(picture.height * picture.width);
  drawn.pixels.reserve(3 * count);
  for (size_t i = 0; i < count; ++i)
    for (const uint8_t level : blend(value_at(mask, i), find_grey(picture, i))) drawn.pixels.push_back(level);
  return drawn;
}

// Repeats each pixel `factor` x `factor` times, in colours.
SampleImage enlarge(const SampleImage& picture, int64_t factor) {
  SampleImage large{picture.height * factor, picture.width * factor, 3, {}};
  large.pixels.reserve(static_cast<size_t>(3 * large.height * large.width));
  for (int64_t y = 0; y < large.height; ++y)
    for (int64_t x = 0; x < large.width; ++x)
      for (int64_t c = 0; c < 3; ++c) {
        const int64_t pixel = y / factor * picture.width + x / factor;
        large.pixels.push_back(picture.pixels[static_cast<size_t>(pixel * picture.channels + c % picture.channels)]);
      }
  return large;
}

// Fills the pixels of a rectangle that are within the image. The sides on the right and at the bottom are excluded.
void fill(SampleImage& picture, double left, double top, double right, double bottom,
          const std::array<double, 3>& colour) {
  const auto limit = [](double at, int64_t extent) {
    return static_cast<int64_t>(std::lround(std::clamp(at, 0.0, static_cast<double>(extent))));
  };
  for (int64_t y = limit(top, picture.height); y < limit(bottom, picture.height); ++y)
    for (int64_t x = limit(left, picture.width); x < limit(right, picture.width); ++x)
      for (size_t c = 0; c < 3; ++c)
        picture.pixels[static_cast<size_t>(3 * (y * picture.width + x)) + c] =
            static_cast<uint8_t>(std::lround(colour[c]));
}

constexpr double kLine = 2;  // pixels
constexpr std::array<double, 3> kNoClass{255, 220, 0};

// Draws the inner edge of a box.
void draw_box(SampleImage& picture, const std::array<double, 4>& box, const std::array<double, 3>& colour) {
  const auto [left, top, right, bottom] = box;
  fill(picture, left, top, right, top + kLine, colour);
  fill(picture, left, bottom - kLine, right, bottom, colour);
  fill(picture, left, top, left + kLine, bottom, colour);
  fill(picture, right - kLine, top, right, bottom, colour);
}

// The classes of masks: their numbers, -1 for ignored pixels, and their names.
using MaskClasses = std::set<std::pair<int64_t, std::string>>;

void add_classes(const TensorView& mask, const config::ClassNames& class_names, MaskClasses& classes) {
  const std::vector<std::string> names = config::find_classes(class_names, mask.name);
  std::set<int64_t> numbers;
  for (uint64_t i = 0, count = count_values(mask); i < count; ++i) {
    const double number = value_at(mask, i);
    numbers.insert(is_ignored(number) ? -1 : static_cast<int64_t>(number));
  }
  for (const int64_t number : numbers)
    classes.emplace(number, number < 0 ? "ignored" : config::name_class(names, number));
}

std::string print_colour(const auto& levels) {
  const auto level = [&](size_t c) { return static_cast<int>(std::lround(static_cast<double>(levels[c]))); };
  return fmt::format("#{:02x}{:02x}{:02x}", level(0), level(1), level(2));
}

// The colours over a medium grey. Ignored pixels are the last.
std::vector<ClassColour> list_colours(const MaskClasses& classes) {
  std::vector<ClassColour> colours;
  for (const auto& [number, name] : classes) {
    colours.push_back({name, print_colour(blend(static_cast<double>(number), 128))});
  }
  if (!classes.empty() && classes.begin()->first < 0) std::rotate(colours.begin(), colours.begin() + 1, colours.end());
  return colours;
}

// Averages squares of `factor` x `factor` pixels. Cuts off the remainder on the right and at the bottom.
SampleImage shrink(const SampleImage& picture, int64_t factor) {
  SampleImage small{picture.height / factor, picture.width / factor, picture.channels, {}};
  small.pixels.reserve(static_cast<size_t>(small.height * small.width * small.channels));
  for (int64_t y = 0; y < small.height; ++y)
    for (int64_t x = 0; x < small.width; ++x)
      for (int64_t c = 0; c < small.channels; ++c) {
        int64_t sum = 0;
        for (int64_t i = 0; i < factor * factor; ++i) {
          const int64_t row = y * factor + i / factor, column = x * factor + i % factor;
          sum += picture.pixels[static_cast<size_t>((row * picture.width + column) * picture.channels + c)];
        }
        small.pixels.push_back(static_cast<uint8_t>((sum + factor * factor / 2) / (factor * factor)));
      }
  return small;
}

SampleImage fit(const SampleImage& picture, int64_t longest) {
  const int64_t factor = 1 + (std::max(picture.height, picture.width) - 1) / longest;
  const bool is_too_narrow = std::min(picture.height, picture.width) < factor;
  return factor == 1 || is_too_narrow ? picture : shrink(picture, factor);
}

RenderedPicture encode(const std::string& name, const SampleImage& picture) {
  RenderedPicture drawn{name, picture.height, picture.width, {}};
  encode_png(std::as_bytes(std::span(picture.pixels)), picture.height, picture.width, picture.channels, drawn.png);
  return drawn;
}

// Whether the value is the number of a class that has a name.
bool is_named(const std::vector<std::string>& names, double value) {
  return value >= 0 && value < static_cast<double>(names.size()) && value == std::floor(value);
}

std::string format_values(const TensorView& field, const config::ClassNames& class_names) {
  const std::vector<std::string> names =
      is_floating(field.dtype) ? std::vector<std::string>() : config::find_classes(class_names, field.name);
  const uint64_t count = count_values(field);
  if (!is_readable(field.dtype)) return support::format_count(static_cast<int64_t>(count), "value");
  std::ostringstream text;
  for (uint64_t i = 0; i < std::min<uint64_t>(count, kMaxValues); ++i) {
    const double value = value_at(field, i);
    text << (i ? " " : "") << value;
    if (is_named(names, value) && names[static_cast<size_t>(value)] != format_number(value))
      text << " (" << names[static_cast<size_t>(value)] << ")";
  }
  if (count > kMaxValues) text << " ... (" << count << " values)";
  return text.str();
}

const TensorView* find_view(const SampleFields& fields, const std::string& name) {
  const auto found = std::ranges::find(fields, name, &TensorView::name);
  return found == fields.end() || !is_readable(found->dtype) ? nullptr : &*found;
}

// Draws the boxes and keypoints of an image, and adds the classes of its boxes.
class PlaceDrawing {
 public:
  PlaceDrawing(const ImagePlaces& places, const config::ClassNames& names) : places_(places), names_(names) {}

  // `picture`: of the image `name`, shrunk to fit. `scale`: its pixels per pixel of the image.
  // Returns nothing if it has neither targets nor, with `is_predicted`, predictions.
  std::optional<SampleImage> draw(const SampleImage& picture, double scale, const std::string& name,
                                  const SampleFields& fields, bool is_predicted) {
    constexpr int64_t kSide = 256;
    std::vector<std::pair<const ImagePlace*, const TensorView*>> drawn;
    for (const auto& [field, place] : places_)
      if (const TensorView* const view =
              place.image == name && place.is_predicted == is_predicted ? find_view(fields, field) : nullptr)
        drawn.emplace_back(&place, view);
    if (drawn.empty()) return std::nullopt;
    const int64_t factor = std::max<int64_t>(1, kSide / std::max(picture.height, picture.width));
    SampleImage large = enlarge(picture, factor);
    for (const auto& [place, view] : drawn) {
      if (place->role == TENON_FIELD_BOXES)
        draw_boxes(large, scale * static_cast<double>(factor), *view, find_view(fields, place->classes),
                   place->named_by.empty() ? place->classes : place->named_by);
      if (place->role == TENON_FIELD_KEYPOINTS) draw_keypoints(large, scale * static_cast<double>(factor), *view);
    }
    return large;
  }

  std::vector<ClassColour> colours() const {
    std::vector<ClassColour> colours;
    for (const auto& [number, name] : classes_)
      colours.push_back({name, print_colour(colour_of(static_cast<double>(number)))});
    return colours;
  }

 private:
  void draw_boxes(SampleImage& picture, double scale, const TensorView& boxes, const TensorView* classes,
                  const std::string& named_by) {
    const std::vector<std::string> names = config::find_classes(names_, named_by);
    for (uint64_t i = 0, count = count_values(boxes) / 4; i < count; ++i) {
      std::array<double, 4> box{};
      for (uint64_t k = 0; k < 4; ++k) box[k] = scale * value_at(boxes, 4 * i + k);
      if (!std::ranges::all_of(box, [](double side) { return std::isfinite(side); })) continue;
      const bool has_class = classes && i < count_values(*classes);
      const double number = has_class ? value_at(*classes, i) : -1;
      draw_box(picture, box, number < 0 ? kNoClass : colour_of(number));
      if (number >= 0)
        classes_.emplace(static_cast<int64_t>(number), config::name_class(names, static_cast<int64_t>(number)));
    }
  }

  static void draw_keypoints(SampleImage& picture, double scale, const TensorView& points) {
    const auto width = static_cast<uint64_t>(points.shape.back());
    for (uint64_t i = 0, count = count_values(points) / width; i < count; ++i) {
      const double x = scale * value_at(points, width * i), y = scale * value_at(points, width * i + 1);
      const bool is_shown = width < 3 || value_at(points, width * i + 2) != 0;
      if (is_shown && std::isfinite(x) && std::isfinite(y))
        fill(picture, x - kLine, y - kLine, x + kLine, y + kLine, kNoClass);
    }
  }

  const ImagePlaces& places_;
  const config::ClassNames& names_;
  MaskClasses classes_;
};

// Renders images first, because masks are rendered over the first image.
RenderedSample draw_sample(const SampleFields& fields, const Ranges& ranges, int64_t longest,
                           const config::ClassNames& names, const Normalisations& normalisations,
                           MaskClasses& mask_classes, PlaceDrawing& places) {
  RenderedSample drawn;
  std::optional<SampleImage> first;
  for (const TensorView& field : fields) {
    if (const std::optional<SampleImage> picture = draw(field, ranges, normalisations)) {
      const SampleImage fitted = fit(*picture, longest);
      const double scale = static_cast<double>(fitted.width) / static_cast<double>(picture->width);
      const std::optional<SampleImage> targets = places.draw(fitted, scale, field.name, fields, false);
      const std::optional<SampleImage> predicted = places.draw(fitted, scale, field.name, fields, true);
      drawn.pictures.push_back(encode(field.name, targets.value_or(fitted)));
      if (predicted) drawn.pictures.push_back(encode("predicted in " + field.name, *predicted));
      if (!first) first = picture;
    }
  }
  for (const TensorView& field : fields) {
    if (is_image(field)) continue;
    if (first && is_mask_of(field, *first)) {
      drawn.pictures.push_back(encode(field.name, fit(draw_mask(*first, field), longest)));
      add_classes(field, names, mask_classes);
    } else {
      drawn.values.emplace_back(field.name, format_values(field, names));
    }
  }
  return drawn;
}

void write_sample(std::ostream& page, const SheetSample& sample, const RenderedSample& drawn) {
  page << "<figure" << (drawn.pictures.empty() ? " class=\"values\"" : "") << ">";
  for (const RenderedPicture& picture : drawn.pictures) page << embed_picture(picture);
  page << "<figcaption>" << escape_html(sample.caption);
  for (const std::string& line : sample.lines) page << "<br>" << escape_html(line);
  for (const auto& [name, values] : drawn.values) page << "<br>" << escape_html(name) << ": " << escape_html(values);
  page << "</figcaption></figure>\n";
}

}  // namespace

bool is_image(const TensorView& field) { return is_byte_image(field) || is_float_image(field); }

RenderedSamples render_samples(const std::vector<SampleFields>& samples, int64_t longest,
                               const config::ClassNames& names, const ImageDetails& details) {
  RenderedSamples drawn{{}, find_ranges(samples, details.normalisations)};
  MaskClasses mask_classes;
  PlaceDrawing places(details.places, names);
  for (const SampleFields& fields : samples)
    drawn.samples.push_back(
        draw_sample(fields, drawn.ranges, longest, names, details.normalisations, mask_classes, places));
  drawn.colours = list_colours(mask_classes);
  for (ClassColour& one : places.colours()) drawn.colours.push_back(std::move(one));
  return drawn;
}

std::string draw_legend(const std::vector<ClassColour>& colours) {
  if (colours.empty()) return "";
  std::string text = "<p>Colours of classes:";
  for (const ClassColour& one : colours)
    text += fmt::format(
        " <span style=\"white-space:nowrap;margin-left:.6em\"><span style=\"display:inline-block;width:.9em;"
        "height:.9em;vertical-align:-.1em;border:1px solid #888;background:{}\"></span> {}</span>",
        escape_html(one.colour), escape_html(one.name));
  return text + "</p>\n";
}

std::string embed_picture(const RenderedPicture& picture) {
  const int64_t enlarged = std::max<int64_t>(1, 128 / std::max(picture.width, picture.height));
  return fmt::format("<img alt=\"{0}\" title=\"{0}\" width=\"{1}\" src=\"data:image/png;base64,{2}\">",
                     escape_html(picture.name), picture.width * enlarged, to_base64(picture.png));
}

// A caption is as wide as its pictures.
std::string sample_style() {
  return ".samples{display:flex;flex-wrap:wrap;gap:1rem 1.25rem}\n"
         ".samples figure{margin:0;min-width:8rem;max-width:100%}\n"
         ".samples figure.values{width:17rem}\n"
         ".samples figcaption{width:0;min-width:100%;font-size:.85rem;line-height:1.35;overflow-wrap:anywhere;"
         "margin-top:.25rem}\n"
         ".samples img{image-rendering:pixelated;max-width:100%;height:auto;margin-right:4px}\n";
}

std::string make_contact_sheet(const std::string& title, const std::vector<SheetSample>& samples,
                               const config::ClassNames& names, const ImageDetails& details) {
  std::vector<SampleFields> fields;
  for (const SheetSample& sample : samples) fields.push_back(sample.fields);
  const RenderedSamples drawn = render_samples(fields, std::numeric_limits<int64_t>::max(), names, details);
  std::ostringstream page;
  page << "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" "
          "content=\"width=device-width, initial-scale=1\">\n<meta name=\"color-scheme\" content=\"light "
          "dark\">\n<title>"
       << escape_html(title) << "</title>\n<style>\n"
       << chart_style()
       << "*{box-sizing:border-box}\nbody{margin:0;background:var(--paper);color:var(--ink);font:16px/1.5 "
          "system-ui,sans-serif}\nmain{max-width:66rem;margin:0 auto;padding:2rem 1.25rem 4rem}\nh1{font-size:1.6rem;"
          "line-height:1.2;margin:0 0 1rem;overflow-wrap:anywhere}\n.quiet{color:var(--faint)}\n"
       << sample_style() << "</style>\n</head>\n<body>\n<main>\n<h1>" << escape_html(title) << "</h1>\n";
  for (const auto& [name, range] : drawn.ranges)
    page << "<p class=\"quiet\">" << escape_html(name) << ": black is " << range.smallest << ", white is "
         << range.largest << ".</p>\n";
  page << draw_legend(drawn.colours) << "<div class=\"samples\">\n";
  for (size_t i = 0; i < samples.size(); ++i) write_sample(page, samples[i], drawn.samples[i]);
  page << "</div>\n</main>\n</body>\n</html>\n";
  return page.str();
}

}  // namespace tenon::artifacts
