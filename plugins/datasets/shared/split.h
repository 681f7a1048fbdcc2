// One list of files that serves for training and validation.
#pragma once

#include <string>
#include <vector>

#include <tenon/plugin.hpp>

namespace datasets {

class Split {
 public:
  // `split` and `validation_fraction`, as image_folder has them.
  static std::vector<tenon::Param> schema();

  explicit Split(const tenon::Params& params);

  // Whether the sample whose file is named `relative_path` belongs to this part. A function of the path alone.
  bool has(const std::string& relative_path) const;

  // Throws tenon::DataError naming `place` if no sample is left.
  void check_samples(size_t count, const std::string& place) const;

 private:
  std::string split_;
  double fraction_;
};

}  // namespace datasets
