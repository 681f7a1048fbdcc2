// `host profile`: measures the parameters, operations, memory and time of a model.
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "framework/profiling/profile_model.h"
#include "framework/reporting/terminal/write_output.h"
#include "framework/support/text/format.h"
#include "framework/support/text/format_values.h"
#include "host/command_line/command.h"
#include "host/training/open_run.h"

namespace tenon::host {

namespace {

using Json = nlohmann::ordered_json;
using profiling::ModelProfile;
using profiling::ModuleProfile;

constexpr size_t kMaxRows = 24;
constexpr size_t kDeepestModule = 16;

std::string format_share(double part, double whole) {
  return fmt::format("{:.1f} %", whole > 0 ? 100 * part / whole : 0);
}

// Groups modules by `depth`, or by as many parts of their names as the maximum number of rows allows.
std::vector<ModuleProfile> choose_rows(const ModelProfile& profile, int64_t depth) {
  if (depth > 0) return profiling::group_modules(profile.modules, static_cast<size_t>(depth));
  size_t parts = kDeepestModule;
  std::vector<ModuleProfile> rows = profiling::group_modules(profile.modules, parts);
  while (rows.size() > kMaxRows && parts > 1) rows = profiling::group_modules(profile.modules, --parts);
  return rows;
}

void print_modules(const ModelProfile& profile, int64_t depth) {
  reporting::TextTable table("lrrrrr");
  table.add({"module", "parameters", "size", "MACs", "", "time"});
  const auto add = [&](const std::string& name, const ModuleProfile& row) {
    table.add({name, row.bytes > 0 ? reporting::group_digits(static_cast<uint64_t>(row.parameters)) : "",
               row.bytes > 0 ? support::format_bytes(static_cast<uint64_t>(row.bytes)) : "",
               support::format_scaled(static_cast<double>(row.macs)),
               format_share(static_cast<double>(row.macs), static_cast<double>(profile.total.macs)),
               format_share(row.seconds, profile.total.seconds)});
  };
  for (const ModuleProfile& row : choose_rows(profile, depth)) add(row.name.empty() ? "(model)" : row.name, row);
  add("total", profile.total);
  reporting::write_output("{}\n", table.format("  "));
}

void print_counts(const ModelProfile& profile) {
  reporting::TextTable table("lrr");
  const auto add = [&](const char* what, double of_batch) {
    table.add({what, support::format_scaled(of_batch / static_cast<double>(profile.batch_size)),
               support::format_scaled(of_batch)});
  };
  const auto forward = static_cast<double>(profile.total.macs);
  table.add({"", "per sample", "per batch"});
  add("MACs forward", forward);
  add("FLOPs forward", 2 * forward);
  add("FLOPs of a training step", 2 * static_cast<double>(profile.step_macs));
  reporting::write_output("{}\n", table.format("  "));
  for (const std::string& name : profile.uncounted)
    reporting::write_output("  the cost of {} is unknown and not included\n", name);
}

void print_memory(const ModelProfile& profile) {
  reporting::TextTable table("lr");
  const auto add = [&](const char* what, int64_t bytes) {
    table.add({what, support::format_bytes(static_cast<uint64_t>(std::max<int64_t>(bytes, 0)))});
  };
  add("weights", profile.total.bytes);
  add("optimizer state and gradients between steps", profile.state_bytes);
  add("saved for backward", profile.saved_for_backward);
  add("peak in training, total", profile.total.bytes + profile.state_bytes + profile.step_peak_bytes);
  add("peak in evaluation, with the weights", profile.total.bytes + profile.evaluation_peak_bytes);
  reporting::write_output("{}\n", table.format("  "));
}

// The time of a training step in each memory format, by the syntax of the run file; empty unless requested.
using StepTimes = std::vector<std::pair<std::string, profiling::Latency>>;

void print_latency(const ModelProfile& profile, const StepTimes& by_format) {
  reporting::TextTable table("lrrrrr");
  table.add({"", "median", "10 %", "90 %", "best", "samples/s"});
  const auto add = [&](const char* what, const profiling::Latency& latency) {
    table.add({what, support::format_time(latency.median), support::format_time(latency.tenth),
               support::format_time(latency.ninetieth), support::format_time(latency.least),
               support::format_scaled(static_cast<double>(profile.batch_size) / latency.median)});
  };
  add("forward in evaluation", profile.evaluation);
  add("training step", profile.step);
  for (const auto& [format, latency] : by_format) add(("training step, " + format).c_str(), latency);
  reporting::write_output("{}", table.format("  "));
}

void print_text(const ModelProfile& profile, const StepTimes& by_format, const OpenedRunFile& opened, int64_t depth) {
  std::string inputs;
  for (const auto& [name, shape] : profile.inputs) {
    inputs += (inputs.empty() ? "" : ", ") + name + " [";
    for (size_t i = 0; i < shape.size(); ++i) inputs += (i == 0 ? "" : ", ") + std::to_string(shape[i]);
    inputs += "]";
  }
  reporting::write_output("{} on {}: {} in {}\n", opened.plan.model.use, describe_device(opened.device.device), inputs,
                          to_string(opened.plan.train.precision));
  print_modules(profile, depth);
  print_counts(profile);
  print_memory(profile);
  print_latency(profile, by_format);
}

Json to_json(const ModuleProfile& module) {
  return {{"name", module.name},
          {"parameters", module.parameters},
          {"bytes", module.bytes},
          {"macs", module.macs},
          {"seconds", module.seconds}};
}

Json to_json(const profiling::Latency& latency) {
  return {{"median", latency.median},
          {"percentile_10", latency.tenth},
          {"percentile_90", latency.ninetieth},
          {"least", latency.least}};
}

void print_json(const ModelProfile& profile, const StepTimes& by_format, const OpenedRunFile& opened) {
  Json json{{"model", opened.plan.model.use},
            {"device", describe_device(opened.device.device)},
            {"precision", to_string(opened.plan.train.precision)},
            {"batch_size", profile.batch_size},
            {"inputs", Json::object()},
            {"parameters", profile.total.parameters},
            {"bytes", profile.total.bytes},
            {"forward_macs", profile.total.macs},
            {"forward_flops", 2 * profile.total.macs},
            {"step_flops", 2 * profile.step_macs},
            {"uncounted", profile.uncounted},
            {"memory",
             {{"between_steps", profile.state_bytes},
              {"kept_for_backward", profile.saved_for_backward},
              {"step_peak", profile.step_peak_bytes},
              {"evaluation_peak", profile.evaluation_peak_bytes}}},
            {"evaluation_seconds", to_json(profile.evaluation)},
            {"step_seconds", to_json(profile.step)},
            {"modules", Json::array()}};
  for (const auto& [format, latency] : by_format) json["step_seconds_by_memory_format"][format] = to_json(latency);
  for (const auto& [name, shape] : profile.inputs) json["inputs"][name] = shape;
  for (const ModuleProfile& module : profile.modules) json["modules"].push_back(to_json(module));
  reporting::write_output_json(json);
}

void add_profile_options(AddOption& add) {
  add_run_file_options(add);
  add("batch-size", integer_value("N"), "samples in the batch; default: data.batch_size");
  add("repeats", integer_value("N")->default_value(20), "number of timed steps and evaluations");
  add("depth", integer_value("N"), "depth of the module tree to show: the number of parts of a module's name");
  add("memory-formats", "also time training steps with each train.memory_format");
  add_json_option(add);
}

ModelProfile build_and_profile(const OpenedRunFile& opened, int64_t repeats) {
  pipeline::Training training = pipeline::build_training(opened.plan, opened.catalogue, opened.device.device);
  return profiling::profile_model(training, repeats);
}

StepTimes time_memory_formats(OpenedRunFile& opened, int64_t repeats) {
  using config::MemoryFormat;
  StepTimes times;
  for (const MemoryFormat format : {MemoryFormat::contiguous, MemoryFormat::channels_last}) {
    opened.plan.train.memory_format = format;
    times.emplace_back(to_string(format), build_and_profile(opened, repeats).step);
  }
  return times;
}

int profile(const Arguments& arguments) {
  OpenedRunFile opened = open_run_file(arguments.run_file(), Computes::yes);
  prepare_profile(opened.plan, arguments.count("batch-size", 1));
  const int64_t repeats = arguments.count("repeats", 1);
  const ModelProfile profile = build_and_profile(opened, repeats);
  const StepTimes by_format = arguments.has("memory-formats") ? time_memory_formats(opened, repeats) : StepTimes{};
  arguments.wants_json() ? print_json(profile, by_format, opened)
                         : print_text(profile, by_format, opened, arguments.count("depth", 1));
  return 0;
}

}  // namespace

extern const Command profile_command{.name = "profile",
                                     .needed = "--config FILE",
                                     .purpose = "measure the model's operations, memory and time",
                                     .details =
                                         "Counts parameters, multiplications and memory of each module from the "
                                         "operators that run. Times training steps and evaluation.",
                                     .page = "guides/profile.md",
                                     .add_options = add_profile_options,
                                     .run = profile,
                                     .is_for_one_process = true};

}  // namespace tenon::host
