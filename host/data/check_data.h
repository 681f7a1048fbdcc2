// What the data of a run file contain: every sample is read once, and what is wrong or suspicious is listed.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "framework/components/kinds/sample_slot.h"
#include "framework/config/plan/run_plan.h"
#include "framework/data/field_summary.h"
#include "host/training/open_run.h"
#include "host/training/use_weights.h"

namespace tenon::host {

struct Finding {
  bool is_error;        // a warning is for what may be meant
  std::string dataset;  // train, validation, ...
  std::string message;
};

struct CheckedDataset {
  std::string name;
  std::string component;
  int64_t samples = 0;     // that were read
  int64_t unreadable = 0;  // each is an error in the findings
  std::vector<data::FieldSummary> fields = {};
  config::ClassNames class_names = {};
};

struct DataReport {
  std::vector<CheckedDataset> datasets = {};  // those that could be opened
  std::vector<Finding> findings = {};         // in the order in which they were found
  int exit_code = 0;                          // of the first error
};

// Reads the datasets as a run does: with the class numbers and the vocabulary, columns or statistics of the training
// data, which are opened if they are not the first one. Shows the progress on standard error if it is a terminal. Ends
// early after a signal to stop. Continues after an error of a sample or a dataset. The warnings of the log are part of
// the findings: REQUIRES support::collect_warnings().
DataReport check_data(const OpenedRunFile& run, const std::vector<const config::NamedDataset*>& datasets);

// The same without reading samples: what a run finds when it opens them after `train`.
DataReport open_data(const OpenedRunFile& run, const std::vector<const config::NamedDataset*>& datasets,
                     TrainingData train);

// Adds the warnings of the log since the last call.
void add_warnings(const std::string& dataset, std::vector<Finding>& findings);

struct ClassTarget {
  int64_t classes = 0;             // that the model has by its parameter `classes`; 0: unknown
  std::optional<int64_t> ignored;  // a number that every loss with this target ignores
};

// By the name of the field. Finds the fields without building the model: by `inputs` of the loss, the name of its
// input, or as the only integer field. Leaves out what this does not determine.
std::map<std::string, ClassTarget> find_class_targets(const OpenedRunFile& run,
                                                      const std::vector<components::SampleField>& fields);

}  // namespace tenon::host
