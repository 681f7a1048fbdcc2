#include "host/data/data_report.h"

#include <algorithm>
#include <chrono>
#include <string>
#include <thread>

#include "framework/components/calls/ports.h"
#include "framework/reporting/terminal/write_output.h"
#include "framework/support/text/format.h"
#include "framework/support/text/format_values.h"
#include "host/process/signals.h"

namespace tenon::host {

namespace {

using data::FieldSummary;
using Json = nlohmann::ordered_json;

bool has_values(const FieldSummary& field) { return field.smallest() <= field.largest(); }

std::string format_values(const FieldSummary& field) {
  return has_values(field) ? fmt::format("{:.6g} to {:.6g}", field.smallest(), field.largest()) : "no finite values";
}

// "[3, 20-64, 48]": the extents of the smallest and the largest sample.
std::string format_shape_range(const std::vector<int64_t>& smallest, const std::vector<int64_t>& largest) {
  std::string text;
  for (size_t i = 0; i < smallest.size(); ++i)
    text += (i == 0 ? "" : ", ") + std::to_string(smallest[i]) +
            (largest[i] == smallest[i] ? "" : "-" + std::to_string(largest[i]));
  return "[" + text + "]";
}

// "cat 500, dog 600": the samples of each class.
std::string format_classes(const FieldSummary& field, const config::ClassNames& names) {
  constexpr size_t kMost = 20;
  const auto named = names.find(field.field().name);
  const std::vector<int64_t>& samples = field.class_samples();
  std::string text;
  for (size_t i = 0; i < std::min(samples.size(), kMost); ++i)
    text += (text.empty() ? "" : ", ") + (named == names.end() ? std::to_string(i) : named->second[i]) + " " +
            std::to_string(samples[i]);
  return samples.size() > kMost ? text + ", ..." : text;
}

Json describe_field(const FieldSummary& field, const config::ClassNames& names) {
  Json json{{"name", field.field().name},
            {"dtype", components::dtype_name(field.field().dtype)},
            {"smallest_shape", field.smallest_shape()},
            {"largest_shape", field.largest_shape()},
            {"smallest", has_values(field) ? Json(field.smallest()) : Json()},
            {"largest", has_values(field) ? Json(field.largest()) : Json()},
            {"samples_not_finite", field.non_finite().count}};
  if (field.class_samples().empty()) return json;
  json["samples_without_class"] = field.without_class().count;
  json["samples_of_classes"] = field.class_samples();
  if (const auto named = names.find(field.field().name); named != names.end()) json["class_names"] = named->second;
  return json;
}

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

int64_t count_bytes(const components::Dataset& dataset, const data::Batch& batch) {
  int64_t bytes = 0;
  for (size_t k = 0; k < batch.fields.size(); ++k) {
    int64_t field = static_cast<int64_t>(dataset.fields()[k].element_bytes);
    for (const int64_t extent : batch.fields[k].shape) field *= extent;
    bytes += field;
  }
  return bytes;
}

}  // namespace

void print_findings(const std::vector<Finding>& findings) {
  const auto errors = std::ranges::count(findings, true, &Finding::is_error);
  std::string text;
  for (const bool is_error : {true, false})
    for (const Finding& finding : findings)
      if (finding.is_error == is_error)
        text += std::string(is_error ? "error: " : "warning: ") + finding.dataset + ": " + finding.message + "\n";
  reporting::write_wrapped_output_text(text + support::format_count(errors, "error") + ", " +
                                       support::format_count(std::ssize(findings) - errors, "warning") + "\n");
}

Json describe_findings(const std::vector<Finding>& findings) {
  Json json = Json::array();
  for (const Finding& finding : findings)
    json.push_back({{"level", finding.is_error ? "error" : "warning"},
                    {"dataset", finding.dataset},
                    {"message", finding.message}});
  return json;
}

void print_data_report(const DataReport& report) {
  for (const CheckedDataset& dataset : report.datasets) {
    reporting::write_output(
        "{}: {}, {} read{}\n", dataset.name, dataset.component, support::format_count(dataset.samples, "sample"),
        dataset.unreadable == 0 ? "" : (", " + std::to_string(dataset.unreadable) + " cannot be read"));
    reporting::TextTable table("lllll");
    for (const FieldSummary& field : dataset.fields)
      table.add({field.field().name, components::dtype_name(field.field().dtype),
                 format_shape_range(field.smallest_shape(), field.largest_shape()), format_values(field),
                 format_classes(field, dataset.class_names)});
    reporting::write_wrapped_output_text(table.format("  "));
  }
  print_findings(report.findings);
}

Json describe_data_report(const DataReport& report) {
  Json datasets = Json::array();
  for (const CheckedDataset& dataset : report.datasets) {
    Json fields = Json::array();
    for (const FieldSummary& field : dataset.fields) fields.push_back(describe_field(field, dataset.class_names));
    datasets.push_back({{"dataset", dataset.name},
                        {"component", dataset.component},
                        {"samples", dataset.samples},
                        {"unreadable", dataset.unreadable},
                        {"fields", fields}});
  }
  return {{"datasets", datasets}, {"findings", describe_findings(report.findings)}};
}

LoaderTiming time_loader(data::Feed& feed, double seconds, double step_s) {
  LoaderTiming timing;
  auto begin = Clock::now();
  data::LoaderTimes before{};
  bool is_first = true;
  for (int64_t epoch = 1; is_first || timing.seconds < seconds; ++epoch) {
    feed.start(epoch);
    while (const data::Batch* batch = feed.next()) {
      const auto taken = Clock::now();
      if (is_first) {
        timing.first_batch_s = seconds_since(begin);
        before = feed.loader().times();
        begin = taken;
        is_first = false;
      } else {
        ++timing.batches;
        timing.samples += batch->size;
        timing.bytes += count_bytes(feed.dataset(), *batch);
      }
      if (step_s > 0) std::this_thread::sleep_for(std::chrono::duration<double>(step_s));
      timing.seconds = seconds_since(begin);
      if (timing.seconds >= seconds || stop_signal() != 0) break;
    }
    if (stop_signal() != 0) break;
  }
  timing.times = feed.loader().times() - before;
  return timing;
}

nlohmann::ordered_json describe_timing(const LoaderTiming& timing, int64_t workers) {
  const data::LoaderTimes& times = timing.times;
  const double samples = static_cast<double>(std::max<int64_t>(timing.samples, 1));
  const double thread_s = times.reading_s + times.completing_s + times.idle_s;
  nlohmann::ordered_json json{{"seconds", timing.seconds},
                              {"first_batch_s", timing.first_batch_s},
                              {"samples", timing.samples},
                              {"batches", timing.batches},
                              {"bytes", timing.bytes},
                              {"samples_per_s", static_cast<double>(timing.samples) / timing.seconds},
                              {"bytes_per_s", static_cast<double>(timing.bytes) / timing.seconds},
                              {"read_ms_per_sample", 1e3 * times.reading_s / samples},
                              {"complete_ms_per_sample", 1e3 * times.completing_s / samples},
                              {"wait_share", times.waiting_s / timing.seconds}};
  if (workers > 0) json["busy_share"] = thread_s > 0 ? 1 - times.idle_s / thread_s : 0;
  return json;
}

}  // namespace tenon::host
