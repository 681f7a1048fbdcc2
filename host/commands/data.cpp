// `host data`: shows the samples of a dataset and times its loader without a model.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "framework/artifacts/drawing/render_samples.h"
#include "framework/artifacts/files/durable_file.h"
#include "framework/components/calls/ports.h"
#include "framework/components/kinds/dataset.h"
#include "framework/data/feed.h"
#include "framework/pipeline/build/connections.h"
#include "framework/pipeline/state/saved_state.h"
#include "framework/reporting/report/saved_samples.h"
#include "framework/reporting/terminal/write_output.h"
#include "framework/support/diagnostics/error.h"
#include "framework/support/diagnostics/log.h"
#include "framework/support/text/format.h"
#include "framework/support/text/format_values.h"
#include "host/command_line/command.h"
#include "host/data/data_report.h"
#include "host/process/signals.h"
#include "host/training/open_run.h"
#include "host/training/use_weights.h"

namespace tenon::host {

namespace {

using Json = nlohmann::ordered_json;

Json describe_fields(const components::Dataset& dataset) {
  Json fields = Json::array();
  for (const components::SampleField& field : dataset.fields())
    fields.push_back({{"name", field.name},
                      {"dtype", components::dtype_name(field.dtype)},
                      {"shape", field.shape},
                      {"bytes", field.is_varying() ? Json() : Json(field.sample_bytes)}});
  return fields;
}

// Renders the first samples of an epoch as a page.
class Sheet {
 public:
  explicit Sheet(int64_t most) : limit_(static_cast<size_t>(most)) {}

  bool is_full() const { return samples_.size() >= limit_; }

  // `order`: the sample order of the epoch; `first`: the position of the batch in it.
  void add(const components::Dataset& dataset, const data::Batch& batch, const std::vector<int64_t>& order,
           size_t first) {
    size_t place = first;
    auto skipped = batch.skipped.begin();
    const pipeline::BatchTensors batch_tensors = pipeline::view_batch(batch, dataset.fields());
    for (int64_t i = 0; i < batch.size && !is_full(); ++i, ++place) {
      for (; skipped != batch.skipped.end() && first + static_cast<size_t>(skipped->place) == place; ++skipped) ++place;
      artifacts::SheetSample& sample = samples_.emplace_back("sample " + std::to_string(order[place]));
      for (size_t k = 0; k < batch.fields.size(); ++k) {
        const components::SampleField& field = dataset.fields()[k];
        const at::Tensor shapes = pipeline::find_sample_shapes(batch_tensors, k, field);
        // A copy, because the loader reuses the memory of the batch.
        kept_.push_back(pipeline::take_sample(batch_tensors.fields[k], shapes, i).clone(at::MemoryFormat::Contiguous));
        sample.fields.push_back(pipeline::make_view(field.name, kept_.back()));
      }
    }
  }

  std::string make(const std::string& title, const config::ClassNames& names,
                   const artifacts::ImageDetails& details) const {
    return artifacts::make_contact_sheet(title, samples_, names, details);
  }
  size_t size() const { return samples_.size(); }

