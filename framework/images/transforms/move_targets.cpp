#include "framework/images/transforms/move_targets.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <variant>

namespace images {
namespace {

using Polygon = std::vector<cv::Point2d>;

constexpr double kDegree = 3.14159265358979323846 / 180;

Motion motion_of(const Resize& step) {
  const double across = static_cast<double>(step.scaled.width) / step.source.width;
  const double down = static_cast<double>(step.scaled.height) / step.source.height;
  return {{across, 0, -step.source.x * across - step.part.x, 0, down, -step.source.y * down - step.part.y, 0, 0},
          step.part.size()};
}

// A Warp goes from the new image to the old one, and counts from the middles of both.
Motion motion_of(const Warp& step, cv::Size size) {
  const std::array<double, 6>& m = step.matrix;
  const double determinant = m[0] * m[4] - m[1] * m[3];
  const double a = m[4] / determinant, b = -m[1] / determinant, c = -m[3] / determinant, d = m[0] / determinant;
  const double x = size.width / 2.0 + m[2], y = size.height / 2.0 + m[5];
  return {{a, b, step.size.width / 2.0 - a * x - b * y, c, d, step.size.height / 2.0 - c * x - d * y, 0, 0}, step.size};
}

// The inverse of a matrix of three rows, which also goes from the new image to the old one.
Motion motion_of(const Perspective& step) {
  const std::array<double, 8>& c = step.coefficients;
  const cv::Matx33d inverse = cv::Matx33d(c[0], c[1], c[2], c[3], c[4], c[5], c[6], c[7], 1).inv(cv::DECOMP_LU);
  Motion motion = {{}, step.size};
  for (size_t i = 0; i < 8; ++i) motion.matrix[i] = inverse.val[i] / inverse.val[8];
  return motion;
}

Motion motion_of(const Step& step, cv::Size size) {
  if (const auto* resize = std::get_if<Resize>(&step)) return motion_of(*resize);
  if (const auto* warp = std::get_if<Warp>(&step)) return motion_of(*warp, size);
  if (const auto* perspective = std::get_if<Perspective>(&step)) return motion_of(*perspective);
  if (const auto* crop = std::get_if<Crop>(&step)) {
    const cv::Rect& window = crop->window;
    return {{1, 0, -static_cast<double>(window.x), 0, 1, -static_cast<double>(window.y), 0, 0},
            window.size(),
            crop->drops_outside_centers};
  }
  if (std::get<Flip>(step) == Flip::horizontal) return {{-1, 0, static_cast<double>(size.width), 0, 1, 0, 0, 0}, size};
  return {{1, 0, 0, 0, -1, static_cast<double>(size.height), 0, 0}, size};
}

double area_of(const Polygon& polygon) {
  double twice = 0;
  for (size_t i = 0; i < polygon.size(); ++i) twice += polygon[i].cross(polygon[(i + 1) % polygon.size()]);
  return std::abs(twice) / 2;
}

// Keeps the side of a line on which `distance`, which is linear, is 0 or more. A point on the line, but for rounding,
// is kept as it is.
template <class Distance>
Polygon clip(const Polygon& polygon, double rounding, const Distance& distance) {
  Polygon clipped;
  for (size_t i = 0; i < polygon.size(); ++i) {
    const cv::Point2d& from = polygon[i];
    const cv::Point2d& to = polygon[(i + 1) % polygon.size()];
    const double before = distance(from), after = distance(to);
    if (before >= -rounding) clipped.push_back(from);
    if (std::min(before, after) < -rounding && std::max(before, after) > rounding)
      clipped.push_back(from + (to - from) * (before / (before - after)));
  }
  return clipped;
}

constexpr double kFloatRounding = 1e-6;  // of coordinates that were float32, as a part of the size

Polygon clip(const Polygon& polygon, cv::Size size) {
  const double width = size.width, height = size.height;
  const double across = kFloatRounding * width, down = kFloatRounding * height;
  Polygon clipped = clip(polygon, across, [](const cv::Point2d& point) { return point.x; });
  clipped = clip(clipped, down, [](const cv::Point2d& point) { return point.y; });
  clipped = clip(clipped, across, [&](const cv::Point2d& point) { return width - point.x; });
  clipped = clip(clipped, down, [&](const cv::Point2d& point) { return height - point.y; });
  for (cv::Point2d& point : clipped) point = {std::clamp(point.x, 0.0, width), std::clamp(point.y, 0.0, height)};
  return clipped;
}

// An upright box.
struct Box {
  double left, top, right, bottom;

