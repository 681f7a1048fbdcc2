// Images for datasets in C++, see images.h: decoding, and the transforms of the run file.
//
//   class Photos final {
//    public:
//     using Worker = tenon::draft::ImageWorker;
//
//     static std::vector<tenon::Param> schema() {
//       return {tenon::required<tenon::Path>("path").doc("..."), tenon::draft::transforms_param()};
//     }
//     explicit Photos(const tenon::Params& params) : images_(params, "transforms") { ... }  // fills files_ and boxes_
//     std::vector<tenon::Field> fields() const {
//       return {images_.field("image", "the photo"), {"boxes", TENON_FLOAT32, {-1, 4}, "objects"}};
//     }
//     Worker open_worker(uint64_t, uint64_t) const { return images_.open_worker(); }
//     void get(Worker& worker, const tenon::Sample& sample, const tenon::Sink& sink) const {
//       const auto i = static_cast<size_t>(sample.index);
//       auto boxes = tenon::draft::ImageTarget::boxes(boxes_[i]);
//       worker.write(tenon::draft::ImageFile(files_[i]), sample.seed, sink, "image", {&boxes});
//       boxes.put(sink, "boxes");
//     }
//
//    private:
//     tenon::draft::ImagePipeline images_;
//   };
//
// Errors are tenon::Error and tenon::DataError, with the messages of the host.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "../dataset.hpp"
#include "../detail/extension.hpp"
#include "images.h"

namespace tenon::draft {

// The parameter of the transforms, by one line in a schema. For a dataset with several lists of them, `name` ends in
// "_transforms".
inline Param transforms_param(const std::vector<std::string>& transforms = {"resize(256)", "center_crop(224)",
                                                                            "normalize()"},
                              const std::string& name = "transforms") {
  return param(name, transforms)
      .doc(
          "transforms of each image, in this order, or a preset such as imagenet_train; the default is for "
          "validation");
}

// All parameters of images, for ImagePipeline(params).
inline std::vector<Param> image_params() {
  return {
      transforms_param(),
      param("scaled_decoding", true)
          .doc("whether a JPEG is decoded at 1/2, 1/4 or 1/8 of its size if the transforms shrink it that far anyway; "
               "faster, with slightly different pixels"),
      param("background", std::vector<int64_t>{})
          .range("[0, 255]")
          .doc("red, green and blue below transparent pixels, such as [255, 255, 255]; empty: transparency is dropped, "
               "and the colours are used as stored"),
      param("max_value", 65535)
          .range("[1, 65535]")
          .doc("value in images with 16 bits that becomes 255, as all larger ones: 4095 for 12 bits of a camera or "
               "scanner"),
      param("max_pixels", 178956970)
          .range("[1, 1e10]")
          .doc("largest width x height of an image that is decoded; a larger one ends the run"),
      param("cache", "none")
          .choices({"none", "memory", "disk"})
          .doc("where images are cached after the leading resize and center_crop transforms, so that they are decoded "
               "once; the pixels are the same as without a cache"),
      param("cache_bytes", int64_t{4} << 30)
          .range("[1, 1e15]")
          .doc("maximum memory for cache = \"memory\", in bytes; images that do not fit are decoded each time"),
      param("cache_dir", Path{""})
          .doc("folder for cache = \"disk\", outside the folder of the images; several runs may share it, and it may "
               "be deleted at any time"),
  };
}

// An image file. `listed`: where another file lists it, for messages: "photos.csv:12".
class ImageFile {
 public:
  explicit ImageFile(std::string path, std::string listed = {}) : place_(std::move(path)), listed_(std::move(listed)) {}
  virtual ~ImageFile() = default;

  const std::string& place() const { return place_; }

  // The descriptor borrows from this object.
  virtual tenon_image_source describe() const {
    tenon_image_source source = {};
    source.size = sizeof source;
    source.place = tenon::detail::borrow(place_);
    source.listed = tenon::detail::borrow(listed_);
    return source;
  }

