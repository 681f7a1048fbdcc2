// Two images per sample, listed in a table: for example of one scene or person, before and after, or left and right.
#include <vector>

#include <tenon/draft/images.hpp>
#include <tenon/plugin.hpp>

#include "plugins/datasets/shared/image_table.h"

namespace {

constexpr uint64_t kSecondStream = 0x5EC04D;  // random stream of the sample's seed that the second image uses

class Pairs final {
 public:
  using Worker = tenon::draft::ImageWorker;

  static std::vector<tenon::Param> schema() {
    return datasets::ImageTable::schema(
        {tenon::param("first", "first").doc("column with the paths of the field first"),
         tenon::param("second", "second").doc("column with the paths of the field second"),
         tenon::param("same_draws", false)
             .doc("true: both images of a sample use the same random values, so images of one size get the same "
                  "transforms; false: each image uses separate random values")});
  }

  explicit Pairs(const tenon::Params& params)
      : table_(params, {"first", "second"}), same_draws_(params.boolean("same_draws")) {}

  std::vector<tenon::Field> fields() const { return table_.fields(); }
  std::vector<tenon::ClassNames> class_names() const { return table_.class_names(); }
  std::vector<tenon::Preprocessing> preprocessing() const { return table_.preprocessing(); }
  int64_t size() const { return table_.size(); }
  Worker open_worker(uint64_t, uint64_t) const { return table_.open_worker(); }

  void get(Worker& worker, const tenon::Sample& sample, const tenon::Sink& sink) const {
    const uint64_t second = same_draws_ ? sample.seed : tenon::Random(sample.seed, kSecondStream)();
    table_.write(worker, sample.index, {sample.seed, second}, sink);
  }

 private:
  datasets::ImageTable table_;
  bool same_draws_;
};

}  // namespace

TENON_PLUGIN("pairs", "0.1.0", "Apache-2.0", "Pairs of images listed in a table, transformed on the fly.",
             tenon::dataset<Pairs>("pairs", "two images per sample, listed in a CSV file, with classes or numbers"))
