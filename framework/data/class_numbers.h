// The numbers of classes. A dataset numbers its classes by itself; a run has one numbering, which its weights know.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "framework/components/kinds/dataset.h"
#include "framework/config/values/class_names.h"
#include "framework/data/sample_source.h"

namespace tenon::data {

// A numbering of classes, and where it is from, for messages.
struct Numbering {
  config::ClassNames names;
  std::string source = {};  // "data.class_names", "the training data", or weights: "runs/.../model.safetensors"
};

// Translates the class numbers of a dataset to those of a numbering, by name.
class ClassNumbers {
 public:
  // No translation.
  ClassNumbers() = default;

  // Throws Error(data) with both lists of classes if the dataset has a class that the numbering does not know, or if a
  // number does not fit the field's dtype. Logs which classes of the numbering the dataset lacks. Fields that the
  // numbering lacks, and fields without names, keep their numbers. `place`: of the dataset in the run file.
  ClassNumbers(const components::Dataset& dataset, const Numbering& numbering, const std::string& place);

  // The numbering, with the fields that only the dataset names.
  const config::ClassNames& names() const { return names_; }

  bool is_identity() const { return tables_.empty(); }

  // [worker] Replaces the numbers in the sample that was written to `slots`. A number that is none of the dataset's
  // classes stays, unless the numbering has a class with it: that throws Error(data).
  void apply(const SampleRequest& request, std::span<const SampleSlot> slots) const;

 private:
  struct Table {
    size_t field;
    std::vector<int64_t> numbers;  // the run's number for each of the dataset's
    int64_t classes;               // of the numbering
  };

  std::string dataset_;
  std::vector<Field> fields_;
  config::ClassNames names_;
  std::vector<Table> tables_;  // only those that change a number
};

// Throws Error(configuration) if the names are for a field that the dataset does not have with an integer dtype.
void require_class_fields(const config::ClassNames& names, const std::string& source,
                          const components::Dataset& dataset, const std::string& place);

}  // namespace tenon::data
