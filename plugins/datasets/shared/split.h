// Divides one list of samples into parts for training and validation.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <tenon/plugin.hpp>
#include <tenon/random.hpp>

#include "framework/formats/content_hash.h"

namespace datasets {

// Returns whether the sample with that name is in the validation part, which has about `fraction` of all names. The
// result depends only on the arguments: adding or removing samples moves no other sample between the parts.
inline bool is_validation_name(std::string_view name, double fraction) {
  // Similar names may have similar hashes, so the generator mixes the hash.
  return tenon::Random(formats::hash_text(name)).uniform() < fraction;
}

class Split {
 public:
  // Declares `split` and `validation_fraction`, as in image_folder. `names` describes the property that decides a
  // sample's part. `samples`: what the samples are.
  static std::vector<tenon::Param> schema(const std::string& names = "the relative paths of the images",
                                          const std::string& samples = "samples") {
    return {tenon::param("split", "all")
                .choices({"all", "train", "validation"})
                .doc(samples + " to use: all, or one of two parts, split by " + names),
            tenon::param("validation_fraction", 0.1)
                .range("(0, 1)")
                .doc("fraction of the " + samples + " in the validation split; the train split has the rest")};
  }

  explicit Split(const tenon::Params& params) : Split(params.text("split"), params.number("validation_fraction")) {}
  Split(std::string split, double validation_fraction) : split_(std::move(split)), fraction_(validation_fraction) {}

  // Returns whether some samples may be in another part.
  bool divides() const { return split_ != "all"; }

  // Returns whether the sample with that name, such as its file's relative path, belongs to this part. The result
  // depends only on the name.
  bool has(std::string_view name) const {
    return !divides() || is_validation_name(name, fraction_) == (split_ == "validation");
  }

  // Throws tenon::DataError naming `place` if no sample is left.
  void check_samples(size_t count, const std::string& place, const std::string& samples = "samples") const {
    if (count > 0) return;
    throw tenon::DataError(place + ": none of its " + samples + " falls into the split \"" + split_ +
                           "\"; change validation_fraction, or add " + samples);
  }

 private:
  std::string split_;
  double fraction_;
};

}  // namespace datasets
