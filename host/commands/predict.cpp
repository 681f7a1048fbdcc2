// `host predict`: writes the outputs of trained weights for each sample.
#include <tenon/abi.h>
#include <sstream>

#include <cstdio>
#include <memory>
#include <vector>

#include "framework/pipeline/evaluation/predict.h"
#include "framework/pipeline/state/stored_tensors.h"
#include "framework/reporting/predictions/prediction_file.h"
#include "host/command_line/command.h"
#include "host/predict/prediction_columns.h"
#include "host/process/signals.h"
#include "host/process/standard_streams.h"
#include "host/training/open_evaluation.h"

namespace tenon::host {

namespace {

void write(const pipeline::Prediction& prediction, const std::vector<PredictionColumn>& columns,
           reporting::PredictionFile& file) {
  const auto samples = static_cast<int64_t>(prediction.indices.size());
  std::vector<artifacts::TensorView> views{{"index",
                                            TENON_INT64,
                                            {samples},
                                            reinterpret_cast<const std::byte*>(prediction.indices.data()),
                                            prediction.indices.size_bytes()}};
  std::vector<at::Tensor> tensors;  // keeps the memory of the views alive
  for (const PredictionColumn& column : columns)
    views.push_back(pipeline::view_of(column.name, tensors.emplace_back(column.read(prediction.batch_tensors))));
  file.append(views);
}

po::options_description make_predict_options() {
  po::options_description options = run_file_options();
  add_checkpoint_option(options);
  auto add = options.add_options();
  add("data", po::value<std::string>()->value_name("NAME"), "dataset: train, validation or validation/NAME");
  add("output", po::value<std::string>()->value_name("FILE"), "output file: .csv or .safetensors");
  add("outputs", po::value<std::string>()->value_name("NAME,..."), "model outputs to write, or none; default: all");
  add("fields", po::value<std::string>()->value_name("NAME,..."), "dataset fields to write next to the outputs");
  add("apply", po::value<std::vector<std::string>>()->value_name("[OUTPUT=]FUNCTION")->composing(),
      "replace an output by its softmax, sigmoid or argmax; may be repeated");
  return options;
}

// Splits "logits,values" into a list. "none" gives an empty list.
std::vector<std::string> split_at_commas(const std::string& text) {
  std::vector<std::string> parts;
  if (text == "none") return parts;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, ',');) parts.push_back(part);
  return parts;
}

ColumnChoice choose(const Arguments& arguments) {
  ColumnChoice choice;
  if (arguments.has("outputs")) choice.outputs = split_at_commas(arguments.text("outputs"));
  choice.fields = split_at_commas(arguments.text("fields"));
  choice.apply = arguments.texts("apply");
  return choice;
}

int predict(const Arguments& arguments) {
  const std::string output = arguments.text("output");
  Evaluation evaluation(arguments.run_file(), {arguments.text("checkpoint"), arguments.text("data")},
                        Evaluation::Of::outputs);
  pipeline::BoundDataset& data = *evaluation.parts().validation.front();
  const std::vector<PredictionColumn> columns =
      choose_columns(choose(arguments), evaluation.parts().model, data.transforms.fields());
  const std::unique_ptr<reporting::PredictionFile> file =
      reporting::PredictionFile::make(output, data.feed.sampler().size());
  catch_stop_signals();
  size_t samples = 0;
  const auto take = [&](const pipeline::Prediction& prediction) {
    if (samples == 0) file->name_classes(name_columns(columns, prediction.batch_tensors, data.feed.class_names()));
    write(prediction, columns, *file);
    samples += prediction.indices.size();
    return stop_signal() == 0;
  };
  if (!pipeline::predict(evaluation.parts(), data, evaluation.context(), take)) {
    write_output("stopped; nothing was written\n");
    return 128 + stop_signal();
  }
  file->commit();
  write_output("weights %s\n%s: %zu samples in %s\n", evaluation.describe_weights().c_str(), data.name().c_str(),
               samples, output.c_str());
  return 0;
}

}  // namespace

extern const Command predict_command{
    .name = "predict",
    .arguments = "",
    .needed = "--config FILE --data NAME --output FILE",
    .purpose = "write the outputs of trained weights for each sample",
    .details = "Writes the model's outputs for each sample of a dataset to a CSV or safetensors file.",
    .page = "evaluate_and_predict.md",
    .make_options = make_predict_options,
    .run = predict,
    .is_for_one_process = true};

}  // namespace tenon::host
