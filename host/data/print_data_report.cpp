#include "host/data/print_data_report.h"

#include <algorithm>
#include <cstdio>
#include <string>

#include "framework/components/calls/ports.h"
#include "framework/reporting/terminal/text_table.h"
#include "framework/reporting/terminal/write_output.h"
#include "framework/support/text/format_values.h"
#include "framework/support/text/terminal.h"

namespace tenon::host {

namespace {

using data::FieldSummary;
using Json = nlohmann::ordered_json;

bool has_values(const FieldSummary& field) { return field.smallest() <= field.largest(); }

std::string format_values(const FieldSummary& field) {
  if (!has_values(field)) return "no finite values";
  char text[80];
  std::snprintf(text, sizeof text, "%.6g to %.6g", field.smallest(), field.largest());
  return text;
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

}  // namespace

std::string format_shape_range(const std::vector<int64_t>& smallest, const std::vector<int64_t>& largest) {
  std::string text;
  for (size_t i = 0; i < smallest.size(); ++i)
    text += (i == 0 ? "" : ", ") + std::to_string(smallest[i]) +
            (largest[i] == smallest[i] ? "" : "-" + std::to_string(largest[i]));
  return "[" + text + "]";
}

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
        "%s: %s, %s read%s\n", dataset.name.c_str(), dataset.component.c_str(),
        support::format_count(dataset.samples, "sample").c_str(),
        dataset.unreadable == 0 ? "" : (", " + std::to_string(dataset.unreadable) + " cannot be read").c_str());
    using enum reporting::TextTable::Align;
    reporting::TextTable table({left, left, left, left, left});
    for (const FieldSummary& field : dataset.fields)
      table.add({field.field().name, components::dtype_name(field.field().dtype),
                 format_shape_range(field.smallest_shape(), field.largest_shape()), format_values(field),
                 format_classes(field, dataset.class_names)});
    reporting::write_wrapped_output_text(table.print("  "));
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

}  // namespace tenon::host
