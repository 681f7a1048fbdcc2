// One list of samples that serves for training and validation.
#pragma once

#include <string>
#include <vector>

#include <tenon/plugin.hpp>

namespace datasets {

class Split {
 public:
  // `split` and `validation_fraction`, as image_folder has them. `names`: by what samples are told apart.
  static std::vector<tenon::Param> schema(const std::string& names = "the images' relative paths");

  explicit Split(const tenon::Params& params);
  Split(std::string split, double validation_fraction);

  // Whether the sample of that name, such as its file's relative path, belongs to this part. A function of the name
  // alone.
  bool has(const std::string& name) const;

  // Throws tenon::DataError naming `place` if no sample is left.
  void check_samples(size_t count, const std::string& place) const;

 private:
  std::string split_;
  double fraction_;
};

}  // namespace datasets
