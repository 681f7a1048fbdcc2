#include "host/pack_command.h"

#include <cstdio>
#include <string>
#include <vector>

#include "framework/config/read_run_config.h"
#include "framework/config/resolve_run_plan.h"
#include "framework/data/dataset_seed.h"
#include "framework/data/plugin_samples.h"
#include "framework/data/sampler.h"
#include "framework/packing/pack_shards.h"
#include "framework/support/error.h"
#include "framework/support/nearest_name.h"
#include "host/open_catalogue.h"
#include "host/signals.h"

namespace tenon::host {

namespace {

using support::Error;
using support::ErrorKind;

const config::NamedDataset& find_dataset(const config::DataSection& data, const std::string& name) {
  std::vector<std::string> names = {data.train.name};
  if (name == data.train.name) return data.train;
  for (const config::NamedDataset& dataset : data.validation) {
    if (name == dataset.name) return dataset;
    names.push_back(dataset.name);
  }
  throw Error(ErrorKind::configuration,
              "command line: --data " + name + " is no dataset of the run file" + support::suggest_name(name, names));
}

void print_shard(const packing::PackedShard& shard) {
  std::printf("  %s  %lld samples  %.1f MiB\n", shard.name.c_str(), static_cast<long long>(shard.samples),
              static_cast<double>(shard.bytes) / (1 << 20));
  std::fflush(stdout);
}

}  // namespace

int pack(const CommandLine& line) {
  const config::RunConfig config = config::read_run_config(line.config, line.overrides, line.plugin_directories);
  const plugins::Catalogue catalogue = open_catalogue(line, config);
  const config::RunPlan plan = config::resolve_run_plan(config, catalogue);
  const config::NamedDataset& named = find_dataset(plan.data, line.dataset);
  const plugins::Dataset dataset(catalogue.find(config::ComponentKind::dataset, named.use), named);
  data::PluginSamples samples(dataset);
  const data::Sampler sampler(
      dataset.size(),
      {.shuffle = line.shuffle, .seed = plan.run.seed, .subset = named.subset, .subset_seed = plan.data.subset_seed});
  catch_stop_signals();
  const packing::PackOptions options = {.folder = line.output,
                                        .name = named.name,
                                        .order = sampler.order(0),
                                        .seed = data::derive_dataset_seed(plan.run.seed, named.name),
                                        .workers = plan.data.workers,
                                        .shard_bytes = line.shard_bytes,
                                        .shard_samples = line.shard_samples};
  const std::vector<packing::PackedShard> shards = packing::pack_shards(samples, options, print_shard, stop_signal());
  if (shards.empty() && stop_signal() != 0) {
    std::printf("stopped; nothing was written\n");
    return 128 + stop_signal();
  }
  std::printf("%s: %zu samples in %zu %s, in %s\n", named.name.c_str(), options.order.size(), shards.size(),
              shards.size() == 1 ? "shard" : "shards", line.output.c_str());
  return 0;
}

}  // namespace tenon::host