  double area() const { return std::max(right - left, 0.0) * std::max(bottom - top, 0.0); }
};

bool has_center_within(const Box& box, cv::Size size) {
  const double x = (box.left + box.right) / 2, y = (box.top + box.bottom) / 2;
  return x > 0 && y > 0 && x < size.width && y < size.height;
}

Box bounds_of(const Polygon& polygon) {
  Box box = {HUGE_VAL, HUGE_VAL, -HUGE_VAL, -HUGE_VAL};
  for (const cv::Point2d& point : polygon)
    box = {std::min(box.left, point.x), std::min(box.top, point.y), std::max(box.right, point.x),
           std::max(box.bottom, point.y)};
  return box;
}

// Returns the part of the area of a row that remains after the first clipping. `before`: see move_boxes().
double first_part(double whole, double clipped, const MovedRows* before, size_t row) {
  if (!(clipped > 0)) return 0;
  return before ? before->visible[row] * std::min(clipped / whole, 1.0) : 1;
}

// Moves the polygon of a row through all steps. Returns the part of its area that remains, or 0 if nothing does.
double move(Polygon& polygon, const Motions& motions, const MovedRows* before, size_t row) {
  const double whole = area_of(polygon);
  polygon = clip(polygon, motions.size);
  double visible = first_part(whole, area_of(polygon), before, row);
  for (const Motion& motion : motions.steps) {
    if (visible == 0) break;
    for (cv::Point2d& point : polygon) point = motion.apply(point);
    if (motion.drops_outside_centers && !has_center_within(bounds_of(polygon), motion.size)) return 0;
    const double before = area_of(polygon);
    polygon = clip(polygon, motion.size);
    visible *= before > 0 ? std::min(area_of(polygon) / before, 1.0) : 0;
  }
  return visible;
}

constexpr double kRounding = 1e-9;  // of products and quotients of a few numbers

bool remains(double visible, double min_visibility) { return visible > 0 && visible >= min_visibility - kRounding; }

Box read_box(const float* box, BoxFormat format) {
  const double a = box[0], b = box[1], c = box[2], d = box[3];
  if (format == BoxFormat::xyxy) return {a, b, c, d};
  if (format == BoxFormat::xywh) return {a, b, a + c, b + d};
  return {a - c / 2, b - d / 2, a + c / 2, b + d / 2};
}

std::array<double, 4> write_box(const Box& box, BoxFormat format) {
  const double width = box.right - box.left, height = box.bottom - box.top;
  if (format == BoxFormat::xyxy) return {box.left, box.top, box.right, box.bottom};
  if (format == BoxFormat::xywh) return {box.left, box.top, width, height};
  return {box.left + width / 2, box.top + height / 2, width, height};
}

Box move(const Box& box, const Motion& motion) {
  return bounds_of({motion.apply({box.left, box.top}), motion.apply({box.right, box.top}),
                    motion.apply({box.left, box.bottom}), motion.apply({box.right, box.bottom})});
}

Box clip(const Box& box, cv::Size size) {
  return {std::clamp<double>(box.left, 0, size.width), std::clamp<double>(box.top, 0, size.height),
          std::clamp<double>(box.right, 0, size.width), std::clamp<double>(box.bottom, 0, size.height)};
}

template <size_t kCount>
void write_numbers(const std::array<double, kCount>& numbers, float* to) {
  std::transform(numbers.begin(), numbers.end(), to, [](double number) { return static_cast<float>(number); });
}

template <class Numbers>
void keep(MovedRows& rows, size_t row, double visible, const Numbers& numbers) {
  rows.kept_indices.push_back(static_cast<int64_t>(row));
  rows.visible.push_back(visible);
  for (const double number : numbers) rows.values.push_back(static_cast<float>(number));
}

struct RotatedBox {
  explicit RotatedBox(const float* box)
      : center(box[0], box[1]),
        across(std::cos(box[4] * kDegree) * box[2] / 2, std::sin(box[4] * kDegree) * box[2] / 2),
        down(-std::sin(box[4] * kDegree) * box[3] / 2, std::cos(box[4] * kDegree) * box[3] / 2) {}

