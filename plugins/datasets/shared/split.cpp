#include "plugins/datasets/shared/split.h"

#include <utility>

#include "plugins/datasets/shared/validation_part.h"

namespace datasets {

std::vector<tenon::Param> Split::schema(const std::string& names) {
  return {tenon::param("split", "all")
              .choices({"all", "train", "validation"})
              .doc("samples to use: all, or one of two parts, split by " + names),
          tenon::param("validation_fraction", 0.1)
              .range("(0, 1)")
              .doc("fraction of the samples in the validation split; the train split has the rest")};
}

Split::Split(const tenon::Params& params) : Split(params.text("split"), params.number("validation_fraction")) {}

Split::Split(std::string split, double validation_fraction)
    : split_(std::move(split)), fraction_(validation_fraction) {}

bool Split::has(const std::string& name) const {
  if (!divides()) return true;
  return is_validation_name(name, fraction_) == (split_ == "validation");
}

void Split::check_samples(size_t count, const std::string& place) const {
  if (count > 0) return;
  throw tenon::DataError(place + ": none of its samples falls into the split \"" + split_ +
                         "\"; change validation_fraction, or add samples");
}

}  // namespace datasets
