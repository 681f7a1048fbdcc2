// The transforms of a configuration, applied in order:
//
//   transforms = ["random_resized_crop(224)", "horizontal_flip(p=0.5)", "normalize()"]
//
// The random values of a sample are sampled before any pixels are decoded. This needs only the size of the image, which
// the file's header gives. The result knows which part of the image it needs. Consecutive cropping, scaling, mirroring,
// normalising and the copy into the batch are merged.
//
// The transforms of plugins divide the chain into stages. The first stage begins with the decoding of the image. Each
// other one begins with the pixels of a plugin's transform, and is sampled when their size is known.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <opencv2/core.hpp>

#include "framework/images/decode/decode_image.h"
#include "framework/images/transforms/apply_step.h"
#include "framework/images/transforms/mosaic.h"
#include "framework/images/transforms/plugin_transform.h"
#include "framework/images/transforms/transform.h"
#include "framework/images/transforms/write_pixels.h"

namespace images {

// Whether an image may be decoded at a smaller scale.
enum class Reducing { no, yes };

// The transforms of one sample: of its image, its mask, and a second image of the same size.
class SampledTransforms {
 public:
  // Steps for an image of `image_size`. `erasures` are applied after normalising.
  SampledTransforms(cv::Size image_size, Steps steps, Steps erasures, const std::optional<Scaling8Bit>& scaling,
                    Reducing reducing);

  // The part of the image that is needed, and its first scaling, so that decoding can reduce it.
  cv::Rect window() const { return window_; }
  const Reduction& reduction() const { return reduction_; }

  // The size of the result.
  cv::Size size() const { return size_; }

  // image: 8-bit RGB, with window() at `place`, reduced or not. It is not modified.
  // planes: [3, H, W], normalised. REQUIRES: the chain normalises.
  void write(const cv::Mat& image, const cv::Rect2d& place, TransformBuffers& buffers, float* planes) const;
  // pixels: [H, W, 3]. REQUIRES: the chain does not normalise.
  void write(const cv::Mat& image, const cv::Rect2d& place, TransformBuffers& buffers, uint8_t* pixels) const;

  // The pixels before normalising, which belong to the buffers until they are reused.
  cv::Mat render(const cv::Mat& image, const cv::Rect2d& place, TransformBuffers& buffers) const;

  // mask: as large as the whole image, one channel of 8, 16 or 32 bits. The result has size(). It
  // belongs to the buffers until they are reused. Geometric transforms move the mask with the image, to the nearest
  // pixel. `fill` is used for pixels outside, usually the label to be ignored. Colour changes, blurring and erasing do
  // not change the mask.
  cv::Mat move_mask(const cv::Mat& mask, double fill, TransformBuffers& buffers) const;

  // The steps that move pixels, in order, from the whole image to the result.
  const Steps& geometry() const { return geometry_; }
  cv::Size image_size() const { return image_size_; }

 private:
  void defer_mirroring();
  void find_window(Reducing reducing);

  cv::Size image_size_;
  cv::Size size_;
  cv::Rect window_;
  Reduction reduction_;
  Steps geometry_;
  Steps steps_;                 // joined where that gives the same pixels
  Mirror mirror_ = Mirror::no;  // applied after the steps
  Steps erasures_;
  std::optional<Scaling8Bit> scaling_;
};

class TransformChain {
 public:
  // `entries` are as in the configuration. Throws tenon::Error (TENON_INVALID_ARGUMENT) naming the entry of the
  // parameter, the found and expected text, and the nearest name.
  explicit TransformChain(const std::vector<std::string>& entries, const std::string& parameter = "transforms");

  // Whether a transform depends on the boxes of the image, such as random_iou_crop.
  bool needs_boxes() const;
  // Whether a transform depends on the seed. Those of plugins may.
  bool is_random() const;

  // The mosaic of a chain that begins with one. Its other transforms are applied to the canvas.
  const MosaicSettings* mosaic() const { return mosaic_ ? &mosaic_->settings : nullptr; }
  // Whether it is applied to the sample with this seed.
  bool draws_mosaic(uint64_t seed) const;
  // Returns the samples of a mosaic, `index` first. `length`: of the dataset. REQUIRES: draws_mosaic(seed).
  std::array<int64_t, kMosaicImages> choose_samples(int64_t index, int64_t length, uint64_t seed) const;
  // REQUIRES: draws_mosaic(seed).
  std::array<Tile, kMosaicImages> draw_tiles(const std::array<cv::Size, kMosaicImages>& sizes, uint64_t seed) const;