  // From the centre, in halves of the width and height.
  cv::Point2d to_image(cv::Point2d point) const { return center + across * point.x + down * point.y; }
  cv::Point2d from_image(cv::Point2d point) const {
    const cv::Point2d offset = point - center;
    const double area = across.cross(down);  // not 0, because some of the box remains
    return {offset.cross(down) / area, across.cross(offset) / area};
  }

  void move(const Motion& motion) {
    const cv::Point2d moved_center = motion.apply(center);
    across = motion.apply(center + across) - moved_center;
    down = motion.apply(center + down) - moved_center;
    center = moved_center;
  }

  // A parallelogram, from shear, perspective or different scales, becomes the rectangle of the same area along its
  // width.
  std::array<double, 5> numbers() const {
    const double half_width = std::hypot(across.x, across.y);
    const double half_height = half_width > 0 ? std::abs(across.cross(down)) / half_width : 0;
    double turned = std::atan2(across.y, across.x) / kDegree;
    if (turned >= 90) turned -= 180;
    if (turned < -90) turned += 180;
    return {center.x, center.y, 2 * half_width, 2 * half_height, turned};
  }

  cv::Point2d center;
  // From the centre to the middle of a side.
  cv::Point2d across;
  cv::Point2d down;
};

bool is_within(cv::Point2d point, cv::Size size) {
  const double width = size.width * (1 + kRounding), height = size.height * (1 + kRounding);
  return point.x >= -kRounding * width && point.y >= -kRounding * height && point.x <= width && point.y <= height;
}

}  // namespace

Motions motions_of(const Steps& steps, cv::Size size) {
  Motions motions = {size, {}};
  for (const Step& step : steps) size = motions.steps.emplace_back(motion_of(step, size)).size;
  return motions;
}

namespace {

std::vector<float> convert_boxes(std::span<const float> boxes, BoxFormat from, BoxFormat to) {
  std::vector<float> converted(boxes.size());
  for (size_t i = 0; i < boxes.size(); i += 4) write_numbers(write_box(read_box(&boxes[i], from), to), &converted[i]);
  return converted;
}

}  // namespace

std::vector<float> to_corners(std::span<const float> boxes, BoxFormat format) {
  return convert_boxes(boxes, format, BoxFormat::xyxy);
}

std::vector<float> from_corners(std::span<const float> corners, BoxFormat format) {
  return convert_boxes(corners, BoxFormat::xyxy, format);
}

MovedRows move_boxes(std::span<const float> boxes, BoxFormat format, double min_visibility, const Motions& motions,
                     const MovedRows* before) {
  MovedRows moved;
  for (size_t row = 0; row < boxes.size() / 4; ++row) {
    const Box given = read_box(&boxes[4 * row], format);
    Box box = clip(given, motions.size);
    double visible = first_part(given.area(), box.area(), before, row);
    for (const Motion& motion : motions.steps) {
      const Box whole = move(box, motion);
      box = clip(whole, motion.size);
      visible *= whole.area() > 0 ? box.area() / whole.area() : 0;
      if (motion.drops_outside_centers && !has_center_within(whole, motion.size)) visible = 0;
    }
    if (remains(visible, min_visibility)) keep(moved, row, visible, write_box(box, format));
  }
  return moved;
}

MovedRows move_rotated_boxes(std::span<const float> boxes, double min_visibility, const Motions& motions,
                             const MovedRows* before) {
  MovedRows moved;
  for (size_t row = 0; row < boxes.size() / 5; ++row) {
    RotatedBox box(&boxes[5 * row]);
    static const Polygon kWhole = {{-1, -1}, {1, -1}, {1, 1}, {-1, 1}};
    Polygon outline = before ? before->outlines[row] : kWhole;
    for (cv::Point2d& point : outline) point = box.to_image(point);
    const double visible = move(outline, motions, before, row);
    for (const Motion& motion : motions.steps) box.move(motion);
    if (!remains(visible, min_visibility)) continue;
    keep(moved, row, visible, box.numbers());
    const RotatedBox rectangle(&*(moved.values.end() - 5));
    for (cv::Point2d& point : outline) point = rectangle.from_image(point);
    moved.outlines.push_back(std::move(outline));
  }
  return moved;
}

std::vector<float> move_keypoints(std::span<const float> points, size_t numbers, size_t per_object,
                                  const std::vector<std::pair<size_t, size_t>>& pairs, const Motions& motions) {
  std::vector<float> moved(points.begin(), points.end());
  for (size_t i = 0; i < points.size(); i += numbers) {
    cv::Point2d point(points[i], points[i + 1]);
    bool is_known = numbers < 3 || (points[i + 2] > 0 && is_within(point, motions.size));
    for (const Motion& motion : motions.steps) {
      point = motion.apply(point);
      is_known = is_known && (numbers < 3 || is_within(point, motion.size));
    }
    moved[i] = is_known ? static_cast<float>(point.x) : 0;
    moved[i + 1] = is_known ? static_cast<float>(point.y) : 0;
    if (!is_known) moved[i + 2] = 0;
  }
  const auto mirrored =
      std::count_if(motions.steps.begin(), motions.steps.end(), [](const Motion& m) { return m.mirrors(); });
  if (mirrored % 2 == 1) swap_pairs(moved, numbers, per_object, pairs);
  return moved;
}

void swap_pairs(std::span<float> points, size_t numbers, size_t per_object,
                const std::vector<std::pair<size_t, size_t>>& pairs) {
  for (size_t object = 0; object < points.size(); object += numbers * per_object)
    for (const auto& [first, second] : pairs)
      std::swap_ranges(&points[object + numbers * first], &points[object + numbers * first] + numbers,
                       &points[object + numbers * second]);
}

void warp_boxes(std::span<float> corners, const Motion& motion) {
  for (size_t i = 0; i < corners.size(); i += 4)
    write_numbers(write_box(move(read_box(&corners[i], BoxFormat::xyxy), motion), BoxFormat::xyxy), &corners[i]);
}

void warp_rotated_boxes(MovedRows& boxes, const Motion& motion) {
  for (size_t row = 0; row < boxes.outlines.size(); ++row) {
    float* const numbers = &boxes.values[5 * row];
    const RotatedBox before(numbers);
    RotatedBox box = before;
    box.move(motion);
    write_numbers(box.numbers(), numbers);
    const RotatedBox rectangle(numbers);
    for (cv::Point2d& point : boxes.outlines[row]) point = rectangle.from_image(motion.apply(before.to_image(point)));
  }
}

void warp_points(std::span<float> points, size_t numbers, const Motion& motion) {
  for (size_t i = 0; i < points.size(); i += numbers) {
    if (numbers == 3 && !(points[i + 2] > 0)) continue;  // not known
    const cv::Point2d point = motion.apply({points[i], points[i + 1]});
    write_numbers(std::array<double, 2>{point.x, point.y}, &points[i]);
  }
}

MovedRows move_polygons(std::span<const float> points, std::span<const int64_t> lengths, double min_visibility,
                        const Motions& motions, const MovedRows* before) {
  MovedRows moved;
  size_t begin = 0;
  for (size_t row = 0; row < lengths.size(); ++row) {
    const auto length = static_cast<size_t>(lengths[row]);
    Polygon polygon;
    for (size_t i = begin; i < begin + length; ++i) polygon.emplace_back(points[2 * i], points[2 * i + 1]);
    begin += length;
    const double visible = move(polygon, motions, before, row);
    if (!remains(visible, min_visibility)) continue;
    moved.kept_indices.push_back(static_cast<int64_t>(row));
    moved.visible.push_back(visible);
    moved.lengths.push_back(static_cast<int64_t>(polygon.size()));
    for (const cv::Point2d& point : polygon) {
      moved.values.push_back(static_cast<float>(point.x));
      moved.values.push_back(static_cast<float>(point.y));
    }
  }
  return moved;
}

}  // namespace images
