#include "framework/pipeline/build/first_batch.h"

#include "framework/support/diagnostics/error.h"

namespace tenon::pipeline {

const data::Batch* find_first_batch(Training& training) {
  training.train->feed.start(1);
  const data::Batch* batch = training.train->feed.next();
  return batch && batch->size > 0 ? batch : nullptr;
}

const data::Batch& read_first_batch(Training& training) {
  const data::Batch* batch = find_first_batch(training);
  if (!batch)
    throw support::Error(support::ErrorKind::data, training.plan->data.train.place +
                                                       ": no sample of the first batch can be read; expected at least "
                                                       "one; `host data` reads only the samples and shows why");
  return *batch;
}

}  // namespace tenon::pipeline
