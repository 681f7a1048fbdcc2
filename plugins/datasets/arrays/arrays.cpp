// Existing arrays from NumPy or safetensors files. Sample i is row i of each array.
#include <string>
#include <vector>

#include <tenon/plugin.hpp>

#include "plugins/datasets/arrays/array_files.h"

namespace arrays {
namespace {

class Arrays final {
 public:
  static std::vector<tenon::Param> schema() {
    return {tenon::required<tenon::Path>("path").doc(
                "safetensors file, .npy file, or folder of .npy files. Each field has the name of its tensor or file"),
            tenon::param("fields", std::vector<std::string>{})
                .doc("arrays that become fields, in this order; empty: all. They must have the same first dimension, "
                     "the number of samples")};
  }

  explicit Arrays(const tenon::Params& params) : files_(params.path("path"), params.texts("fields")) {}

  std::vector<tenon::Field> fields() const {
    std::vector<tenon::Field> fields;
    for (const Array& array : files_.arrays()) {
      fields.push_back(
          {array.name, array.dtype, {array.shape.begin() + 1, array.shape.end()}, "as stored in the file"});
    }
    return fields;
  }

  int64_t size() const { return files_.rows(); }
  uint64_t fingerprint() const { return files_.hash(); }

  void get(const tenon::Sample& sample, const tenon::Sink& sink) const {
    for (size_t field = 0; field < files_.arrays().size(); ++field)
      files_.read_row(field, sample.index, static_cast<uint8_t*>(sink.raw_slot(field)));
  }

 private:
  ArrayFiles files_;
};

}  // namespace
}  // namespace arrays

TENON_PLUGIN("arrays", "0.1.0", "Apache-2.0", "Arrays of NumPy and safetensors files.",
             tenon::dataset<arrays::Arrays>("arrays", "arrays in .npy or safetensors files, one sample per row"))
