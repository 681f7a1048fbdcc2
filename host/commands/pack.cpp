// `host pack`: writes a dataset of the run file as tar files.
#include <algorithm>
#include <charconv>
#include <cstdio>
#include <string>
#include <vector>

#include "framework/components/kinds/dataset.h"
#include "framework/data/plugin_samples.h"
#include "framework/data/sampler.h"
#include "framework/packing/pack_shards.h"
#include "framework/reporting/terminal/write_output.h"
#include "framework/support/text/format_values.h"
#include "host/command_line/command.h"
#include "host/process/signals.h"
#include "host/training/open_run.h"
#include "host/training/use_weights.h"

namespace tenon::host {

namespace {

void print_shard(const packing::PackedShard& shard) {
  reporting::write_output("  {}  {}  {:.1f} MiB\n", shard.name, support::format_count(shard.samples, "sample"),
                          static_cast<double>(shard.bytes) / (1 << 20));
  std::fflush(stdout);
}

void add_pack_options(AddOption& add) {
  add_run_file_options(add);
  add("data", text_value("NAME"), "dataset of the run file: train, validation, test, validation/NAME or test/NAME");
  add("output", text_value("DIR"), "folder for the shards; must be new or empty");
  add("shard-bytes", text_value("SIZE")->default_value("256MiB"),
      "maximum size of a shard (KiB, MiB, GiB); a shard has at least one sample");
  add("shard-samples", integer_value("N"), "maximum number of samples in a shard");
  add("shuffle", "write the samples in random order, seeded with run.seed");
}

// Parses a size in bytes, such as `256MiB`.
uint64_t parse_size(const Arguments& arguments, const std::string& option) {
  const std::string text = arguments.text(option);
  const std::pair<const char*, uint64_t> units[] = {{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"", 1}};
  uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const std::string unit(end, text.data() + text.size());
  for (const auto& [name, bytes] : units) {
    const bool is_in_range = error == std::errc() && number > 0 && number <= UINT64_MAX / bytes;
    if (unit == name && is_in_range) return number * bytes;
  }
  arguments.refuse("--" + option + " is " + text, "a size such as 256MiB");
}

// Names of fields that the dataset does not have are left out.
config::ClassNames packed_names(const data::PluginSamples& samples) {
  config::ClassNames names = samples.class_names();
  std::erase_if(names, [&](const auto& named) {
    return std::ranges::find(samples.fields(), named.first, &data::Field::name) == samples.fields().end();
  });
  return names;
}

int pack(const Arguments& arguments) {
  const uint64_t shard_bytes = parse_size(arguments, "shard-bytes");
  const int64_t shard_samples = arguments.count("shard-samples", 1);
  const std::string folder = arguments.text("output");
  const OpenedRunFile opened = open_run_file(arguments.run_file(), Computes::no);
  const config::RunPlan& plan = opened.plan;
  config::NamedDataset named = find_dataset(plan, arguments.text("data"));
  use_training_data(named, plan, opened.catalogue);
  const components::Dataset dataset = open_dataset(opened.catalogue, named);
  data::PluginSamples samples(
      dataset, data::ClassNumbers(dataset, {plan.data.class_names, plan.data.class_names_source}, named.place));
  const data::Sampler sampler(dataset.size(), {.shuffle = arguments.has("shuffle"),
                                               .seed = plan.run.seed,
                                               .subset = named.subset,
                                               .subset_seed = plan.data.subset_seed});
  catch_stop_signals();
  const packing::PackOptions options = {.folder = folder,
                                        .name = named.name,
                                        .order = sampler.order(0),
                                        .seed = data::derive_dataset_seed(plan.run.seed, named.name),
                                        .workers = plan.data.workers,
                                        .shard_bytes = shard_bytes,
                                        .shard_samples = shard_samples,
                                        .class_names = packed_names(samples)};
  const std::vector<packing::PackedShard> shards = packing::pack_shards(samples, options, print_shard, stop_signal());
  if (shards.empty() && stop_signal() != 0) {
    reporting::write_output_text("stopped; nothing was written\n");
    return 128 + stop_signal();
  }
  reporting::write_output("{}: {} samples in {}, in {}\n", named.name, options.order.size(),
                          support::format_count(std::ssize(shards), "shard"), folder);
  return 0;
}

}  // namespace

extern const Command pack_command{
    .name = "pack",
    .needed = "--config FILE --data NAME --output DIR",
    .purpose = "write a dataset as shards",
    .details = "Writes a dataset of the run file as tar files, which the dataset tar_shards reads.",
    .page = "guides/shards.md",
    .add_options = add_pack_options,
    .run = pack,
    .is_for_one_process = true};

}  // namespace tenon::host
