// Images listed in a table, with classes, regression targets, or both.
#include <string>
#include <vector>

#include <tenon/plugin.hpp>

#include "plugins/datasets/shared/image_table.h"

namespace {

class ImageCsv final {
 public:
  using Worker = datasets::ImageReader::Worker;

  static std::vector<tenon::Param> schema() {
    return datasets::ImageTable::schema({tenon::param("image", "path").doc("column with the paths of the images")});
  }

  explicit ImageCsv(const tenon::Params& params) : table_(params, {"image"}) {}

  std::vector<tenon::Field> fields() const { return table_.fields(); }
  std::vector<tenon::ClassNames> class_names() const { return table_.class_names(); }
  int64_t size() const { return table_.size(); }
  Worker open_worker(uint64_t, uint64_t) const { return table_.open_worker(); }

  void get(Worker& worker, const tenon::Sample& sample, const tenon::Sink& sink) const {
    table_.write(worker, sample.index, {sample.seed}, sink);
  }

 private:
  datasets::ImageTable table_;
};

}  // namespace

TENON_PLUGIN("image_csv", "0.1.0", "Apache-2.0", "Images listed in a table, decoded and transformed on the fly.",
             tenon::dataset<ImageCsv>("image_csv", "images listed in a CSV file, with classes or numbers"))
