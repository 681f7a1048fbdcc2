// Writes the values that a program passes for an input to the samples of a batch.
#pragma once

#include <exception>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <tenon/dataset.h>
#include <tenon/draft/predictor.h>

#include "framework/components/kinds/sample_slot.h"
#include "host/predictor/open_model.h"

namespace tenon::predictor {

// An input of the predictor: a field of the dataset that the model was trained with. [any thread]
class FieldWriter {
 public:
  explicit FieldWriter(const ModelField& field);  // which must outlive this
  virtual ~FieldWriter() = default;
  FieldWriter(const FieldWriter&) = delete;
  FieldWriter& operator=(const FieldWriter&) = delete;

  const ModelField& field() const { return field_; }
  uint32_t accepts() const { return accepts_; }  // TENON_INPUT_... joined by |

  // Names of the cells of a row; empty if the input accepts none.
  const std::vector<std::string>& columns() const { return columns_; }

  // Throws Error(data) for values that cannot be read, and Error(configuration) for those that the input does not
  // accept. `sample`: its number, for messages.
  void write(const tenon_predictor_value& value, uint64_t sample, const components::SampleSlot& slot) const;

 protected:
  // REQUIRES: the kind is one that the input accepts, and no elements.
  virtual void write_other(const tenon_predictor_value& value, const std::string& place,
                           const components::SampleSlot& slot) const;

  // Memory for a sample of this shape. Throws Error(configuration) if the field cannot have it.
  void* find_memory(std::span<const int64_t> shape, const std::string& place, const components::SampleSlot& slot) const;

  // Calls `write(sink)`, which returns a status of the plugin interface, with a sink that has the memory of the
  // sample. Throws what find_memory() throws.
  template <class Write>
  tenon_status write_to_sink(const std::string& place, const components::SampleSlot& slot, const Write& write) const {
    SinkTarget target{*this, place, slot};
    const tenon_sink sink{sizeof(tenon_sink), &target, find_slot};
    const tenon_status status = write(sink);
    if (target.error) std::rethrow_exception(target.error);
    return status;
  }

  uint32_t accepts_ = TENON_INPUT_ELEMENTS;
  std::vector<std::string> columns_;

 private:
  struct SinkTarget {
    const FieldWriter& writer;
    const std::string& place;
    const components::SampleSlot& slot;
    std::exception_ptr error = {};
  };
  static tenon_status find_slot(const tenon_sink* sink, uint64_t field, const int64_t* shape, uint32_t ndim,
                                void** memory);
  void write_elements(const tenon_predictor_value& value, const std::string& place,
                      const components::SampleSlot& slot) const;
  const ModelField& field_;
};

// By the encoder of the field, or its preprocessing: of images, or of elements alone if the steps are not known or are
// random, which the log says.
std::unique_ptr<FieldWriter> make_field_writer(const ModelField& field);

}  // namespace tenon::predictor
