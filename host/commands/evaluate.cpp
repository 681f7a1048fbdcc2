// `host evaluate`: computes the losses and metrics of trained weights in the same way as the run.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "framework/artifacts/checkpoint/metric_values.h"
#include "framework/pipeline/evaluation/evaluate.h"
#include "framework/reporting/terminal/write_output.h"
#include "framework/support/text/format_values.h"
#include "host/command_line/command.h"
#include "host/process/signals.h"
#include "host/training/open_evaluation.h"

namespace tenon::host {

namespace {

using Json = nlohmann::ordered_json;

struct EvaluatedSet {
  const pipeline::BoundDataset* data;
  pipeline::NamedMetrics metrics;
};

// Uses the number format of history.jsonl, so that equal values are equal texts.
Json to_json(const pipeline::NamedMetrics& metrics) {
  Json json = Json::object();
  for (const auto& [name, value] : metrics) json[name] = Json::parse(artifacts::format_json_number(value));
  return json;
}

bool is_augmented(const OpenedEvaluation& evaluation) {
  return evaluation.parts().test_time_augmentation == pipeline::TestTimeAugmentation::flip;
}

void print_json(const OpenedEvaluation& evaluation, const std::vector<EvaluatedSet>& sets) {
  const artifacts::FoundWeights& weights = evaluation.weights();
  Json all{{"weights", evaluation.weights_file().string()},
           {"checkpoint", weights.checkpoint.empty() ? Json() : Json(weights.checkpoint.string())},
           {"epoch", weights.checkpoint.empty() ? Json() : Json(weights.epoch)},
           {"step", weights.checkpoint.empty() ? Json() : Json(weights.step)},
           {"tta", is_augmented(evaluation) ? Json("flip") : Json()},
           {"sets", Json::array()}};
  for (const EvaluatedSet& set : sets)
    all["sets"].push_back({{"name", set.data->name()},
                           {"component", set.data->feed.dataset().component().schema.id},
                           {"samples", set.data->feed.sampler().size()},
                           {"metrics", to_json(set.metrics)}});
  reporting::write_output_json(all);
}

void print_text(const OpenedEvaluation& evaluation, const std::vector<EvaluatedSet>& sets) {
  reporting::write_wrapped_output_text("weights " + evaluation.describe_weights() + "\n");
  if (is_augmented(evaluation))
    reporting::write_output_text("mean of the outputs for each image and its mirror image\n");
  for (const EvaluatedSet& set : sets) {
    const data::Feed& feed = set.data->feed;
    reporting::write_output("{}: {}, {}, {} of {}\n", set.data->name(), feed.dataset().component().schema.id,
                            support::format_count(feed.sampler().size(), "sample"),
                            support::format_count(feed.batches(), "batch", "batches"), feed.batch_size());
    size_t width = 0;
    for (const auto& [name, value] : set.metrics) width = std::max(width, name.size());
    for (const auto& [name, value] : set.metrics)
      reporting::write_output("  {:<{}}  {}\n", name, width, artifacts::format_number(value));
  }
}

void add_evaluate_options(AddOption& add) {
  add_run_file_options(add);
  add_checkpoint_option(add);
  add("data", text_value("NAME"),
      "dataset: train, validation, test, validation/NAME or test/NAME; default: all validation data");
  add_augmentation_option(add);
  add_processes_option(add);
  add_json_option(add);
}

int evaluate_all(OpenedEvaluation& evaluation, bool wants_json) {
  catch_stop_signals();
  std::vector<EvaluatedSet> sets;
  for (const auto& data : evaluation.parts().validation) {
    auto metrics =
        pipeline::evaluate(evaluation.parts(), *data, evaluation.context(), [](int64_t) { return stop_signal() == 0; });
    if (!metrics) return 128 + stop_signal();
    sets.push_back({data.get(), std::move(*metrics)});
  }
  if (evaluation.parts().group->rank() > 0) return 0;
  wants_json ? print_json(evaluation, sets) : print_text(evaluation, sets);
  return 0;
}

int evaluate(const Arguments& arguments) {
  EvaluationOptions options = read_evaluation_options(arguments, OpenedEvaluation::Of::metrics);
  options.choice.augmentation = read_augmentation(arguments);
  return evaluate_in_processes(
      options, [&](OpenedEvaluation& evaluation) { return evaluate_all(evaluation, arguments.wants_json()); });
}

}  // namespace

extern const Command evaluate_command{.name = "evaluate",
                                      .needed = "--config FILE",
                                      .purpose = "compute the losses and metrics of trained weights",
                                      .details =
                                          "Computes the losses and metrics of a checkpoint on the validation data, or "
                                          "on another dataset of the run file.",
                                      .page = "guides/evaluate_and_predict.md",
                                      .add_options = add_evaluate_options,
                                      .run = evaluate,
                                      .reads_model_files = true};

}  // namespace tenon::host
