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

#include "plugins/images/decode/decode_image.h"
#include "plugins/images/transforms/apply_step.h"
#include "plugins/images/transforms/transform.h"
#include "plugins/images/transforms/write_pixels.h"

namespace images {

// Whether an image may be decoded at a smaller size than it has.
enum class Reducing { no, yes };

// What is done to one sample: to its image, its mask, and to a second image of the same size.
class DrawnTransforms {
 public:
  // Steps for an image of `image_size`; `erasures` follow normalising.
  DrawnTransforms(cv::Size image_size, Steps steps, Steps erasures, const std::optional<Scaling8Bit>& scaling,
                  Reducing reducing);

  // The part of the image whose pixels are needed, and how far they are scaled at once, so that they may be reduced
  // while they are decoded.
  cv::Rect window() const { return window_; }
  const Reduction& reduction() const { return reduction_; }

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
  void find_window(Reducing reducing);
  cv::Mat move(const cv::Mat& image, const cv::Rect2d& place, TransformBuffers& buffers) const;

  cv::Size image_size_;
  cv::Size size_;
  cv::Rect window_;
  Reduction reduction_;
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

  // The same in two parts, with the same pixels in the end: the leading transforms that draw nothing (resize,
  // center_crop), which give the same for an image in each epoch, and those behind them. So that the first part can be
  // done once, where there are such transforms they alone decide how far a JPEG is reduced, in draw() too.
  bool has_fixed_part() const { return fixed_ > 0; }
  const std::string& fixed_part() const { return fixed_text_; }  // as written
  DrawnTransforms draw_fixed_part(cv::Size image) const;
  DrawnTransforms draw_rest(cv::Size image, uint64_t seed) const;  // `image`: what the fixed part made

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

  struct Drawing {
    cv::Size size;
    Steps steps;
    Steps erasures;
  };

  void append(const std::string& entry);
  void draw_links(size_t begin, size_t end, uint64_t seed, Drawing& drawing) const;
  Reducing reducing_of(const Steps& fixed) const;

  std::vector<Link> links_;
  size_t fixed_ = 0;  // leading links that draw nothing
  std::string fixed_text_;
  std::optional<Scaling8Bit> scaling_;
};

}  // namespace images
