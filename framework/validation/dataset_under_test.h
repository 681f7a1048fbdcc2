// A dataset and what its functions answered, for the checks of datasets.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "framework/validation/sample_slots.h"
#include "framework/validation/session.h"

namespace tenon::validation {

using Contents = std::vector<std::vector<std::byte>>;  // of each field of one sample

class DatasetUnderTest {
 public:
  // Creates the dataset and reads its length and fields. Throws Failed where they make no sense.
  explicit DatasetUnderTest(Session& session);

  Subject<tenon_dataset>& subject() { return subject_; }
  int64_t length() const { return length_; }
  const std::vector<DatasetField>& fields() const { return fields_; }

  // The samples that checks look at: the first 64, or all.
  int64_t looked_at() const;

  int64_t read_length();
  std::vector<DatasetField> read_fields();

  // Null where the dataset has none.
  void* open_worker(uint64_t worker_id);
  void close_worker(void* worker);

  // Writes a sample into the slots. Throws support::Error as the plugin fails.
  void get(void* worker, int64_t index, SampleSlots& slots);
  // The same on a thread of the caller's.
  void get_on_worker_thread(void* worker, int64_t index, SampleSlots& slots);

  // A sample in slots that were zero, which is all right.
  Contents read(void* worker, int64_t index);

 private:
  tenon_sample sample(int64_t index) const;

  Subject<tenon_dataset> subject_;
  int64_t length_ = 0;
  std::vector<DatasetField> fields_;
};

}  // namespace tenon::validation
