#include "host/data/check_data.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "framework/components/calls/ports.h"
#include "framework/components/kinds/dataset.h"
#include "framework/data/feed.h"
#include "framework/support/diagnostics/error.h"
#include "framework/support/diagnostics/log.h"
#include "framework/support/text/format_values.h"
#include "host/process/signals.h"

namespace tenon::host {

namespace {

using data::FieldSummary;
using data::SampleList;

// One sample at a time, so that a batch has the shape of its sample, and in the order of the dataset.
config::RunPlan plan_reading(const config::RunPlan& plan) {
  config::RunPlan reading = plan;
  config::DataSection& data = reading.data;
  data.batch_size = data.validation_batch_size = 1;
  data.prefetch = 64;
  data.shuffle = data.drop_last = false;
  data.sampler = config::SamplerKind::uniform;
  data.repeated_augmentation = 1;
  data.limit_batches = data.validation_limit_batches = data.test_limit_batches = 0;
  data.on_error = config::OnError::skip;
  return reading;
}

// A line on the terminal that is drawn again. Draws nothing elsewhere.
class ProgressLine {
 public:
  ProgressLine(std::string name, int64_t total) : name_(std::move(name)), total_(total) {}
  ~ProgressLine() {
    if (is_drawn_) std::fputs("\r\033[K", stderr);
  }
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  void show(int64_t done) {
    const auto now = std::chrono::steady_clock::now();
    if (!is_terminal_ || now < next_) return;
    next_ = now + std::chrono::milliseconds(100);
    is_drawn_ = true;
    std::fprintf(stderr, "\r\033[K%s: %lld of %s", name_.c_str(), static_cast<long long>(done),
                 support::format_count(total_, "sample").c_str());
  }

 private:
  std::string name_;
  int64_t total_;
  bool is_terminal_ = isatty(STDERR_FILENO) == 1;
  bool is_drawn_ = false;
  std::chrono::steady_clock::time_point next_;
};

std::string name_sample(const components::Dataset& dataset, int64_t sample) {
  return dataset.names_samples() ? dataset.name_sample(sample) : "sample " + std::to_string(sample);
}

// "3 samples (a.png, b.png, c.png)".
std::string describe_samples(const components::Dataset& dataset, const SampleList& samples) {
  std::string text = support::format_count(samples.count, "sample") + " (";
  for (size_t i = 0; i < samples.first.size(); ++i)
    text += (i == 0 ? "" : ", ") + name_sample(dataset, samples.first[i]);
  return text + (samples.count > std::ssize(samples.first) ? ", ...)" : ")");
}

// The names of the classes that no sample has, or their numbers; at most ten.
std::string list_missing_classes(const FieldSummary& field, const config::ClassNames& names) {
  const auto named = names.find(field.field().name);
  std::string text;
  int64_t missing = 0;
  for (size_t i = 0; i < field.class_samples().size(); ++i) {
    if (field.class_samples()[i] > 0 || ++missing > 10) continue;
    text += (text.empty() ? "" : ", ") + (named == names.end() ? std::to_string(i) : '"' + named->second[i] + '"');
  }
  return missing > 10 ? text + " and " + std::to_string(missing - 10) + " more" : text;
}

std::vector<std::string> find_suspicious(const components::Dataset& dataset, const FieldSummary& field,
                                         bool is_training, const config::ClassNames& names) {
  std::vector<std::string> found;
  const std::string start = field.field().name + ": ";
  int64_t varying = 0;
  for (size_t i = 0; i < field.smallest_shape().size(); ++i)
    varying += field.smallest_shape()[i] != field.largest_shape()[i];
  if (field.non_finite().count > 0)
    found.push_back(start + describe_samples(dataset, field.non_finite()) +
                    " with values that are NaN or infinite; expected finite values: correct or remove them");
  constexpr size_t kImageDimensions = 3;  // other fields with one extent that varies are sequences
  if (varying >= (field.smallest_shape().size() == kImageDimensions ? 1 : 2))
    found.push_back(
        fmt::format("{}the samples have shapes from {} to {}, and a batch pads them to its largest, so results can "
                    "depend on the batch size; expected one shape: add transforms such as resize and center_crop",
                    start, to_string(components::exact_shape(field.smallest_shape())),
                    to_string(components::exact_shape(field.largest_shape()))));
  if (const std::string missing = list_missing_classes(field, names); is_training && !missing.empty())
    found.push_back(start + "no sample has the class " + missing +
                    "; expected samples of every class: check the paths and the class names");
  if (field.smallest() == field.largest() && field.class_samples().empty())
    found.push_back(start + "all values are " + std::to_string(field.smallest()) +
                    "; expected different ones: check the files and the transforms");
  return found;
}

class Checker {
 public:
  // `train`: empty: not opened yet.
  Checker(const OpenedRunFile& run, std::optional<TrainingData> train)
      : run_(run), reading_(plan_reading(run.plan)), train_(std::move(train)), has_tried_train_(train_.has_value()) {}