 private:
  size_t limit_;
  std::vector<artifacts::SheetSample> samples_;
  std::vector<at::Tensor> kept_;
};

void print_text(const data::Feed& feed, const config::DataSection& data, const Json& fields, const Json& timing) {
  const components::Dataset& dataset = feed.dataset();
  reporting::write_output("{}: {} ({} {}), {}, {} of {}\n", dataset.name(), dataset.component().schema.id,
                          dataset.component().plugin->id, dataset.component().plugin->version,
                          support::format_count(feed.sampler().size(), "sample"),
                          support::format_count(feed.batches(), "batch", "batches"), feed.batch_size());
  for (size_t i = 0; i < fields.size(); ++i) {
    const Json& field = fields[i];
    const std::string bytes =
        field["bytes"].is_null() ? "" : support::format_count(field["bytes"].get<int64_t>(), "byte");
    reporting::write_output("  {:<16} {:<8} {:<18} {}\n", field["name"].get<std::string>(),
                            field["dtype"].get<std::string>(),
                            to_string(components::sample_pattern(dataset.fields()[i])), bytes);
  }
  for (const auto& [field, names] : feed.class_names())
    reporting::write_output("  {}: {}\n", field, config::describe_classes(names));
  if (timing.is_null()) return;
  const auto number = [&](const char* name) { return timing[name].get<double>(); };
  const std::string busy = timing.contains("busy_share")
                               ? fmt::format("; workers busy {:.0f} % of the time", 100 * number("busy_share"))
                               : "";
  reporting::write_wrapped_output_text(fmt::format(
      "loader only, {}, {} prefetched, {:.1f} s; the first batch took {:.2f} s before that\n  {:.1f} samples/s, {:.1f} "
      "MB/s, {:.3g} ms per batch\n  {:.3g} ms to read and {:.3g} ms to pad per sample{}\n  the consumer waits {:.0f} % "
      "of the time\n",
      support::format_count(data.workers, "worker"), support::format_count(data.prefetch, "batch", "batches"),
      number("seconds"), number("first_batch_s"), number("samples_per_s"), number("bytes_per_s") / 1e6,
      1e3 * number("seconds") / std::max(number("batches"), 1.0), number("read_ms_per_sample"),
      number("complete_ms_per_sample"), busy, 100 * number("wait_share")));
}

// The samples of a loader: the batch transforms of the plan have not changed them.
void write_sheet(data::Feed& feed, config::RunPlan plan, int64_t samples, const std::string& page) {
  Sheet sheet(samples);
  const std::vector<int64_t> order = feed.sampler().order(1);
  feed.start(1);
  size_t first = 0;
  while (const data::Batch* batch = sheet.is_full() ? nullptr : feed.next()) {
    sheet.add(feed.dataset(), *batch, order, first);
    first += static_cast<size_t>(batch->size) + batch->skipped.size();
  }
  const std::string title = feed.dataset().name() + ": " + support::format_count(sheet.size(), "sample") + " of " +
                            feed.dataset().component().schema.id;
  plan.data.batch_transforms.clear();
  const auto details = reporting::find_image_details(plan, feed.dataset());
  artifacts::write_file_durably(page, sheet.make(title, feed.class_names(), details),
                                support::ErrorKind::configuration);
}

void add_data_options(AddOption& add) {
  add_run_file_options(add);
  add("data", text_value("NAME"),
      "dataset: train, validation, test, validation/NAME or test/NAME; default: train, or with --all each of them");
  add("all", "read every sample once; list the shapes, values and classes, and what is wrong");
  add("seconds", number_value("N")->default_value(5, "5"), "how long to time the loader; 0 skips the timing");
  add("step-ms", number_value("N")->default_value(0, "0"),
      "simulated duration of a training step: the consumer sleeps this long per batch");
  add("sheet", text_value("FILE.html"), "render the first samples of an epoch to this page");
  add("samples", integer_value("N")->default_value(32), "number of samples on the page");
  add_json_option(add);
}

double read_duration(const Arguments& arguments, const std::string& option) {
  const auto duration = arguments.get<double>(option);
  if (!(duration >= 0)) arguments.refuse("--" + option + " is " + std::to_string(duration), "0 or more");
  return duration;
}

std::vector<const config::NamedDataset*> list_others(const config::DataSection& data) {
  std::vector<const config::NamedDataset*> others;
  for (const auto* datasets : {&data.validation, &data.test})
    for (const config::NamedDataset& other : *datasets) others.push_back(&other);
  return others;
}

int check_all(const Arguments& arguments) {
  for (const char* option : {"sheet", "seconds", "step-ms", "samples"})
    if (arguments.is_given(option))
      arguments.refuse(std::string("--") + option + " is given with --all", "one of the two");
  const OpenedRunFile run = open_data_of_run_file(arguments.run_file());
  std::vector<const config::NamedDataset*> datasets;
  if (arguments.has("data")) {
    datasets.push_back(&find_dataset(run.plan, arguments.text("data")));
  } else {
    datasets = list_others(run.plan.data);
    datasets.insert(datasets.begin(), &run.plan.data.train);
  }
  catch_stop_signals();
  support::collect_warnings();
  const DataReport report = check_data(run, datasets);
  arguments.wants_json() ? reporting::write_output_json(describe_data_report(report)) : print_data_report(report);
  return stop_signal() != 0 ? 128 + stop_signal() : report.exit_code;
}

int show_data(const Arguments& arguments) {
  if (arguments.has("all")) return check_all(arguments);
  const double seconds = read_duration(arguments, "seconds"), step_ms = read_duration(arguments, "step-ms");
  const int64_t samples = arguments.count("samples", 1);
  const std::string page = arguments.text("sheet");
  const OpenedRunFile run = open_data_of_run_file(arguments.run_file());
  catch_stop_signals();
  support::collect_warnings();
  config::NamedDataset named = find_dataset(run.plan, arguments.get<std::string>("data", "train"));
  std::vector<Finding> findings;
  std::optional<TrainingData> train;
  if (named.name != run.plan.data.train.name) {
    train = open_training_data(run.plan, run.catalogue);
    add_warnings(run.plan.data.train.name, findings);
    use_training_data(named, *train);
  }
  components::prepare_dataset(run.catalogue.find(config::ComponentKind::dataset, named.use), named);
  data::Feed feed(run.catalogue, run.plan, named, {}, train ? &train->numbering : nullptr);
  if (!page.empty()) write_sheet(feed, run.plan, samples, page);
  LoaderTiming timing;
  if (seconds > 0) timing = time_loader(feed, seconds, step_ms / 1e3);

  add_warnings(named.name, findings);
  int exit_code = 0;
  if (!arguments.has("data")) {
    DataReport others = open_data(run, list_others(run.plan.data),
                                  describe_training_data(feed.dataset(), feed.class_names(), run.plan));
    findings.insert(findings.end(), others.findings.begin(), others.findings.end());
    exit_code = others.exit_code;
  }
  const Json fields = describe_fields(feed.dataset());
  const Json loader_timing = seconds > 0 ? describe_timing(timing, run.plan.data.workers) : Json();
  if (arguments.wants_json()) {
    reporting::write_output_json(Json{{"dataset", feed.dataset().name()},
                                      {"component", feed.dataset().component().schema.id},
                                      {"samples", feed.sampler().size()},
                                      {"batches", feed.batches()},
                                      {"batch_size", feed.batch_size()},
                                      {"workers", run.plan.data.workers},
                                      {"fields", fields},
                                      {"class_names", feed.class_names()},
                                      {"skipped_samples", feed.skipped()},
                                      {"loader", loader_timing},
                                      {"findings", describe_findings(findings)}});
  } else {
    print_text(feed, run.plan.data, fields, loader_timing);
    if (!page.empty()) reporting::write_output("samples rendered to {}\n", page);
    if (!findings.empty()) print_findings(findings);
  }
  return stop_signal() != 0 ? 128 + stop_signal() : exit_code;
}

}  // namespace

extern const Command data_command{
    .name = "data",
    .needed = "--config FILE",
    .purpose = "show the samples of a dataset and time its loader",
    .details =
        "Shows the first samples of a dataset with their dtypes, shapes and ranges. "
        "Times the loader without a model. The run file needs only [data]. --sheet renders the "
        "samples to a page. --all reads every sample of every dataset once instead, and lists "
        "what is wrong: exit code 4 if a sample cannot be read.",
    .page = "guides/data.md",
    .add_options = add_data_options,
    .run = show_data};

}  // namespace tenon::host