 protected:
  std::string listed_text() const { return listed_.empty() ? "" : " (" + listed_ + ')'; }

 private:
  std::string place_;
  std::string listed_;
};

// An image within another file, such as an archive. The place names it in messages and caches, so that no two images of
// a dataset have the same one.
class EmbeddedImage : public ImageFile {
 public:
  using ImageFile::ImageFile;

  virtual uint64_t byte_count() const = 0;
  virtual void read(uint8_t* bytes) const = 0;  // throws DataError naming the place
  virtual std::string identity() const = 0;  // of the bytes, for a cache on disk: path, position, time of last change

  tenon_image_source describe() const override {
    tenon_image_source source = ImageFile::describe();
    source.context = const_cast<EmbeddedImage*>(this);
    source.byte_count = byte_count();
    source.read = [](void* self, void* bytes) {
      return tenon::detail::guard([&] { static_cast<EmbeddedImage*>(self)->read_bytes(static_cast<uint8_t*>(bytes)); });
    };
    source.identify = [](void* self, const tenon_text_sink* sink) {
      return tenon::detail::guard([&] {
        const std::string identity = static_cast<EmbeddedImage*>(self)->identity();
        tenon::detail::check(sink->put(sink, tenon::detail::borrow(identity)));
      });
    };
    return source;
  }

 private:
  // Reports each error as one of the data, with the place where the image is listed.
  void read_bytes(uint8_t* bytes) const {
    try {
      read(bytes);
    } catch (const HostError&) {
      throw;
    } catch (const Error& error) {
      throw Error(error.status(), error.what() + listed_text());
    } catch (const std::exception& error) {
      throw DataError(place() + ": " + error.what() + listed_text());
    }
  }
};

struct ImageInfo {
  int64_t height;  // of the upright image
  int64_t width;
  int orientation;  // EXIF, applied already; 1: upright as stored; 0: unknown, because a cache was read
};

// Decoded pixels, borrowed until the next decode() with the worker.
struct Pixels {
  const uint8_t* elements;  // C-contiguous [height, width, channels]
  int32_t dtype;            // TENON_UINT8; of TENON_DECODE_STORED also TENON_INT32 and TENON_FLOAT32
  int64_t height;
  int64_t width;
  int channels;
  int orientation;

  // Throws Error unless T is the C++ type of the dtype.
  template <class T>
  const T* values() const {
    if (dtype != dtype_of<T>())
      throw Error(TENON_INVALID_ARGUMENT, std::string("an image has the dtype ") + dtype_name(dtype) +
                                              "; it is accessed as " + dtype_name(dtype_of<T>()));
    return reinterpret_cast<const T*>(elements);
  }
};

enum class BoxFormat : uint32_t { xyxy = TENON_BOXES_XYXY, xywh = TENON_BOXES_XYWH, cxcywh = TENON_BOXES_CXCYWH };

// Something that moves with an image. Coordinates are in pixels of the upright image. After ImageWorker::write it has
// the moved values, borrowed from the worker until its next call.
class ImageTarget {
 public:
  // Class numbers, or depths: `dtype` is TENON_UINT8, TENON_INT32 or TENON_FLOAT32. The pixels are borrowed. `place`
  // names the mask in messages.
  static ImageTarget mask(const void* pixels, int32_t dtype, int64_t height, int64_t width, double fill,
                          std::string place = {}) {
    ImageTarget target(TENON_IMAGE_MASK, {height, width});
    target.pixels_ = pixels;
    target.dtype_ = dtype;
    target.fill_ = fill;
    target.place_ = std::move(place);
    return target;
  }
  // Four numbers for each box. `min_visibility`: boxes of which a smaller part remains in the image are dropped.
  static ImageTarget boxes(std::vector<float> values, BoxFormat format = BoxFormat::xyxy, double min_visibility = 0) {
    ImageTarget target = rows(TENON_IMAGE_BOXES, std::move(values), {4});
    target.format_ = static_cast<uint32_t>(format);
    target.min_visibility_ = min_visibility;
    return target;
  }
  // Centre x and y, width, height, and the angle in degrees, clockwise, for each box.
  static ImageTarget rotated_boxes(std::vector<float> values, double min_visibility = 0) {
    ImageTarget target = rows(TENON_IMAGE_ROTATED_BOXES, std::move(values), {5});
    target.min_visibility_ = min_visibility;
    return target;
  }
  // x and y of each point, for objects of `points` points; with `numbers` 3 also a number above 0 for a known point.
  // `pairs`: points that a mirrored image exchanges, such as left and right eye: {{1, 2}, {3, 4}}.
  static ImageTarget keypoints(std::vector<float> values, int64_t points, int64_t numbers = 2,
                               const std::vector<std::pair<int64_t, int64_t>>& pairs = {}) {
    ImageTarget target = rows(TENON_IMAGE_KEYPOINTS, std::move(values), {points, numbers});
    for (const auto& [first, second] : pairs) target.pairs_.insert(target.pairs_.end(), {first, second});
    return target;
  }
  // x and y of each point, and the number of points of each polygon.
  static ImageTarget polygons(std::vector<float> values, std::vector<int64_t> lengths, double min_visibility = 0) {
    ImageTarget target = rows(TENON_IMAGE_POLYGONS, std::move(values), {2});
    target.min_visibility_ = min_visibility;
    target.lengths_ = std::move(lengths);
    return target;
  }