  void read(const config::NamedDataset& named) {
    open_train_before(named);
    attempt(named.name, [&] { open_and_read(named); });
  }

  void open(const config::NamedDataset& named) {
    open_train_before(named);
    attempt(named.name, [&] { open_feed(named, run_.plan); });
  }

  DataReport take() { return std::move(report_); }

 private:
  bool is_training(const config::NamedDataset& named) const { return named.name == run_.plan.data.train.name; }

  template <class Call>
  void attempt(const std::string& dataset, const Call& call) {
    try {
      call();
    } catch (const support::Error& error) {
      add_error(dataset, error.what(), error.exit_code());
    }
    add_warnings(dataset, report_.findings);
  }

  // The other datasets are read as the training data.
  void open_train_before(const config::NamedDataset& named) {
    if (!std::exchange(has_tried_train_, true) && !is_training(named))
      attempt(run_.plan.data.train.name, [&] { train_ = open_training_data(run_.plan, run_.catalogue); });
  }

  std::unique_ptr<data::Feed> open_feed(config::NamedDataset named, const config::RunPlan& plan) {
    if (train_) use_training_data(named, *train_);
    components::prepare_dataset(run_.catalogue.find(config::ComponentKind::dataset, named.use), named);
    auto feed =
        std::make_unique<data::Feed>(run_.catalogue, plan, named, data::Share{}, train_ ? &train_->numbering : nullptr);
    if (is_training(named)) {
      train_ = describe_training_data(feed->dataset(), feed->class_names(), plan);
      report_number_order(plan, feed->class_names());
    }
    add_warnings(named.name, report_.findings);
    return feed;
  }

  void add_error(const std::string& dataset, const std::string& message, int exit_code) {
    report_.findings.push_back({true, dataset, message});
    if (report_.exit_code == 0) report_.exit_code = exit_code;
  }

  void warn(const std::string& dataset, const std::string& message) {
    report_.findings.push_back({false, dataset, message});
  }

  void open_and_read(const config::NamedDataset& named) {
    const std::unique_ptr<data::Feed> opened = open_feed(named, reading_);
    data::Feed& feed = *opened;
    CheckedDataset checked{.name = named.name, .component = feed.dataset().component().schema.id};
    checked.class_names = feed.class_names();
    const std::map<std::string, ClassTarget> targets = find_class_targets(run_, feed.dataset().fields());
    for (size_t i = 0; i < feed.dataset().fields().size(); ++i) {
      const auto target = targets.find(feed.dataset().fields()[i].name);
      const ClassTarget known = target == targets.end() ? ClassTarget() : target->second;
      const int64_t declared = count_classes(feed, i);
      checked.fields.emplace_back(feed.dataset().fields()[i], declared > 0 ? declared : known.classes, known.ignored);
    }
    read_samples(feed, checked);
    add_warnings(named.name, report_.findings);
    for (const FieldSummary& field : checked.fields) {
      if (field.without_class().count > 0) report_without_class(feed.dataset(), field, targets);
      for (const std::string& message : find_suspicious(feed.dataset(), field, is_training(named), checked.class_names))
        warn(named.name, message);
    }
    if (is_training(named)) check_last_batch(named.name, checked.samples + checked.unreadable);
    report_.datasets.push_back(std::move(checked));
  }

