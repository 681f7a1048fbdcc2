// A dataset and the results of its functions, for the checks of datasets.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "framework/validation/session/sample_slots.h"
#include "framework/validation/session/session.h"

namespace tenon::validation {

using Contents = std::vector<std::vector<std::byte>>;  // the bytes of each field of one sample

class DatasetUnderTest {
 public:
  // Creates the dataset and reads its length and fields. Throws Failed if they are invalid.
  explicit DatasetUnderTest(Session& session);

  Subject<tenon_dataset>& subject() { return subject_; }
  int64_t length() const { return length_; }
  const std::vector<DatasetField>& fields() const { return fields_; }

  // The number of samples that checks read: the first 64, or all.
  int64_t looked_at() const;

  int64_t read_length();
  std::vector<DatasetField> read_fields();

  // Returns null if the dataset has no workers.
  void* open_worker(uint64_t worker_id);
  void close_worker(void* worker);

  // Writes a sample into the slots. Throws support::Error if the plugin fails.
  void get(void* worker, int64_t index, SampleSlots& slots);
  // As get(), on a thread of the caller.
  void get_on_worker_thread(void* worker, int64_t index, SampleSlots& slots);

  // Reads a sample into slots that are filled with zeros.
  Contents read(void* worker, int64_t index);

 private:
  tenon_sample sample(int64_t index) const;

  Subject<tenon_dataset> subject_;
  int64_t length_ = 0;
  std::vector<DatasetField> fields_;
};

}  // namespace tenon::validation
