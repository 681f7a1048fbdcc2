// Samples in tar files, in the layout of WebDataset (github.com/webdataset/webdataset). The constructor reads the
// headers of all shards, so that samples can be found by index. See docs/decisions/0008.
#include <algorithm>
#include <bit>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <tenon/draft/images.hpp>
#include <tenon/plugin.hpp>

#include "framework/formats/regular_file.h"
#include "plugins/datasets/shared/join_params.h"
#include "plugins/datasets/shared/turned_images.h"
#include "plugins/datasets/tar_shards/shard_index.h"

namespace tar_shards {
namespace {

static_assert(std::endian::native == std::endian::little,
              "elements are read from little-endian files without conversion");

// An image within a shard.
class ShardImage final : public tenon::draft::EmbeddedImage {
 public:
  ShardImage(const ShardIndex& index, size_t sample, const ShardField& field, const Stored& stored)
      : EmbeddedImage(index.describe_member(sample, field, stored)), index_(index), sample_(sample), stored_(stored) {}

  uint64_t byte_count() const override { return stored_.size; }
  void read(uint8_t* bytes) const override {
    index_.shard_of(sample_).read(stored_.offset, {bytes, static_cast<size_t>(stored_.size)});
  }
  std::string identity() const override {
    return formats::identify_file(index_.shard_of(sample_).path()) + ", " + std::to_string(stored_.size) +
           " of them from " + std::to_string(stored_.offset);
  }

 private:
  const ShardIndex& index_;
  size_t sample_;
  const Stored& stored_;
};

class TarShards final {
 public:
  using Worker = std::optional<tenon::draft::ImageWorker>;  // none without images

  static std::vector<tenon::Param> schema() {
    const std::vector<tenon::Param> of_shards = {
        tenon::required<tenon::Path>("path").doc(
            "folder of .tar files, one .tar file, or several files in braces: shards/train-{000000..000009}.tar"),
        tenon::param("fields", std::vector<std::string>{})
            .doc("members that become fields, by extension: \"jpg\", \"image=jpg;png\" with a name and alternatives, "
                 "\"box=npy\", \"label=json:category\"; empty: images, .npy and .cls of the first sample"),
        tenon::param("classes", std::vector<std::string>{})
            .doc("class names that labels contain, in the order of their numbers; empty: labels contain the numbers"),
        tenon::param("padding", 0.0).doc("padding value for arrays with different sizes"),
    };
    return datasets::join_params({of_shards, tenon::draft::image_params()});
  }

  explicit TarShards(const tenon::Params& params)
      : index_(list_shards(params.path("path")), params.texts("fields"), params.texts("classes")),
        classes_(params.texts("classes")),
        padding_(params.number("padding")),
        turned_(describe_positions()) {
    const auto& fields = index_.fields();
    if (std::any_of(fields.begin(), fields.end(), is_image)) {
      pipeline_.emplace(params);
      examine();
    }
  }

  std::vector<tenon::Field> fields() const {
    std::vector<tenon::Field> fields;
    for (const ShardIndex::Field& field : index_.fields()) {
      const std::string& name = field.field.name;
      if (const auto* arrays = std::get_if<ArrayColumn>(&field.column)) {
        fields.push_back({name, arrays->dtype(), arrays->shape(), "as stored in the file", padding_});
      } else if (std::holds_alternative<ImageColumn>(field.column)) {
        fields.push_back(pipeline_->field(name, "the image"));
      } else {
        fields.push_back({name, TENON_INT64, {}, "the class, from 0"});
      }
    }
    return fields;
  }

  std::vector<tenon::ClassNames> class_names() const {
    std::vector<tenon::ClassNames> classes;
    for (const ShardIndex::Field& field : index_.fields()) {
      const bool is_label = std::holds_alternative<LabelColumn>(field.column);
      const auto* arrays = std::get_if<ArrayColumn>(&field.column);
      const bool is_integer = is_label || (arrays && (TENON_ANY_INTEGER & TENON_DTYPE_BIT(arrays->dtype())) != 0);
      if (!is_integer) continue;
      std::vector<std::string> names = is_label && !classes_.empty() ? classes_ : index_.class_names(field.field);
      if (!names.empty()) classes.push_back({field.field.name, std::move(names)});
    }
    return classes;
  }

