// The evaluations of a run: of the validation data, and of the test data at its end.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "framework/pipeline/loop/checkpoint_saver.h"
#include "framework/pipeline/loop/checkpointed_run.h"
#include "framework/pipeline/loop/run_events.h"

namespace tenon::pipeline {

// The metrics of the test data, and the weights that have them.
struct TestResults {
  NamedMetrics metrics;  // of all test data: `test/loss`, `test/accuracy`
  int64_t epoch;         // of the weights, as is the step
  int64_t step;
  std::string monitor;  // the metric by which these weights are the best; empty: they are the last ones
};

// Evaluates all validation data and dispatches one validation_end at the end, so that its observers see the metrics of
// all of them. A signal interrupts it without validation_end.
void validate(const CheckpointedRun& run, const components::StepContext& context, RunEvents& events);

// Evaluates the test data with the best weights, or with the last ones if there are no best ones, and records the
// metrics. The model keeps its weights, and observers see no events: nothing that the test data show can affect the
// run. Returns nothing if a signal stopped it; the resumed run evaluates the test data.
std::optional<TestResults> evaluate_test_data(const CheckpointedRun& run, components::StepContext context,
                                              CheckpointSaver& checkpoint_saver, RunEvents& events);

}  // namespace tenon::pipeline
