#include "framework/pipeline/first_batch.h"

#include "framework/support/error.h"

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
                                                       ": the first batch has no sample that can be read; expected one "
                                                       "or more; `host data` reads them alone and says why");
  return *batch;
}

}  // namespace tenon::pipeline
