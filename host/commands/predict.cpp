// `host predict`: writes the outputs of trained weights for each sample.
#include <ATen/ATen.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "framework/pipeline/evaluation/predict.h"
#include "framework/reporting/predictions/prediction_file.h"
#include "framework/reporting/report/saved_samples.h"
#include "framework/reporting/terminal/write_output.h"
#include "framework/support/diagnostics/error.h"
#include "framework/support/text/format_values.h"
#include "host/command_line/command.h"
#include "host/predict/predicted_rows.h"
#include "host/predict/prediction_columns.h"
#include "host/process/signals.h"
#include "host/training/open_evaluation.h"

namespace tenon::host {

namespace {

// What to write for each sample.
struct Columns {
  std::vector<PredictionColumn> all;
  std::optional<PredictionColumn> scores = {};  // the output of --top-k
  int64_t top_k = 0;
  bool guesses_top = false;                   // write the best class in place of the scores if these have class names
  bool has_names = false;                     // of samples
  std::optional<PredictionColumn> mask = {};  // the output of --masks
  size_t fields_left = 0;                     // samples with fields for the page, of this process
};

// Keeps the shapes of padded samples.
void add_shapes(const std::string& name, const at::Tensor& shapes, std::map<std::string, at::Tensor>& to) {
  if (shapes.defined()) to[name] = shapes;
}

at::Tensor to_page(const at::Tensor& tensor) {
  return (at::isReducedFloatingType(tensor.scalar_type()) ? tensor.to(at::kFloat) : tensor).cpu().contiguous();
}

// The dataset's fields and the model's results.
void add_fields(const pipeline::Prediction& prediction, Columns& columns, const pipeline::BoundDataset& data,
                const components::Model& model, PredictedRows& rows) {
  if (columns.fields_left == 0) return;
  columns.fields_left -= std::min(columns.fields_left, prediction.indices.size());
  const std::vector<components::SampleField>& fields = data.transforms.fields();
  for (size_t i = 0; i < fields.size(); ++i) {
    const at::Tensor& field = prediction.batch_tensors.fields[i];
    rows.fields.emplace_back(fields[i].name, to_page(field));
    add_shapes(fields[i].name, pipeline::find_sample_shapes(prediction.batch_tensors, i, fields[i]), rows.field_shapes);
  }
  for (size_t i = 0; i < model.results().size(); ++i) {
    const std::string name = pipeline::name_result(model.results()[i], fields);
    rows.fields.emplace_back(name, to_page(prediction.batch_tensors.results.values[i]));
    const bool holds_classes = std::ranges::find(model.results(), model.results()[i].name,
                                                 &components::ModelResult::classes) != model.results().end();
    if (holds_classes && data.feed.class_names().size() == 1)
      rows.class_names[name] = data.feed.class_names().begin()->second;
    add_shapes(name, pipeline::find_result_shapes(prediction.batch_tensors, i), rows.field_shapes);
  }
}

PredictedRows make_rows(const pipeline::Prediction& prediction, Columns& columns, const pipeline::BoundDataset& data,
                        const components::Model& model) {
  PredictedRows rows;
  rows.is_stopped = stop_signal() != 0;
  if (prediction.indices.empty()) return rows;
  const components::Dataset& dataset = data.feed.dataset();
  rows.tensors.emplace_back("index",
                            at::tensor(at::ArrayRef(prediction.indices.data(), prediction.indices.size()), at::kLong));
  rows.class_names = name_columns(columns.all, prediction.batch_tensors, data.feed.class_names());
  if (columns.guesses_top) {
    const PredictionColumn& only = columns.all.front();
    if (rows.class_names.contains(only.name) && only.read(prediction.batch_tensors).dim() == 2) {
      columns.scores = only;
      columns.top_k = 1;
      columns.all.clear();
    }
    columns.guesses_top = false;
  }
  for (const PredictionColumn& column : columns.all) {
    if (column.is_text())
      rows.texts.push_back({column.name, column.read_text(prediction.batch_tensors, *dataset.tokenizer())});
    else
      rows.tensors.emplace_back(column.name, column.read(prediction.batch_tensors));
    if (!column.is_text() && column.kind == pipeline::Source::Kind::field)
      add_shapes(
          column.name,
          pipeline::find_sample_shapes(prediction.batch_tensors, column.index, data.transforms.fields()[column.index]),
          rows.shapes);
    if (column.kind == pipeline::Source::Kind::result)
      add_shapes(column.name, pipeline::find_result_shapes(prediction.batch_tensors, column.index), rows.shapes);
  }
  if (columns.scores) {
    rows.top = find_top_classes(columns.scores->name, columns.scores->read(prediction.batch_tensors), columns.top_k);
    const config::ClassNames names = name_columns({*columns.scores}, prediction.batch_tensors, data.feed.class_names());
    if (!names.empty()) rows.class_names["top"] = names.begin()->second;
  }
  if (columns.mask) rows.mask = find_pixel_classes(columns.mask->name, columns.mask->read(prediction.batch_tensors));
  add_fields(prediction, columns, data, model, rows);
  if (columns.has_names)
    for (const int64_t index : prediction.indices) rows.names.push_back(dataset.name_sample(index));
  return rows;
}

void add_predict_options(AddOption& add) {
  add_run_file_options(add);
  add_checkpoint_option(add);
  add("data", text_value("NAME"), "dataset: train, validation, test, validation/NAME or test/NAME");
  add("input", texts_value("PATH"),
      "unlabelled data to read in place of the dataset's: a folder of images, an image, or a list of paths (.csv, "
      ".tsv, .txt); may be repeated");
  add("output", text_value("FILE"), "output file: .csv, .jsonl or .safetensors");
  add("masks", text_value("FOLDER"), "write the class of each pixel as a grey PNG picture for each sample");
  add("page", text_value("FILE"), "write an HTML page with the first samples");
  add("top-k", integer_value("K"), "write the K most probable classes in place of their scores");
  add("outputs", text_value("NAME,..."),
      "outputs or results of the model to write, or none; default: all results, or all outputs if there are none");
  add("fields", text_value("NAME,..."), "dataset fields to write next to the outputs");
  add("apply", texts_value("[OUTPUT=]FUNCTION"),
      "replace an output by its softmax, sigmoid, argmax or text; may be repeated");
  add_augmentation_option(add);
  add_processes_option(add);
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

// --masks replaces the only output with classes of pixels, or their scores.
void choose_mask(const Arguments& arguments, const components::Model& model, Columns& columns) {
  const auto holds_pixels = [&](const PredictionColumn& column) {
    if (column.kind != pipeline::Source::Kind::output) return false;
    const components::Port& port = model.outputs()[column.index];
    const size_t dimensions = port.shape.extents.size();
    const bool holds_classes = dimensions == 3 && port.dtypes == TENON_DTYPE_BIT(TENON_INT64);
    return !port.shape.any && !port.shape.open_ended && (dimensions == 4 || holds_classes) &&
           column.apply == PredictionColumn::Apply::nothing;
  };
  const auto found = std::ranges::find_if(columns.all, holds_pixels);
  if (std::ranges::count_if(columns.all, holds_pixels) != 1)
    arguments.refuse("--masks is given, and " + std::to_string(std::ranges::count_if(columns.all, holds_pixels)) +
                         " outputs hold scores of pixels [N, C, H, W] or their classes [N, H, W], without --apply",
                     "one such output: choose it with --outputs");
  columns.mask = *found;
  columns.all.erase(found);
}

// --top-k replaces the only output that is written. With --input or --page alone, the best class is the most useful
// result.
Columns choose_all(const Arguments& arguments, const components::Model& model, const pipeline::BoundDataset& data,
                   bool holds_text) {
  ColumnChoice choice = choose(arguments);
  const components::Dataset& dataset = data.feed.dataset();
  const bool has_names = holds_text && dataset.names_samples();
  choice.reserved = {"index"};
  if (has_names) choice.reserved.push_back("name");
  if (arguments.has("top-k")) choice.reserved.push_back("top");
  Columns columns{choose_columns(choice, model, data.transforms.fields(), {dataset.tokenizer(), holds_text})};
  columns.has_names = has_names;
  columns.top_k = arguments.count("top-k", 1);
  if (arguments.has("masks")) choose_mask(arguments, model, columns);
  if (arguments.has("page")) columns.fields_left = PredictionPage::kMost;
  const auto outputs = std::ranges::count(columns.all, pipeline::Source::Kind::output, &PredictionColumn::kind);
  if (columns.top_k > 0) {
    const auto only = std::ranges::find(columns.all, pipeline::Source::Kind::output, &PredictionColumn::kind);
    if (outputs != 1 || only->apply != PredictionColumn::Apply::nothing)
      arguments.refuse("--top-k is given, and " + std::to_string(outputs) + " outputs are written" +
                           (choice.apply.empty() ? "" : ", with --apply"),
                       "one output without --apply: choose the scores of classes with --outputs");
    columns.scores = *only;
    columns.all.erase(only);
  } else if (outputs == 1 && (arguments.has("input") || !arguments.has("output"))) {
    columns.guesses_top = !choice.outputs && choice.apply.empty() && choice.fields.empty();
  }
  return columns;
}

// The files and folders to write, on the first process.
class Writers {
 public:
  Writers(const Arguments& arguments, const config::RunPlan& plan, const pipeline::BoundDataset& data,
          const components::Model& model)
      : data_name_(data.name()) {
    const std::string output = arguments.text("output"), masks = arguments.text("masks"), page = arguments.text("page");
    if (!output.empty()) file_ = reporting::PredictionFile::make(output, data.feed.sampler().size());
    if (!masks.empty()) masks_.emplace(masks);
    if (!page.empty()) page_.emplace(page, data.feed.class_names(), reporting::find_image_details(plan, data, model));
    for (const std::string& path : {output, masks, page})
      if (!path.empty()) paths_ += (paths_.empty() ? "" : ", ") + path;
  }

  void write(const PredictedRows& rows) {
    if (file_ && samples_ == 0) file_->name_classes(rows.class_names);
    if (file_) file_->append(view_rows(rows));
    if (masks_) masks_->write(rows.mask, rows.names, rows.tensors.front().second);
    if (page_) page_->add(rows);
    samples_ += rows.tensors.front().second.size(0);
  }

  void commit(const OpenedEvaluation& evaluation) {
    if (samples_ == 0)
      throw support::Error(support::ErrorKind::data,
                           "{}: none of its samples could be read (see the log); expected at least one: fix the data",
                           data_name_);
    if (file_) file_->commit();
    if (page_) page_->commit(data_name_);
    reporting::write_wrapped_output_text("weights " + evaluation.describe_weights() + "\n" + data_name_ + ": " +
                                         support::format_count(samples_, "sample") + " in " + paths_ + "\n");
  }

 private:
  std::string data_name_;
  std::string paths_;
  std::unique_ptr<reporting::PredictionFile> file_;
  std::optional<MaskFolder> masks_;
  std::optional<PredictionPage> page_;
  int64_t samples_ = 0;
};

int write_predictions(OpenedEvaluation& evaluation, const Arguments& arguments) {
  distributed::ProcessGroup& group = *evaluation.parts().group;
  pipeline::BoundDataset& data = *evaluation.parts().validation.front();
  const std::string output = arguments.text("output");
  Columns columns = choose_all(arguments, evaluation.parts().model, data,
                               output.empty() || reporting::PredictionFile::holds_text(output));
  std::optional<Writers> writers;
  if (group.rank() == 0) writers.emplace(arguments, evaluation.plan(), data, evaluation.parts().model);
  catch_stop_signals();
  const auto take = [&](const pipeline::Prediction& prediction) {
    const std::vector<PredictedRows> collected =
        collect_rows(make_rows(prediction, columns, data, evaluation.parts().model), group);
    for (const PredictedRows& rows : collected)
      if (writers && !rows.is_empty()) writers->write(rows);
    return !collected.front().is_stopped;
  };
  if (!pipeline::predict(evaluation.parts(), data, evaluation.context(), take)) {
    if (writers)
      reporting::write_output_text(arguments.has("masks") ? "stopped; only some masks were written\n"
                                                          : "stopped; nothing was written\n");
    return 128 + stop_signal();
  }
  if (writers) writers->commit(evaluation);
  return 0;
}

int predict(const Arguments& arguments) {
  EvaluationOptions options = read_evaluation_options(arguments, OpenedEvaluation::Of::outputs);
  options.choice.inputs = arguments.texts("input");
  options.choice.augmentation = read_augmentation(arguments);
  if (options.choice.inputs.empty() && !arguments.has("data"))
    arguments.refuse("neither --data nor --input is given", "the data to predict");
  if (!arguments.has("output") && !arguments.has("masks") && !arguments.has("page"))
    arguments.refuse("none of --output, --masks and --page is given", "what to write");
  return evaluate_in_processes(options,
                               [&](OpenedEvaluation& evaluation) { return write_predictions(evaluation, arguments); });
}

}  // namespace

extern const Command predict_command{
    .name = "predict",
    .needed = "--config FILE",
    .purpose = "write the outputs of trained weights for each sample",
    .details =
        "Writes the model's outputs for each sample of a dataset, or of unlabelled files, to a CSV, JSON lines or "
        "safetensors file, as pictures of masks or as a page.",
    .page = "guides/evaluate_and_predict.md",
    .add_options = add_predict_options,
    .run = predict,
    .reads_model_files = true};

}  // namespace tenon::host
