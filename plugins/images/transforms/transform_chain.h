// The transforms of a configuration, one after the other:
//
//   transforms = ["random_resized_crop(224)", "horizontal_flip(p=0.5)", "normalize()"]
//
// A sample is drawn from the size of its image, which a file's header says, before any pixel is there; the result knows
// which part of the image it needs. Cropping, scaling, mirroring, normalising and the copy into the batch are put
// together as far as they follow each other.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <opencv2/core.hpp>

#include "plugins/images/transforms/apply_step.h"
#include "plugins/images/transforms/transform.h"
#include "plugins/images/transforms/write_pixels.h"

namespace images {

// What is done to one sample: to its image, its mask, and to a second image of the same size.
class DrawnTransforms {
 public:
  // Steps for an image of `image_size`; `erasures` follow normalising.
  DrawnTransforms(cv::Size image_size, Steps steps, Steps erasures, const std::optional<Scaling8Bit>& scaling);

  // The part of the image whose pixels are needed, and the size to which that part may be reduced while it is decoded.
  cv::Rect window() const { return window_; }
  cv::Size at_least() const { return at_least_; }

  // Of the result.
  cv::Size size() const { return size_; }

  // image: 8-bit RGB, of which `place` is window(), reduced or not. It is left as it is.
  // planes: [3, H, W], normalised. REQUIRES: the chain normalises.
  void write(const cv::Mat& image, const cv::Rect2d& place, TransformBuffers& buffers, float* planes) const;
  // pixels: [H, W, 3]. REQUIRES: the chain does not normalise.
  void write(const cv::Mat& image, const cv::Rect2d& place, TransformBuffers& buffers, uint8_t* pixels) const;

  // mask: as large as the whole image, one channel of 8 or 16 bits or of 32-bit integers. The result has size(), and is
  // the buffers' until they are used again. What moves the image moves it, to the nearest pixel; `fill` is what stands
  // for pixels outside, usually the label to be ignored. Colours, blurring and erasing leave it.
  cv::Mat move_mask(const cv::Mat& mask, int fill, TransformBuffers& buffers) const;

 private:
  void defer_mirroring();
  void find_window();
  cv::Mat move(const cv::Mat& image, const cv::Rect2d& place, TransformBuffers& buffers) const;

  cv::Size image_size_;
  cv::Size size_;
  cv::Rect window_;
  cv::Size at_least_;
  Steps steps_;
  Mirror mirror_ = Mirror::no;  // after the steps
  Steps erasures_;
  std::optional<Scaling8Bit> scaling_;
};

class TransformChain {
 public:
  // `entries` as in the configuration. Throws tenon::Error (TENON_INVALID_ARGUMENT) that says which entry of
  // `parameter`, what was found, what was expected, and the nearest name.
  explicit TransformChain(const std::vector<std::string>& entries, const std::string& parameter = "transforms");

  // A function of the image's size and the seed. Each transform draws from a stream of its own, which depends on its
  // name and on how many of this name stand before it: another transform in the chain changes nothing of what these
  // draw. Throws tenon::DataError where the image is too small for a crop.
  DrawnTransforms draw(cv::Size image, uint64_t seed) const;

  // Whether samples are normalised [3, H, W] of float; else [H, W, 3] of uint8.
  bool normalizes() const { return scaling_.has_value(); }
  // Of one sample, with -1 for height and width where they differ between images.
  std::vector<int64_t> shape() const;

 private:
  struct Link {
    std::string name;
    std::unique_ptr<Transform> transform;
    double probability;
    uint64_t stream;
    bool behind_normalize;
  };

  void append(const std::string& entry);

  std::vector<Link> links_;
  std::optional<Scaling8Bit> scaling_;
};

}  // namespace images
