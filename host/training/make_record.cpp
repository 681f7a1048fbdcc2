#include "host/training/make_record.h"

#include <utility>

#include "framework/components/tensors/tensor_functions.h"
#include "framework/data/describe_data.h"
#include "framework/pipeline/build/metric_directions.h"
#include "framework/pipeline/build/model_summary.h"

namespace tenon::host {

artifacts::DataRecord describe_run_data(const pipeline::Training& training) {
  const config::DataSection& plan = training.plan->data;
  artifacts::DataRecord record{{plan.train.name, data::describe_data(training.train->feed.dataset(), plan.train)}};
  for (size_t i = 0; i < training.validation.size(); ++i)
    record.emplace(plan.validation[i].name,
                   data::describe_data(training.validation[i]->feed.dataset(), plan.validation[i]));
  return record;
}

artifacts::RunRecord make_record(const pipeline::Training& training, const components::Catalogue& catalogue,
                                 const support::ComputeDevice& device, std::vector<std::string> command_line,
                                 std::chrono::system_clock::time_point start) {
  artifacts::RunRecord record = artifacts::make_run_record(std::move(command_line), start);
  record.libtorch_version = components::torch_build();
  record.device = device;
  for (const auto& plugin : catalogue.plugins())
    record.plugins.push_back({plugin->id, plugin->version, plugin->file, plugin->sha256});
  record.data = describe_run_data(training);
  record.model_summary = pipeline::summarize_model(training.model);
  if (training.monitor) record.monitor = training.monitor->metric;
  record.directions = pipeline::find_directions(training);
  record.directions.merge(pipeline::find_test_directions(training));
  return record;
}

}  // namespace tenon::host