  // Of the moved target. These functions throw Error before ImageWorker::write.
  const std::vector<int64_t>& shape() const { return moved().shape; }
  template <class T>
  const T* values() const {
    return static_cast<const T*>(moved().values);
  }
  // Rows of the target that remain. All keypoints do.
  const std::vector<int64_t>& kept_indices() const { return moved().kept_indices; }
  // Points of each polygon that remains.
  const std::vector<int64_t>& lengths() const { return moved().lengths; }

  // For each of these rows, the image of the sample that it belongs to: 0, or more in a mosaic.
  const std::vector<int64_t>& kept_images() const { return moved().kept_images; }

  // Returns what belongs to the rows that remain, such as the classes of boxes. `rows`: one for each row of the target.
  template <class T>
  std::vector<T> select(const std::vector<T>& rows) const {
    return select_of_images(std::vector<std::vector<T>>{rows});
  }
  // The same for a sample of several images: the rows of each.
  template <class T>
  std::vector<T> select_of_images(const std::vector<std::vector<T>>& rows) const {
    if (kind_ == TENON_IMAGE_MASK) throw Error(TENON_INVALID_ARGUMENT, "a mask has no rows to select");
    std::vector<T> selected;
    for (size_t i = 0; i < kept_indices().size(); ++i) {
      const auto image = static_cast<size_t>(kept_images()[i]);
      const auto row = static_cast<size_t>(kept_indices()[i]);
      if (image >= rows.size() || row >= rows[image].size())
        throw Error(TENON_INVALID_ARGUMENT,
                    "row " + std::to_string(row) + " of image " + std::to_string(image) +
                        " remains; expected a list for each image, with an element for each row");
      selected.push_back(rows[image][row]);
    }
    return selected;
  }

  // Copies the moved values into a field with this dtype, or an 8-bit mask into a field of int64.
  void put(const Sink& sink, std::string_view field) const {
    if (dtype_ == TENON_UINT8 && sink.field(field).dtype == TENON_INT64) {
      copy_to<uint8_t>(sink.slot<int64_t>(field, shape()));
    } else if (dtype_ == TENON_UINT8) {
      copy_to<uint8_t>(sink.slot<uint8_t>(field, shape()));
    } else if (dtype_ == TENON_INT32) {
      copy_to<int32_t>(sink.slot<int32_t>(field, shape()));
    } else {
      copy_to<float>(sink.slot<float>(field, shape()));
    }
  }