  static int64_t count_classes(const data::Feed& feed, size_t field) {
    const components::Dataset& dataset = feed.dataset();
    if (const auto names = feed.class_names().find(dataset.fields()[field].name); names != feed.class_names().end())
      return std::ssize(names->second);
    const auto list = std::ranges::find(dataset.classes(), field, &components::ClassList::field);
    return list == dataset.classes().end() ? 0 : list->count;
  }

  // The loader itself: the feed would log the first samples that cannot be read, and end if there are only such.
  void read_samples(data::Feed& feed, CheckedDataset& checked) {
    const std::vector<int64_t> order = feed.sampler().order(1);
    ProgressLine progress(checked.name, std::ssize(order));
    feed.loader().start(order, 1);
    for (size_t place = 0; stop_signal() == 0; ++place) {
      const data::Batch* const batch = feed.loader().next();
      if (!batch) break;
      progress.show(static_cast<int64_t>(place));
      for (const data::SkippedSample& sample : batch->skipped)
        add_error(checked.name, sample.reason, static_cast<int>(support::ErrorKind::data));
      checked.unreadable += std::ssize(batch->skipped);
      checked.samples += batch->size;
      for (size_t i = 0; i < batch->fields.size(); ++i)
        checked.fields[i].add(order[place], std::span(batch->fields[i].shape).subspan(1), batch->fields[i].data);
    }
  }

  // A loss refuses the batch with such a sample.
  void report_without_class(const components::Dataset& dataset, const FieldSummary& field,
                            const std::map<std::string, ClassTarget>& targets) {
    const std::string message = fmt::format(
        "{}: {} with numbers that are none of the {} classes; expected numbers below that, or a loss that ignores the "
        "others",
        field.field().name, describe_samples(dataset, field.without_class()), field.class_samples().size());
    if (targets.contains(field.field().name))
      add_error(dataset.name(), message, static_cast<int>(support::ErrorKind::data));
    else
      warn(dataset.name(), message);
  }

  void check_last_batch(const std::string& name, int64_t samples) {
    const config::DataSection& data = run_.plan.data;
    if (data.drop_last || data.batch_size == 1 || samples % data.batch_size != 1) return;
    warn(name, fmt::format("the last of {} of {} has one sample, with which batch normalisation cannot train; if the "
                           "model has it, set data.drop_last = true or another data.batch_size",
                           support::format_count(samples / data.batch_size + 1, "batch", "batches"), data.batch_size));
  }

  const OpenedRunFile& run_;
  config::RunPlan reading_;
  std::optional<TrainingData> train_;  // once they are open
  bool has_tried_train_;
  DataReport report_;
};

}  // namespace

DataReport check_data(const OpenedRunFile& run, const std::vector<const config::NamedDataset*>& datasets) {
  Checker checker(run, std::nullopt);
  for (const config::NamedDataset* named : datasets)
    if (stop_signal() == 0) checker.read(*named);
  return checker.take();
}

DataReport open_data(const OpenedRunFile& run, const std::vector<const config::NamedDataset*>& datasets,
                     TrainingData train) {
  Checker checker(run, std::move(train));
  for (const config::NamedDataset* named : datasets) checker.open(*named);
  return checker.take();
}

void add_warnings(const std::string& dataset, std::vector<Finding>& findings) {
  const std::string name = dataset + ": ";  // findings have it anyway
  for (std::string& warning : support::take_warnings())
    findings.push_back({false, dataset, warning.starts_with(name) ? warning.substr(name.size()) : std::move(warning)});
}

}  // namespace tenon::host
