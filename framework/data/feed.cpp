#include "framework/data/feed.h"

#include <algorithm>
#include <string>
#include <utility>

#include "framework/data/folds.h"
#include "framework/support/compute/philox.h"
#include "framework/support/diagnostics/error.h"
#include "framework/support/diagnostics/log.h"
#include "framework/support/text/format.h"
#include "framework/support/text/format_values.h"

namespace tenon::data {
namespace {

using support::Error;
using support::ErrorKind;

bool is_training(const config::RunPlan& plan, const config::NamedDataset& dataset) {
  return dataset.name == plan.data.train.name;
}

// The maximum number of batches of a pass over data that are not for training; 0: no limit.
int64_t limit_of(const config::DataSection& data, const config::NamedDataset& dataset) {
  const bool is_test = std::ranges::count(data.test, dataset.name, &config::NamedDataset::name) > 0;
  return is_test ? data.test_limit_batches : data.validation_limit_batches;
}

LoaderOptions make_loader_options(const config::RunPlan& plan, const config::NamedDataset& dataset,
                                  const Share& share) {
  const config::DataSection& data = plan.data;
  return {.batch_size = is_training(plan, dataset) ? data.batch_size : data.validation_batch_size,
          .workers = data.workers,
          .prefetch = data.prefetch,
          .seed = derive_dataset_seed(plan.run.seed, dataset.name),
          .rank = static_cast<uint32_t>(share.rank),
          .skip_bad_samples = data.on_error == config::OnError::skip};
}

// Validation and test data are read once per pass, in dataset order.
SamplerOptions make_sampler_options(const config::RunPlan& plan, const config::NamedDataset& dataset,
                                    const Share& share) {
  const config::DataSection& data = plan.data;
  SamplerOptions options{
      .subset = dataset.subset, .subset_seed = data.subset_seed, .rank = share.rank, .world = share.world};
  if (is_training(plan, dataset)) {
    options.kind = data.sampler;
    options.shuffle = data.shuffle;
    options.seed = plan.run.seed;
    options.batch_size = data.batch_size;
    options.repeats = data.repeated_augmentation;
    options.most = data.limit_batches * data.batch_size * share.world;
    options.drop_last = data.drop_last;
  } else {
    options.spreads_limit = true;  // data are often in the order of their classes
    options.most = limit_of(data, dataset) * data.validation_batch_size * share.world;
  }
  return options;
}

SampleTraits read_traits(const components::Dataset& dataset, const config::NamedDataset& plan,
                         config::SamplerKind kind) {
  const auto require = [&](auto values, const char* sampler, const char* lacks) {
    if (!values)
      throw Error(ErrorKind::configuration,
                  "{}: data.sampler is \"{}\", but {} does not provide the {} of its samples; expected a dataset that "
                  "does, or sampler = \"uniform\"",
                  plan.place, sampler, dataset.component().describe(), lacks);
    return std::move(*values);
  };
  SampleTraits traits;
  if (kind == config::SamplerKind::length_bucketed)
    traits.lengths = require(dataset.read_lengths(), "length_bucketed", "lengths");
  if (kind == config::SamplerKind::weighted) traits.weights = require(dataset.read_weights(), "weighted", "weights");
  return traits;
}

Sampler make_sampler(const components::Dataset& dataset, const config::RunPlan& plan, const config::NamedDataset& named,
                     const Share& share) {
  SamplerOptions options = make_sampler_options(plan, named, share);
  if (named.part != config::FoldPart::all) options.chosen = choose_fold(dataset, plan, named);
  Sampler sampler(dataset.size(), options, read_traits(dataset, named, options.kind));
  if (sampler.available() > 0 && sampler.size() == 0)
    throw Error(ErrorKind::configuration,
                "{}: data.drop_last is true, but there {} only {}; expected at least one batch of "
                "data.batch_size = {}{}: lower data.batch_size, or set data.drop_last = false",
                named.place, sampler.available() == 1 ? "is" : "are",
                support::format_count(sampler.available(), "sample"), plan.data.batch_size,
                share.world > 1 ? fmt::format(" on each of {} processes", share.world) : "");
  if (sampler.size() == 0)
    throw Error(ErrorKind::configuration,
                "{}: the subset {} of {} is empty; expected at least one sample: use a larger subset", named.place,
                config::to_string(named.subset), support::format_count(dataset.size(), "sample"));
  return sampler;
}

}  // namespace

Feed::Feed(const components::Catalogue& catalogue, const config::RunPlan& plan, const config::NamedDataset& dataset,
           const Share& share, const Numbering* numbering)
    : Feed(components::Dataset(catalogue.find(config::ComponentKind::dataset, dataset.use), dataset), plan, dataset,
           share, numbering) {}

Feed::Feed(components::Dataset opened, const config::RunPlan& plan, const config::NamedDataset& dataset,
           const Share& share, const Numbering* numbering)
    : dataset_(std::move(opened)),
      samples_(dataset_,
               {dataset_, numbering ? *numbering : Numbering{plan.data.class_names, plan.data.class_names_source},
                dataset.place}),
      share_(share),
      sampler_(make_sampler(dataset_, plan, dataset, share)),
      options_(make_loader_options(plan, dataset, share)),
      loader_(samples_, options_) {}

int64_t Feed::batches(const EpochRest& rest) const {
  const int64_t together = batch_size() * share_.world, size = sampler_.size(rest);
  return size / together + (size % together != 0);
}

void Feed::start(int64_t epoch, int64_t batches, int64_t skipped, const EpochRest& rest) {
  std::vector<int64_t> order = sampler_.order(epoch, rest);
  const auto samples = static_cast<int64_t>(order.size());
  const int64_t batches_of_all = samples / batch_size() + (samples % batch_size() != 0);
  skipped_.start_pass(skipped);
  epoch_ = epoch;
  rest_ = rest;
  batches_ = std::min(batches, batches_of_all);
  loader_.start(std::move(order), epoch, batches_, sampler_.repetitions(epoch, rest));
}

void Feed::start_with(std::vector<int64_t> samples) {
  skipped_.start_pass(0);
  epoch_ = 0;
  rest_ = {};
  batches_ = 0;
  loader_.start(std::move(samples), 0);
}

const Batch* Feed::load() {
  try {
    return loader_.next();
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::data || dataset_.name() == kInputName) throw;
    throw Error(ErrorKind::data,
                std::string(error.what()) + "; host data --config FILE --all lists every sample that cannot be read");
  }
}