  // Describes the target as it was given. The descriptor borrows from this object.
  tenon_image_target describe() const {
    tenon_image_target described = {};
    described.size = sizeof described;
    described.kind = kind_;
    described.format = format_;
    described.values = kind_ == TENON_IMAGE_MASK ? pixels_ : numbers_.data();
    described.shape = shape_.data();
    described.ndim = static_cast<uint32_t>(shape_.size());
    described.dtype = dtype_;
    described.place = tenon::detail::borrow(place_);
    described.fill = fill_;
    described.min_visibility = min_visibility_;
    described.lengths = lengths_.data();
    described.length_count = lengths_.size();
    described.pairs = pairs_.data();
    described.pair_count = pairs_.size() / 2;
    return described;
  }

  void take(const tenon_moved_target& moved) {
    const auto list = [](const int64_t* numbers, uint64_t count) {
      return std::vector<int64_t>(numbers, numbers + count);
    };
    moved_ = {moved.values,
              list(moved.shape, moved.ndim),
              list(moved.kept_indices, moved.kept_count),
              list(moved.kept_images, moved.kept_count),
              {}};
    if (kind_ == TENON_IMAGE_POLYGONS) moved_.lengths = list(moved.lengths, moved.kept_count);
    is_moved_ = true;
  }

 private:
  struct Moved {
    const void* values;
    std::vector<int64_t> shape;
    std::vector<int64_t> kept_indices;
    std::vector<int64_t> kept_images;
    std::vector<int64_t> lengths;
  };

  ImageTarget(uint32_t kind, std::vector<int64_t> shape) : kind_(kind), shape_(std::move(shape)) {}

  // `extents`: of a row. Throws Error if the values are no whole number of rows.
  static ImageTarget rows(uint32_t kind, std::vector<float> values, std::vector<int64_t> extents) {
    int64_t numbers = 1;
    for (const int64_t extent : extents) numbers *= extent;
    const auto count = static_cast<int64_t>(values.size());
    if (numbers < 1 || count % numbers != 0) {
      throw Error(TENON_INVALID_ARGUMENT, "a target of an image has " + std::to_string(count) +
                                              " values; expected a multiple of " + std::to_string(numbers));
    }
    extents.insert(extents.begin(), count / numbers);
    ImageTarget target(kind, std::move(extents));
    target.numbers_ = std::move(values);
    return target;
  }

  const Moved& moved() const {
    if (!is_moved_)
      throw Error(TENON_INVALID_ARGUMENT, "a target of an image has no moved values; pass it to write() first");
    return moved_;
  }

  template <class T, class Element>
  void copy_to(Element* slot) const {
    size_t count = 1;
    for (const int64_t extent : shape()) count *= static_cast<size_t>(extent);
    std::copy_n(values<T>(), count, slot);
  }

  uint32_t kind_;
  uint32_t format_ = 0;
  std::vector<float> numbers_;
  const void* pixels_ = nullptr;  // of a mask
  std::vector<int64_t> shape_;
  int32_t dtype_ = TENON_FLOAT32;
  std::string place_;
  double fill_ = 0;
  double min_visibility_ = 0;
  std::vector<int64_t> lengths_;
  std::vector<int64_t> pairs_;
  bool is_moved_ = false;
  Moved moved_ = {};
};

// One image of a sample of several, see ImagePipeline::sample_indices().
struct ImageInput {
  std::shared_ptr<const ImageFile> file;
  std::vector<ImageTarget> targets;
};

namespace detail {

TENON_HIDDEN inline const tenon_images& images() {
  static const tenon_images* const table = &tenon::detail::require_extension<tenon_images>(TENON_IMAGES);
  return *table;
}

struct CloseImages {
  void operator()(tenon_image_pipeline* pipeline) const { images().destroy(pipeline); }
  void operator()(tenon_image_worker* worker) const { images().close_worker(worker); }
};

}  // namespace detail

// Reads images on one thread. Open one for each worker of the dataset.
class ImageWorker {
 public:
  explicit ImageWorker(tenon_image_worker* worker) : worker_(worker) {}

