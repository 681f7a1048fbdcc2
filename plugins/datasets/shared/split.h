// Divides one list of samples into parts for training and validation.
#pragma once

#include <string>
#include <vector>

#include <tenon/plugin.hpp>

namespace datasets {

class Split {
 public:
  // Declares `split` and `validation_fraction`, as in image_folder. `names` describes the property that decides a
  // sample's part.
  static std::vector<tenon::Param> schema(const std::string& names = "the relative paths of the images");

  explicit Split(const tenon::Params& params);
  Split(std::string split, double validation_fraction);

  // Returns whether some samples may be in another part.
  bool divides() const { return split_ != "all"; }

  // Returns whether the sample with that name, such as its file's relative path, belongs to this part. The result
  // depends only on the name.
  bool has(const std::string& name) const;

  // Throws tenon::DataError naming `place` if no sample is left.
  void check_samples(size_t count, const std::string& place) const;

 private:
  std::string split_;
  double fraction_;
};

}  // namespace datasets