  // Boxes of an image: left, top, right and bottom of each. They matter only if needs_boxes().
  using Boxes = std::vector<float>;

  // Samples the first stage. The result depends only on the image's size, its boxes and the seed. Each transform uses a
  // separate random stream.
  // The stream depends on the transform's name and on the number of earlier transforms with that name, so other
  // transforms in the chain do not affect it. Throws tenon::DataError if the image is too small for a crop.
  SampledTransforms draw(cv::Size image, uint64_t seed, const Boxes& boxes = {}) const;

  // These functions split draw() into two parts that give the same pixels. The first part has the leading transforms
  // that sample nothing (resize, center_crop), which are the same for an image in each epoch. The second part has the
  // others. So the first part can be done once. If there are such transforms, they alone decide the decoding scale of a
  // JPEG, also in draw().
  bool has_fixed_part() const { return fixed_ > 0; }
  const std::string& fixed_part() const { return fixed_text_; }  // as written
  SampledTransforms draw_fixed_part(cv::Size image) const;
  // `image` and `boxes`: after the fixed part.
  SampledTransforms sample_rest(cv::Size image, uint64_t seed, const Boxes& boxes) const;
  Boxes move_by_fixed_part(cv::Size image, const Boxes& boxes) const;

  // The transforms of plugins, each before the stage with its number plus 1.
  size_t plugin_count() const { return plugins_.size(); }
  struct DrawnPlugin {
    const PluginTransform* transform;  // null: not applied to this sample
    uint64_t seed;
  };
  DrawnPlugin draw_plugin(size_t number, uint64_t seed) const;
  // Samples a stage after the first. `image` and `boxes`: after the plugin's transform.
  SampledTransforms sample_stage(size_t stage, cv::Size image, uint64_t seed, const Boxes& boxes) const;

  // Returns whether samples are normalised float [3, H, W]; otherwise they are uint8 [H, W, 3].
  bool normalizes() const { return scaling_.has_value(); }
  // Returns the transforms with all their arguments, as the text of tenon/preprocessing.h. The first step is the
  // decoding of the image's file.
  std::string format_steps() const { return steps_text_ + ']'; }
  // Returns the names of the transforms that move pixels, such as "resize, horizontal_flip". `counts_scaling`: whether
  // the list has those that only scale the whole image.
  std::string list_moving(bool counts_scaling) const;
  // Returns the shape of one sample, with -1 for height and width if they differ between images.
  std::vector<int64_t> shape() const;

 private:
  struct Link {
    std::string name;
    std::unique_ptr<Transform> transform;
    double probability;
    uint64_t stream;
    bool after_normalize;
  };

  struct Drawing {
    cv::Size size;
    Boxes boxes;
    Steps steps = {};
    Steps erasures = {};
    cv::Size moved_size = size;  // of the image that the boxes belong to, after the first `moved` steps
    size_t moved = 0;
  };

  void append(const std::string& entry);
  void append_built_in(const TransformKind& kind, const WrittenTransform& written, const std::string& entry);
  void append_plugin(const WrittenTransform& written);
  Link make_link(const std::string& name, std::unique_ptr<Transform> transform, double probability) const;
  void begin_with_mosaic(const TransformKind& kind, const Arguments& arguments);
  void append_to_text(const std::string& name, const std::string& arguments, const std::string& more);
  void draw_links(size_t begin, size_t end, uint64_t seed, Drawing& drawing) const;
  SampledTransforms finish(size_t stage, cv::Size image, Drawing drawing, Reducing reducing) const;
  size_t end_of_stage(size_t stage) const { return stage < plugins_.size() ? plugins_[stage] : links_.size(); }
  static void move_boxes_of(Drawing& drawing);
  Reducing reducing_of(const Steps& fixed) const;

  struct MosaicLink {
    MosaicSettings settings;
    double probability;
    uint64_t stream;
  };

  std::optional<MosaicLink> mosaic_;
  std::vector<Link> links_;
  std::vector<size_t> plugins_;  // the links of plugins
  size_t fixed_ = 0;             // number of leading links that sample nothing
  std::string fixed_text_;
  std::string steps_text_ = R"([{"name": "decode", "color": "RGB", "dtype": "uint8"})";
  std::optional<Scaling8Bit> scaling_;
};

}  // namespace images
