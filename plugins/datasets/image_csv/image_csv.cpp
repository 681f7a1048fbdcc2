// Images listed in a table, with classes, regression targets, or both.
#include <optional>
#include <string>
#include <vector>

#include <tenon/draft/images.hpp>
#include <tenon/plugin.hpp>

#include "plugins/datasets/shared/image_table.h"
#include "plugins/datasets/shared/list_images.h"

namespace {

class ImageCsv final {
 public:
  using Worker = tenon::draft::ImageWorker;

  static std::vector<tenon::Param> schema() {
    return datasets::ImageTable::schema(
        {tenon::param("image", "path").doc("column with the paths of the images"), datasets::unlabelled_parameter()});
  }

  explicit ImageCsv(const tenon::Params& params) {
    unlabelled_ = datasets::list_unlabelled_images(params.texts("unlabelled"), params.text("image"));
    if (unlabelled_.empty()) {
      table_.emplace(params, std::vector<std::string>{"image"});
    } else {
      pipeline_.emplace(params);
    }
  }

  std::vector<tenon::Field> fields() const {
    if (pipeline_) return {pipeline_->field("image", "the image")};
    return table_->fields();
  }
  std::vector<tenon::ClassNames> class_names() const {
    if (pipeline_) return {};
    return table_->class_names();
  }
  std::vector<tenon::Preprocessing> preprocessing() const {
    if (pipeline_) return {pipeline_->preprocessing("image")};
    return table_->preprocessing();
  }
  int64_t size() const { return pipeline_ ? static_cast<int64_t>(unlabelled_.size()) : table_->size(); }
  std::string sample_name(int64_t index) const {
    return pipeline_ ? unlabelled_[static_cast<size_t>(index)].name : table_->name(index);
  }
  Worker open_worker(uint64_t, uint64_t) const { return pipeline_ ? pipeline_->open_worker() : table_->open_worker(); }

  void get(Worker& worker, const tenon::Sample& sample, const tenon::Sink& sink) const {
    if (!pipeline_) return table_->write(worker, sample.index, {sample.seed}, sink);
    const auto i = static_cast<size_t>(sample.index);
    worker.write(tenon::draft::ImageFile(unlabelled_[i].path), sample.seed, sink, "image");
  }

 private:
  // Either the table with its targets, or images without any.
  std::optional<datasets::ImageTable> table_;
  std::optional<tenon::draft::ImagePipeline> pipeline_;
  std::vector<datasets::UnlabelledImage> unlabelled_;
};

}  // namespace

TENON_PLUGIN("image_csv", "0.1.0", "Apache-2.0", "Images listed in a table, decoded and transformed on the fly.",
             tenon::dataset<ImageCsv>("image_csv", "images listed in a CSV file, with classes or numbers"))
