// The predictions for one batch as `host predict` writes them, on the way from the process that computed them to the
// one that writes the file.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <ATen/core/Tensor.h>

#include "framework/config/values/class_names.h"
#include "framework/distributed/collectives/process_group.h"
#include "framework/reporting/predictions/prediction_file.h"

namespace tenon::host {

struct TopColumns {
  at::Tensor classes;        // int64 [N, K]
  at::Tensor probabilities;  // float32 [N, K]
};

struct PredictedRows {
  std::vector<std::pair<std::string, at::Tensor>> tensors;  // contiguous on the CPU; the first is `index`
  std::vector<reporting::TextColumn> texts;
  std::vector<std::string> names;  // of the samples; may be empty
  std::optional<TopColumns> top;
  at::Tensor mask = {};  // uint8 [N, H, W], or undefined
  // The dataset's fields for the page; may be empty.
  std::vector<std::pair<std::string, at::Tensor>> fields = {};
  config::ClassNames class_names;  // of the columns
  bool is_stopped = false;         // by a signal

  bool is_empty() const { return tensors.empty(); }
};

// Returns the K largest softmax probabilities over the classes, dimension 1, of scores [N, C], in descending order; of
// equal ones the class with the smaller number comes first. Throws Error(configuration) if the output is no floats
// [N, C] with C of at least K. `name`: of the output, for messages.
TopColumns find_top_classes(const std::string& name, const at::Tensor& scores, int64_t count);

// Refers to the rows, which must outlive the result.
reporting::PredictionRows view_rows(const PredictedRows& rows);

// Returns the rows of all processes on rank 0, in the order of the ranks, and only those of this process on the others.
// is_stopped is true on all if it is on one. Called by all processes.
std::vector<PredictedRows> collect_rows(PredictedRows rows, distributed::ProcessGroup& group);

}  // namespace tenon::host