  // Reads, decodes and transforms the image into the field, and moves the targets with it. The random values depend on
  // the seed and the size of the image, and of some transforms on its boxes: pass sample.seed.
  ImageInfo write(const ImageFile& image, uint64_t seed, const Sink& sink, std::string_view field,
                  const std::vector<ImageTarget*>& targets = {}) {
    return write_all({{&image, targets}}, seed, sink, field);
  }

  // The same for a sample of several images, those of ImagePipeline::sample_indices(). The targets of the first image
  // receive the moved values of all.
  ImageInfo write(std::vector<ImageInput>& images, uint64_t seed, const Sink& sink, std::string_view field) {
    std::vector<Borrowed> borrowed;
    for (ImageInput& input : images) {
      borrowed.push_back({input.file.get(), {}});
      for (ImageTarget& target : input.targets) borrowed.back().targets.push_back(&target);
    }
    return write_all(borrowed, seed, sink, field);
  }

  // Reads the header of the image.
  ImageInfo inspect(const ImageFile& image) {
    tenon_image_info info = {};
    info.size = sizeof info;
    const tenon_image_source source = image.describe();
    tenon::detail::check(detail::images().inspect(worker_.get(), &source, &info));
    return {info.height, info.width, info.orientation};
  }

  // Decodes the image without transforms: red, green and blue; with `form` TENON_DECODE_MASK the mask in a PNG; with
  // TENON_DECODE_STORED the channels and values of the file, such as 16 bits or numbers.
  Pixels decode(const ImageFile& image, uint32_t form = TENON_DECODE_RGB) {
    tenon_pixels pixels = {};
    pixels.size = sizeof pixels;
    const tenon_image_source source = image.describe();
    tenon::detail::check(detail::images().decode(worker_.get(), &source, form, &pixels));
    return {static_cast<const uint8_t*>(pixels.elements),
            pixels.dtype,
            pixels.height,
            pixels.width,
            pixels.channels,
            pixels.orientation};
  }

 private:
  struct Borrowed {
    const ImageFile* file;
    std::vector<ImageTarget*> targets;
  };

  // The descriptors of one image.
  struct Described {
    tenon_image_source source;
    std::vector<tenon_image_target> targets;
    std::vector<const tenon_image_target*> pointers;
    tenon_image_input input;
  };

  ImageInfo write_all(const std::vector<Borrowed>& images, uint64_t seed, const Sink& sink, std::string_view field) {
    std::vector<Described> described(images.size());
    std::vector<const tenon_image_input*> inputs;
    for (size_t k = 0; k < images.size(); ++k) {
      Described& one = described[k];
      one.source = images[k].file->describe();
      for (const ImageTarget* target : images[k].targets) one.targets.push_back(target->describe());
      for (const tenon_image_target& target : one.targets) one.pointers.push_back(&target);
      one.input = {sizeof(tenon_image_input), &one.source, one.pointers.data(), one.pointers.size()};
      inputs.push_back(&one.input);
    }
    tenon_image_info info = {};
    info.size = sizeof info;
    tenon::detail::check(detail::images().write(worker_.get(), inputs.data(), inputs.size(), seed, sink.handle(),
                                                sink.index(field), &info));
    for (size_t i = 0; !images.empty() && i < images[0].targets.size(); ++i) {
      tenon_moved_target moved = {};
      moved.size = sizeof moved;
      tenon::detail::check(detail::images().moved(worker_.get(), i, &moved));
      images[0].targets[i]->take(moved);
    }
    return {info.height, info.width, info.orientation};
  }

  std::unique_ptr<tenon_image_worker, detail::CloseImages> worker_;
};

// The transforms and settings of a dataset, from its parameters.
class ImagePipeline {
 public:
  // Reads the parameters of image_params(). With the name of a parameter, such as "transforms" of transforms_param(),
  // reads that one alone.
  explicit ImagePipeline(const Params& params, std::string_view transforms = {}) {
    tenon_image_pipeline* created = nullptr;
    tenon::detail::check(detail::images().create(params.handle(), tenon::detail::borrow(transforms), &created));
    pipeline_.reset(created);
    format_.size = sizeof format_;
    tenon::detail::check(detail::images().describe(created, &format_));
  }

