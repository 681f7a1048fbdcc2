#include "host/pack_command.h"

#include <cstdio>
#include <string>
#include <vector>

#include "framework/data/dataset_seed.h"
#include "framework/data/plugin_samples.h"
#include "framework/data/sampler.h"
#include "framework/packing/pack_shards.h"
#include "framework/plugins/prepare_dataset.h"
#include "host/open_run.h"
#include "host/signals.h"
#include "host/standard_streams.h"

namespace tenon::host {

namespace {

void print_shard(const packing::PackedShard& shard) {
  write_output("  %s  %lld samples  %.1f MiB\n", shard.name.c_str(), static_cast<long long>(shard.samples),
               static_cast<double>(shard.bytes) / (1 << 20));
  std::fflush(stdout);
}

}  // namespace

int pack(const CommandLine& line) {
  const OpenedRun opened = open_run(line, Computes::no);
  const config::RunPlan& plan = opened.plan;
  const config::NamedDataset& named = find_dataset(plan, line.dataset);
  plugins::prepare_dataset(opened.catalogue.find(config::ComponentKind::dataset, named.use), named);
  const plugins::Dataset dataset(opened.catalogue.find(config::ComponentKind::dataset, named.use), named);
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
    write_output("stopped; nothing was written\n");
    return 128 + stop_signal();
  }
  write_output("%s: %zu samples in %zu %s, in %s\n", named.name.c_str(), options.order.size(), shards.size(),
               shards.size() == 1 ? "shard" : "shards", line.output.c_str());
  return 0;
}

}  // namespace tenon::host
