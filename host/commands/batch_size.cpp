// `host batch-size`: finds the largest batch size that fits into memory.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "framework/config/file/usable_resources.h"
#include "framework/pipeline/device/device_error.h"
#include "framework/pipeline/device/device_memory.h"
#include "framework/profiling/batch_size_search.h"
#include "framework/profiling/profile_model.h"
#include "framework/reporting/terminal/write_output.h"
#include "framework/support/diagnostics/error.h"
#include "framework/support/text/format_values.h"
#include "host/command_line/command.h"
#include "host/training/open_run.h"

namespace tenon::host {

namespace {

using profiling::BatchSizeSearch;
using profiling::BatchSizeTrial;

constexpr double kGibibyte = 1024.0 * 1024.0 * 1024.0;
constexpr double kUsedShare = 0.9;  // of the free memory; the rest is for libraries and fragmentation
constexpr double kSaturated = 0.95;

void add_batch_size_options(AddOption& add) {
  add_run_file_options(add);
  add("memory", number_value("GIB"),
      "memory for weights, optimizer state and activations; default: 90 % of the free memory");
  add("repeats", integer_value("N")->default_value(5), "number of timed steps per batch size");
  add_json_option(add);
}

int64_t find_memory_limit(const Arguments& arguments, const support::ComputeDevice& device) {
  const auto gibibytes = arguments.get<double>("memory");
  if (arguments.has("memory") && !(gibibytes > 0 && gibibytes <= 1e6))
    arguments.refuse("--memory is " + config::to_toml(gibibytes), "a number of GiB above 0");
  const auto free = device.is_cuda() ? pipeline::free_memory({c10::kCUDA, static_cast<c10::DeviceIndex>(device.index)})
                                     : config::read_usable_memory();
  if (!free && !arguments.has("memory"))
    arguments.refuse("--memory is missing, and the system does not report its free memory", "--memory GIB");
  const double usable = free ? kUsedShare * static_cast<double>(*free) : gibibytes * kGibibyte;
  return static_cast<int64_t>(arguments.has("memory") ? std::min(usable, gibibytes * kGibibyte) : usable);
}

pipeline::Training build_for(OpenedRunFile& opened, int64_t batch_size) {
  opened.plan.data.batch_size = batch_size;
  return pipeline::build_training(opened.plan, opened.catalogue, opened.device.device);
}

// host_batches: number of batches in host memory that count.
std::optional<BatchSizeTrial> measure_batch_size(OpenedRunFile& opened, int64_t batch_size, int64_t host_batches,
                                                 int64_t repeats) {
  try {
    pipeline::Training training = build_for(opened, batch_size);
    const profiling::StepProfile profile = profiling::profile_steps(training, repeats);
    const int64_t loaded = host_batches * profile.batch_bytes;
    return BatchSizeTrial{batch_size, profile.fixed_bytes, profile.saved_bytes + loaded, profile.peak_bytes + loaded,
                          profile.step.median};
  } catch (const std::exception& error) {
    if (!opened.device.device.is_cuda() || !pipeline::is_out_of_memory(error)) throw;
    return std::nullopt;
  }
}

double throughput_of(const BatchSizeTrial& trial) { return static_cast<double>(trial.batch_size) / trial.step_seconds; }

// The smallest batch size with a throughput near the best. REQUIRES: a size that fits.
int64_t find_saturation(const BatchSizeSearch& search) {
  double best = 0;
  for (const BatchSizeTrial& trial : search.trials)
    if (trial.batch_size <= search.largest) best = std::max(best, throughput_of(trial));
  const auto found = std::ranges::find_if(
      search.trials, [&](const BatchSizeTrial& trial) { return throughput_of(trial) >= kSaturated * best; });
  return found->batch_size;
}

std::string format_size(int64_t bytes) { return support::format_bytes(static_cast<uint64_t>(bytes)); }

void print_batch_sizes(const BatchSizeSearch& search, int64_t limit, const OpenedRunFile& opened) {
  reporting::write_output("{} on {} in {}, with {} of memory\n", opened.plan.model.use,
                          describe_device(opened.device.device), to_string(opened.plan.train.precision),
                          format_size(limit));
  reporting::TextTable table("rrrrrl");
  table.add({"batch size", "peak memory", "step", "per sample", "samples/s", ""});
  for (const BatchSizeTrial& trial : search.trials)
    table.add({std::to_string(trial.batch_size), format_size(trial.peak_bytes),
               support::format_time(trial.step_seconds),
               support::format_time(trial.step_seconds / static_cast<double>(trial.batch_size)),
               support::format_scaled(throughput_of(trial)), trial.batch_size > search.largest ? "does not fit" : ""});
  reporting::write_output("{}\n", table.format("  "));
  if (search.has_all_samples)
    reporting::write_output("a batch of {} has all samples of an epoch, and fits\n", search.largest);
  else
    reporting::write_output("the largest batch size that fits is {}\n", search.largest);
  reporting::write_output("from {} on, the throughput is within 5 % of the best\n", find_saturation(search));
  reporting::write_output(
      "in [data]: batch_size = {}, or --set data.batch_size={}; adapt optimizer.lr to the batch size\n", search.largest,
      search.largest);
}

void print_batch_sizes_json(const BatchSizeSearch& search, int64_t limit, const OpenedRunFile& opened) {
  nlohmann::ordered_json json{{"model", opened.plan.model.use},
                              {"device", describe_device(opened.device.device)},
                              {"precision", to_string(opened.plan.train.precision)},
                              {"memory_limit", limit},
                              {"batch_size", search.largest},
                              {"has_all_samples", search.has_all_samples},
                              {"saturated_from", find_saturation(search)},
                              {"trials", nlohmann::ordered_json::array()}};
  for (const BatchSizeTrial& trial : search.trials)
    json["trials"].push_back({{"batch_size", trial.batch_size},
                              {"fits", trial.batch_size <= search.largest},
                              {"peak", trial.peak_bytes},
                              {"between_steps", trial.fixed_bytes},
                              {"kept_for_backward", trial.saved_bytes},
                              {"step_seconds", trial.step_seconds}});
  reporting::write_output_json(json);
}

[[noreturn]] void refuse_memory(const BatchSizeSearch& search, int64_t limit) {
  const std::string need =
      search.trials.empty() ? "" : ": a training step of one sample takes " + format_size(search.trials[0].peak_bytes);
  throw support::Error(support::ErrorKind::out_of_memory,
                       "no batch size fits into {}{}; expected more memory (--memory), a smaller model, or "
                       "train.activation_checkpointing = true",
                       format_size(limit), need);
}

int find_batch_size(const Arguments& arguments) {
  const int64_t repeats = arguments.count("repeats", 1);
  OpenedRunFile opened = open_run_file(arguments.run_file(), Computes::yes);
  prepare_profile(opened.plan, 0);
  // On the CPU, the batch and those that workers read ahead take the same memory as the model.
  const int64_t read_ahead = opened.plan.data.workers > 0 ? opened.plan.data.prefetch : 0;
  const int64_t host_batches = opened.device.device.is_cuda() ? 0 : 1 + read_ahead;
  opened.plan.data.workers = 0;  // each measurement reads one batch
  const int64_t limit = find_memory_limit(arguments, opened.device.device);
  const int64_t samples = build_for(opened, 1).train->feed.sampler().size();
  const BatchSizeSearch search = profiling::search_batch_size({limit, samples}, [&](int64_t batch_size) {
    return measure_batch_size(opened, batch_size, host_batches, repeats);
  });
  if (search.largest == 0) refuse_memory(search, limit);
  arguments.wants_json() ? print_batch_sizes_json(search, limit, opened) : print_batch_sizes(search, limit, opened);
  return 0;
}

}  // namespace

extern const Command batch_size_command{
    .name = "batch-size",
    .needed = "--config FILE",
    .purpose = "find the largest batch size that fits into memory",
    .details =
        "Measures training steps with growing batch sizes and shows the peak memory and the time of each. Changes "
        "no files.",
    .page = "guides/profile.md",
    .add_options = add_batch_size_options,
    .run = find_batch_size,
    .is_for_one_process = true};

}  // namespace tenon::host
