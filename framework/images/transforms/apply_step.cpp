#include "framework/images/transforms/apply_step.h"

namespace images {
namespace {

template <class... Functions>
struct Overloaded : Functions... {
  using Functions::operator()...;
};
template <class... Functions>
Overloaded(Functions...) -> Overloaded<Functions...>;

template <class... Kinds>
bool is_one_of(const Step& step) {
  return (std::holds_alternative<Kinds>(step) || ...);
}

// Copies the window, which may extend beyond the source.
void cut_out(const cv::Mat& source, const cv::Rect& window, const cv::Scalar& fill, cv::Mat& target) {
  target.create(window.size(), source.type());
  const cv::Rect within = window & cv::Rect({}, source.size());
  if (within != window) target.setTo(fill);
  if (!within.empty()) source(within).copyTo(target(within - window.tl()));
}

void flip(const cv::Mat& source, Flip direction, cv::Mat& target) {
  cv::flip(source, target, direction == Flip::horizontal ? 1 : 0);
}

void erase(const Erase& step, cv::Mat& image) {
  if (step.area.empty()) return;
  const Colour& colour = step.colour.value();  // noise is only used for normalised numbers
  image(step.area).setTo(cv::Scalar(colour[0], colour[1], colour[2]));
}

}  // namespace

ResizeArea area_of(const Resize& step) {
  return {cv::Rect2d(0, 0, step.source.width, step.source.height), step.scaled, step.part};
}

cv::Size size_after(const Step& step, cv::Size size) {
  return std::visit(
      Overloaded{[](const Resize& resize) { return resize.part.size(); },
                 [](const Crop& crop) { return crop.window.size(); }, [](const Warp& warp) { return warp.size; },
                 [](const Perspective& warp) { return warp.size; }, [&](const auto&) { return size; }},
      step);
}

bool is_pointwise(const Step& step) {
  return is_one_of<Brightness, Contrast, Saturation, Hue, Grayscale, Posterize, Solarize, AutoContrast, Equalize,
                   Invert>(step);
}

bool is_geometric(const Step& step) { return is_one_of<Resize, Crop, Flip, Warp, Perspective>(step); }

void MovingImage::take_next_buffer() {
  buffers_.last_written ^= 1;
  image_ = buffers_.images[buffers_.last_written];
  owns_ = true;
}

cv::Mat& MovingImage::writable() {
  if (!owns_) {
    image_.copyTo(next_buffer());
    take_next_buffer();
  }
  return image_;
}

void MovingImage::resize(const ResizeArea& area, Interpolation interpolation, Antialias antialias) {
  images::resize(image_, area, interpolation, antialias, buffers_.resample, next_buffer());
  take_next_buffer();
}

void MovingImage::apply(const Step& step) {
  cv::Mat& target = next_buffer();
  const auto change = [&](const auto& colour) { images::apply(colour, writable()); };
  std::visit(Overloaded{[&](const Resize& resize) {
                          images::resize(image_(resize.source), area_of(resize), resize.interpolation, resize.antialias,
                                         buffers_.resample, target);
                        },
                        [&](const Crop& crop) {
                          const cv::Scalar fill(crop.fill[0], crop.fill[1], crop.fill[2]);
                          cut_out(image_, crop.window, fill, target);
                        },
                        [&](Flip direction) { flip(image_, direction, target); },
                        [&](const Warp& step) { warp(image_, step, target); },
                        [&](const Perspective& step) { warp(image_, step, target); },
                        [&](const Sharpness& step) { sharpen(image_, step, target); },
                        [&](const Blur& step) { blur(image_, step, target); },
                        [&](const Erase& step) { erase(step, writable()); }, change},
             step);
  if (!is_pointwise(step) && !is_one_of<Erase, Noise, Clahe>(step)) take_next_buffer();
}

void MovingImage::apply_to_mask(const Step& step, double fill) {
  cv::Mat& target = next_buffer();
  const auto ignore = [](const auto&) {};
  std::visit(Overloaded{[&](const Resize& resize) { resize_nearest(image_(resize.source), area_of(resize), target); },
                        [&](const Crop& crop) { cut_out(image_, crop.window, cv::Scalar(fill), target); },
                        [&](Flip direction) { flip(image_, direction, target); },
                        [&](const Warp& step) { warp_mask(image_, step, fill, target); },
                        [&](const Perspective& step) { warp_mask(image_, step, fill, target); }, ignore},
             step);
  if (is_geometric(step)) take_next_buffer();
}

}  // namespace images
