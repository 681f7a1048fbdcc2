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
Motion motion_of(const Perspective& step, cv::Size size) {
  const std::array<double, 8>& c = step.coefficients;
  const cv::Matx33d inverse = cv::Matx33d(c[0], c[1], c[2], c[3], c[4], c[5], c[6], c[7], 1).inv(cv::DECOMP_LU);
  Motion motion = {{}, size};
  for (size_t i = 0; i < 8; ++i) motion.matrix[i] = inverse.val[i] / inverse.val[8];
  return motion;
}

Motion motion_of(const Step& step, cv::Size size) {
  if (const auto* resize = std::get_if<Resize>(&step)) return motion_of(*resize);
  if (const auto* warp = std::get_if<Warp>(&step)) return motion_of(*warp, size);
  if (const auto* perspective = std::get_if<Perspective>(&step)) return motion_of(*perspective, size);
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

// Keeps the side of a line on which `distance`, which is linear, is 0 or more.
template <class Distance>
Polygon clip(const Polygon& polygon, const Distance& distance) {
  Polygon clipped;
  for (size_t i = 0; i < polygon.size(); ++i) {
    const cv::Point2d& from = polygon[i];
    const cv::Point2d& to = polygon[(i + 1) % polygon.size()];
    const double before = distance(from), after = distance(to);
    if (before >= 0) clipped.push_back(from);
    if ((before < 0) != (after < 0)) clipped.push_back(from + (to - from) * (before / (before - after)));
  }
  return clipped;
}

Polygon clip(const Polygon& polygon, cv::Size size) {
  Polygon clipped = clip(polygon, [](const cv::Point2d& point) { return point.x; });
  clipped = clip(clipped, [](const cv::Point2d& point) { return point.y; });
  clipped = clip(clipped, [&](const cv::Point2d& point) { return size.width - point.x; });
  return clip(clipped, [&](const cv::Point2d& point) { return size.height - point.y; });
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

// Moves a polygon through all steps. Returns the part of its area that remains, or 0 if nothing does.
double move(Polygon& polygon, const Motions& motions) {
  polygon = clip(polygon, motions.size);
  double visible = area_of(polygon) > 0 ? 1 : 0;
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

template <class Numbers>
void keep(MovedRows& rows, size_t row, const Numbers& numbers) {
  rows.kept_indices.push_back(static_cast<int64_t>(row));
  for (const double number : numbers) rows.values.push_back(static_cast<float>(number));
}

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

std::vector<float> to_corners(std::span<const float> boxes, BoxFormat format) {
  std::vector<float> corners;
  for (size_t i = 0; i < boxes.size(); i += 4)
    for (const double number : write_box(read_box(&boxes[i], format), BoxFormat::xyxy))
      corners.push_back(static_cast<float>(number));
  return corners;
}

MovedRows move_boxes(std::span<const float> boxes, BoxFormat format, double min_visibility, const Motions& motions) {
  MovedRows moved;
  for (size_t row = 0; row < boxes.size() / 4; ++row) {
    Box box = clip(read_box(&boxes[4 * row], format), motions.size);
    double visible = box.area() > 0 ? 1 : 0;
    for (const Motion& motion : motions.steps) {
      const Box whole = move(box, motion);
      box = clip(whole, motion.size);
      visible *= whole.area() > 0 ? box.area() / whole.area() : 0;
      if (motion.drops_outside_centers && !has_center_within(whole, motion.size)) visible = 0;
    }
    if (remains(visible, min_visibility)) keep(moved, row, write_box(box, format));
  }
  return moved;
}

MovedRows move_rotated_boxes(std::span<const float> boxes, double min_visibility, const Motions& motions) {
  MovedRows moved;
  for (size_t row = 0; row < boxes.size() / 5; ++row) {
    const float* box = &boxes[5 * row];
    const double angle = box[4] * kDegree;
    cv::Point2d center(box[0], box[1]);
    // From the centre to the middle of a side.
    cv::Point2d across(std::cos(angle) * box[2] / 2, std::sin(angle) * box[2] / 2);
    cv::Point2d down(-std::sin(angle) * box[3] / 2, std::cos(angle) * box[3] / 2);
    Polygon outline = {center - across - down, center + across - down, center + across + down, center - across + down};
    const double visible = move(outline, motions);
    for (const Motion& motion : motions.steps) {
      const cv::Point2d moved_center = motion.apply(center);
      across = motion.apply(center + across) - moved_center;
      down = motion.apply(center + down) - moved_center;
      center = moved_center;
    }
    const double half_width = std::hypot(across.x, across.y);
    if (!remains(visible, min_visibility)) continue;
    const double half_height = std::abs(across.cross(down)) / half_width;
    double turned = std::atan2(across.y, across.x) / kDegree;
    if (turned >= 90) turned -= 180;
    if (turned < -90) turned += 180;
    keep(moved, row, std::array<double, 5>{center.x, center.y, 2 * half_width, 2 * half_height, turned});
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
  if (mirrored % 2 == 0) return moved;
  for (size_t object = 0; object < points.size(); object += numbers * per_object)
    for (const auto& [first, second] : pairs)
      std::swap_ranges(&moved[object + numbers * first], &moved[object + numbers * first] + numbers,
                       &moved[object + numbers * second]);
  return moved;
}

MovedRows move_polygons(std::span<const float> points, std::span<const int64_t> lengths, double min_visibility,
                        const Motions& motions) {
  MovedRows moved;
  size_t begin = 0;
  for (size_t row = 0; row < lengths.size(); ++row) {
    const auto length = static_cast<size_t>(lengths[row]);
    Polygon polygon;
    for (size_t i = begin; i < begin + length; ++i) polygon.emplace_back(points[2 * i], points[2 * i + 1]);
    begin += length;
    if (!remains(move(polygon, motions), min_visibility)) continue;
    moved.kept_indices.push_back(static_cast<int64_t>(row));
    moved.lengths.push_back(static_cast<int64_t>(polygon.size()));
    for (const cv::Point2d& point : polygon) {
      moved.values.push_back(static_cast<float>(point.x));
      moved.values.push_back(static_cast<float>(point.y));
    }
  }
  return moved;
}

}  // namespace images