const Batch* Feed::next() {
  const Batch* batch = load();
  if (!batch) return nullptr;
  ++batches_;
  skipped_.add(*batch);
  if (share_.world == 1 && skipped() == rest_.places + sampler_.size(rest_))
    throw Error(ErrorKind::data,
                "{}: none of its {} samples could be read (see the log); expected data.on_error = \"skip\" to "
                "leave at least one: fix the data",
                dataset_.name(), skipped());
  return batch;
}

const Batch* Feed::borrow() {
  loader_.start({sampler_.first(epoch_)}, epoch_);
  return load();
}

std::vector<int64_t> list_samples(const Batch& batch, const std::vector<int64_t>& order, size_t first) {
  std::vector<int64_t> samples;
  auto skipped = batch.skipped.begin();
  const auto places = static_cast<int64_t>(static_cast<size_t>(batch.size) + batch.skipped.size());
  for (int64_t place = 0; place < places; ++place) {
    if (skipped != batch.skipped.end() && skipped->place == place)
      ++skipped;
    else
      samples.push_back(order[first + static_cast<size_t>(place)]);
  }
  return samples;
}

std::vector<int64_t> Feed::list_samples(const Batch& batch) const {
  const std::vector<int64_t> order = sampler_.order(epoch_, rest_);
  const auto first = static_cast<size_t>((batches_ - 1) * batch_size());
  if (first + static_cast<size_t>(batch.size) + batch.skipped.size() > order.size()) return {};
  return data::list_samples(batch, order, first);
}

uint64_t Feed::batch_seed() const {
  const int64_t first = rest_.batch_number > 0 ? rest_.batch_number : share_.world;
  const int64_t number = first + (batches_ - 1) * share_.world + share_.rank;
  return support::derive_seed(options_.seed, support::StreamPurpose::batch, static_cast<uint32_t>(epoch_),
                              static_cast<uint64_t>(number));
}

void SkippedSamples::add(const Batch& batch) {
  in_pass_ += static_cast<int64_t>(batch.skipped.size());
  for (const SkippedSample& sample : batch.skipped) {
    if (!known_.insert(sample.index).second || known_.size() > kMaxWarnings) continue;
    support::log_warning("skipped: " + sample.reason +
                         (known_.size() == kMaxWarnings ? "; further skipped samples are counted but not logged" : ""));
  }
}

}  // namespace tenon::data