  // A field for the images: float32 [3, H, W] if the transforms normalise, else uint8 [H, W, 3].
  Field field(const std::string& name, const std::string& what) const {
    return {name, format_.dtype, shape(),
            what + (format_.dtype == TENON_FLOAT32 ? ": red, green and blue, normalised"
                                                   : ": red, green and blue, 0 to 255")};
  }

  // How `write` makes the field from an image's file, see tenon/preprocessing.hpp.
  Preprocessing preprocessing(const std::string& field) const { return {field, tenon::detail::copy(format_.steps)}; }

  // Height and width of all images after the transforms; -1 for an extent that differs between images. For masks.
  std::vector<int64_t> extents() const {
    const size_t first = format_.dtype == TENON_FLOAT32 ? 1 : 0;
    return {format_.shape[first], format_.shape[first + 1]};
  }

  // The names of the transforms that move pixels, such as "resize, horizontal_flip". `counts_scaling`: whether the list
  // has those that only scale the whole image.
  std::string list_moving(bool counts_scaling = true) const {
    return tenon::detail::copy(counts_scaling ? format_.moving : format_.shifting);
  }

  using Open = std::function<std::unique_ptr<const ImageFile>(size_t number)>;
  using FoundOrientation = std::function<void(size_t number, int orientation)>;

  // Examines some of `count` images when the dataset is created, and logs what samples may lose without an error, see
  // tenon_images.examine. `found_orientation` receives images that EXIF turns upright. Returns how many could be read.
  size_t examine(size_t count, const Open& open, const FoundOrientation& found_orientation = {}) const {
    struct List {
      const Open& open;
      const FoundOrientation& found_orientation;
      std::unique_ptr<const ImageFile> image;
    } context{open, found_orientation, nullptr};
    tenon_image_list list = {};
    list.size = sizeof list;
    list.count = count;
    list.context = &context;
    list.open = [](void* self, uint64_t number, tenon_image_source* out) {
      return tenon::detail::guard([&] {
        auto* images = static_cast<List*>(self);
        images->image = images->open(static_cast<size_t>(number));
        const tenon_image_source source = images->image->describe();
        const uint64_t size = std::min<uint64_t>(out->size, source.size);  // that the host knows
        std::memcpy(out, &source, static_cast<size_t>(size));
        out->size = size;
      });
    };
    list.found_orientation = [](void* self, uint64_t number, int32_t orientation) {
      const auto& found = static_cast<List*>(self)->found_orientation;
      return tenon::detail::guard([&] {
        if (found) found(static_cast<size_t>(number), orientation);
      });
    };
    uint64_t examined = 0;
    tenon::detail::check(detail::images().examine(pipeline_.get(), &list, &examined));
    return static_cast<size_t>(examined);
  }

  // Returns the samples that a sample is made of: `index` alone; or, if the transforms begin with mosaic and it is
  // drawn for this seed, `index` and three of the `length` samples of the dataset, drawn with replacement.
  std::vector<int64_t> sample_indices(int64_t index, int64_t length, uint64_t seed) const {
    int64_t indices[TENON_MAX_IMAGES];
    uint64_t count = 0;
    tenon::detail::check(detail::images().sample_indices(pipeline_.get(), index, length, seed, indices, &count));
    return std::vector<int64_t>(indices, indices + count);
  }

  ImageWorker open_worker() const {
    tenon_image_worker* opened = nullptr;
    tenon::detail::check(detail::images().open_worker(pipeline_.get(), &opened));
    return ImageWorker(opened);
  }

 private:
  std::vector<int64_t> shape() const { return std::vector<int64_t>(format_.shape, format_.shape + format_.ndim); }

  std::unique_ptr<tenon_image_pipeline, detail::CloseImages> pipeline_;
  tenon_image_format format_ = {};
};

}  // namespace tenon::draft