  std::vector<tenon::Preprocessing> preprocessing() const {
    std::vector<tenon::Preprocessing> fields;
    for (const ShardIndex::Field& field : index_.fields())
      if (std::holds_alternative<ImageColumn>(field.column))
        fields.push_back(pipeline_->preprocessing(field.field.name));
    return fields;
  }

  int64_t size() const { return static_cast<int64_t>(index_.size()); }
  uint64_t fingerprint() const { return index_.hash(); }

  Worker open_worker(uint64_t, uint64_t) const {
    Worker worker;
    if (pipeline_) worker.emplace(pipeline_->open_worker());
    return worker;
  }

  void get(Worker& worker, const tenon::Sample& sample, const tenon::Sink& sink) const {
    const auto number = static_cast<size_t>(sample.index);
    datasets::TurnedImages::Sample turns;
    for (const ShardIndex::Field& field : index_.fields()) {
      if (const auto* images = std::get_if<ImageColumn>(&field.column)) {
        // All images of a sample use the sample's seed, so images of one size get the same transforms.
        const ShardImage image(index_, number, field.field, images->at(number));
        turned_.check(turns, worker->write(image, sample.seed, sink, field.field.name), image);
      } else if (const auto* arrays = std::get_if<ArrayColumn>(&field.column)) {
        write_array(*arrays, field.field.name, number, sink);
      } else {
        sink.put<int64_t>(field.field.name, std::get<LabelColumn>(field.column).at(number));
      }
    }
  }

 private:
  // `field "mask"`: the first field that belongs to the pixels of the images and is not transformed with them; "":
  // none.
  std::string describe_positions() const {
    std::vector<std::string> names;
    for (const ShardIndex::Field& field : index_.fields()) {
      if (std::holds_alternative<ImageColumn>(field.column)) continue;
      const std::string& name = field.field.name;
      if (std::holds_alternative<ArrayColumn>(field.column) && datasets::is_pixel_map(name))
        return "field \"" + name + '"';
      names.push_back(name);
    }
    for (const std::string& name : names)
      if (datasets::have_coordinates({name})) return "field \"" + name + '"';
    return datasets::have_coordinates(names) ? "fields with coordinates" : "";
  }

  static bool is_image(const ShardIndex::Field& field) { return std::holds_alternative<ImageColumn>(field.column); }

  void examine() const {
    std::vector<const ShardIndex::Field*> images;
    for (const ShardIndex::Field& field : index_.fields())
      if (is_image(field)) images.push_back(&field);
    turned_.examine(*pipeline_, index_.size(), images.size(), [&](size_t number) {
      const ShardIndex::Field& field = *images[number % images.size()];
      const size_t sample = number / images.size();
      const Stored& stored = std::get<ImageColumn>(field.column).at(sample);
      return std::make_unique<ShardImage>(index_, sample, field.field, stored);
    });
    if (turned_.have_unturned()) turned_.warn_of_transforms(*pipeline_, /*are_relative=*/false);
  }

  // Reads from the file into the batch without an intermediate copy.
  void write_array(const ArrayColumn& arrays, const std::string& name, size_t number, const tenon::Sink& sink) const {
    const Stored& stored = arrays.at(number);
    auto* elements = static_cast<uint8_t*>(sink.raw_slot(name, arrays.shape_of(number)));
    index_.shard_of(number).read(stored.offset, {elements, stored.size});
    if (arrays.dtype() != TENON_BOOL) return;
    // A bool has no other byte values than 0 and 1.
    std::transform(elements, elements + stored.size, elements, [](uint8_t truth) { return truth != 0; });
  }

  ShardIndex index_;
  std::vector<std::string> classes_;  // of the labels; empty: labels are numbers
  double padding_;
  datasets::TurnedImages turned_;
  std::optional<tenon::draft::ImagePipeline> pipeline_;  // none without images
};

}  // namespace
}  // namespace tar_shards

TENON_PLUGIN("tar_shards", "0.1.0", "Apache-2.0", "Samples in tar files, in WebDataset's layout.",
             tenon::dataset<tar_shards::TarShards>("tar_shards", "samples in .tar files: images, arrays and labels"))
