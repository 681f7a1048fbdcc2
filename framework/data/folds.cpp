#include "framework/data/folds.h"

#include <tenon/abi.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <string>
#include <utility>

#include "framework/data/feed.h"
#include "framework/support/diagnostics/check.h"
#include "framework/support/diagnostics/error.h"
#include "framework/support/text/format_values.h"

namespace tenon::data {

namespace {

using support::Error;
using support::ErrorKind;

using Counts = std::vector<int64_t>;

// Numbers the keys from 0, in the order of their first appearance.
struct NumberedKeys {
  std::vector<size_t> numbers;  // of each sample
  size_t distinct = 0;

  explicit NumberedKeys(const std::vector<int64_t>& keys) {
    std::map<int64_t, size_t> known;
    for (const int64_t key : keys) numbers.push_back(known.emplace(key, known.size()).first->second);
    distinct = known.size();
  }
};

// As StratifiedKFold: the samples in the order of their labels are dealt to one fold after another.
std::vector<int64_t> deal(int64_t count, std::vector<int64_t> order, const std::vector<int64_t>& labels) {
  if (!labels.empty()) {
    const NumberedKeys keys(labels);
    std::ranges::stable_sort(order, {}, [&](int64_t sample) { return keys.numbers[static_cast<size_t>(sample)]; });
  }
  std::vector<int64_t> folds(order.size());
  for (size_t place = 0; place < order.size(); ++place)
    folds[static_cast<size_t>(order[place])] = static_cast<int64_t>(place) % count;
  return folds;
}

double deviation_of(const std::vector<double>& values) {
  const auto count = static_cast<double>(values.size());
  const double mean = std::accumulate(values.begin(), values.end(), 0.0) / count;
  double sum = 0;
  for (const double value : values) sum += (value - mean) * (value - mean);
  return std::sqrt(sum / count);
}

// The numbers of samples of each label, by group and by fold. Without labels all samples have the same one.
class GroupAssignment {
 public:
  GroupAssignment(int64_t count, const NumberedKeys& groups, const NumberedKeys* labels)
      : labels_(labels ? labels->distinct : 1),
        of_groups_(groups.distinct, Counts(labels_)),
        of_folds_(static_cast<size_t>(count), Counts(labels_)),
        of_labels_(labels_) {
    for (size_t sample = 0; sample < groups.numbers.size(); ++sample) {
      const size_t label = labels ? labels->numbers[sample] : 0;
      ++of_groups_[groups.numbers[sample]][label];
      ++of_labels_[label];
    }
  }

  // `order`: the groups. Returns the fold of each group.
  std::vector<int64_t> assign(std::vector<size_t> order) {
    std::ranges::stable_sort(order, std::greater(), [&](size_t group) { return urgency_of(of_groups_[group]); });
    std::vector<int64_t> folds(of_groups_.size());
    for (const size_t group : order) {
      const size_t fold = labels_ == 1 ? find_smallest() : find_most_even(of_groups_[group]);
      for (size_t label = 0; label < labels_; ++label) of_folds_[fold][label] += of_groups_[group][label];
      folds[group] = static_cast<int64_t>(fold);
    }
    return folds;
  }

 private:
  // The size, or with labels the standard deviation of their numbers.
  double urgency_of(const Counts& group) const {
    if (labels_ == 1) return static_cast<double>(group[0]);
    return deviation_of({group.begin(), group.end()});
  }

  size_t find_smallest() const { return static_cast<size_t>(std::ranges::min_element(of_folds_) - of_folds_.begin()); }

  // As StratifiedGroupKFold. Folds that are equally good by rounding go by their size.
  size_t find_most_even(const Counts& group) const {
    const auto is_close = [](double a, double b) { return std::abs(a - b) <= 1e-8 + 1e-5 * std::abs(b); };
    size_t best = 0;
    double least = std::numeric_limits<double>::infinity();
    int64_t smallest = std::numeric_limits<int64_t>::max();
    for (size_t fold = 0; fold < of_folds_.size(); ++fold) {
      const double found = unevenness_with(group, fold);
      const int64_t size = std::accumulate(of_folds_[fold].begin(), of_folds_[fold].end(), int64_t{0});
      const bool is_tie = std::isfinite(least) && is_close(found, least) && size < smallest;
      if (found >= least && !is_tie) continue;
      best = fold;
      least = found;
      smallest = size;
    }
    return best;
  }

  // The mean over the labels of the standard deviation of their shares in the folds.
  double unevenness_with(const Counts& group, size_t fold) const {
    double sum = 0;
    std::vector<double> shares(of_folds_.size());
    for (size_t label = 0; label < labels_; ++label) {
      for (size_t i = 0; i < shares.size(); ++i)
        shares[i] = static_cast<double>(of_folds_[i][label] + (i == fold ? group[label] : 0)) /
                    static_cast<double>(of_labels_[label]);
      sum += deviation_of(shares);
    }
    return sum / static_cast<double>(labels_);
  }

  size_t labels_;
  std::vector<Counts> of_groups_;
  std::vector<Counts> of_folds_;
  Counts of_labels_;
};

std::vector<int64_t> keep_groups(int64_t count, const std::vector<int64_t>& order, const FoldKeys& keys) {
  const NumberedKeys groups(keys.groups);
  std::vector<size_t> group_order;  // by the first sample of each
  std::vector<bool> is_listed(groups.distinct);
  for (const int64_t sample : order) {
    const size_t group = groups.numbers[static_cast<size_t>(sample)];
    if (!is_listed[group]) group_order.push_back(group);
    is_listed[group] = true;
  }
  std::optional<NumberedKeys> labels;
  if (!keys.labels.empty()) labels.emplace(keys.labels);
  const std::vector<int64_t> of_groups =
      GroupAssignment(count, groups, labels ? &*labels : nullptr).assign(std::move(group_order));
  std::vector<int64_t> folds;
  for (const size_t group : groups.numbers) folds.push_back(of_groups[group]);
  return folds;
}

int64_t read_integer(const std::byte* data, int32_t dtype) {
  return components::visit_integer(dtype, [&](auto value) {
    std::memcpy(&value, data, sizeof value);
    return static_cast<int64_t>(value);
  });
}

size_t find_key_field(const components::Dataset& dataset, const config::RunPlan& plan, const std::string& key,
                      const std::string& name) {
  std::string known;
  for (size_t i = 0; i < dataset.fields().size(); ++i) {
    const components::SampleField& field = dataset.fields()[i];
    constexpr uint64_t kIntegers = TENON_ANY_INTEGER | TENON_DTYPE_BIT(TENON_BOOL);
    if (!field.shape.empty() || (kIntegers & TENON_DTYPE_BIT(field.dtype)) == 0) continue;
    if (field.name == name) return i;
    known += (known.empty() ? "\"" : ", \"") + field.name + "\"";
  }
  throw Error(ErrorKind::configuration,
              "{}: data.folds.{} is \"{}\"; expected a field of {} with one integer for each sample: it has {}",
              plan.data.folds->place, key, name, dataset.component().describe(), known.empty() ? "none" : known);
}

// Reads the keys of these samples. A sample that cannot be read, and may be skipped, has the key -1.
FoldKeys read_keys(const components::Dataset& dataset, const config::RunPlan& plan, const config::NamedDataset& named,
                   const std::vector<int64_t>& samples) {
  const config::FoldsSection& folds = *plan.data.folds;
  std::vector<std::pair<size_t, std::vector<int64_t>*>> wanted;
  FoldKeys keys;
  if (!folds.stratify.empty())
    wanted.emplace_back(find_key_field(dataset, plan, "stratify", folds.stratify), &keys.labels);
  if (!folds.group.empty()) wanted.emplace_back(find_key_field(dataset, plan, "group", folds.group), &keys.groups);
  if (wanted.empty()) return keys;
  for (const auto& [field, values] : wanted) values->assign(samples.size(), -1);
  PluginSamples source(dataset);
  Loader loader(source, {.batch_size = plan.data.validation_batch_size,
                         .workers = plan.data.workers,
                         .prefetch = plan.data.prefetch,
                         .seed = derive_dataset_seed(plan.run.seed, named.name),
                         .skip_bad_samples = plan.data.on_error == config::OnError::skip});
  loader.start(samples, 0);
  const std::vector<int64_t> all_places = sequential_order(std::ssize(samples));
  size_t first = 0;
  while (const Batch* batch = loader.next()) {
    const std::vector<int64_t> places = list_samples(*batch, all_places, first);
    for (size_t row = 0; row < places.size(); ++row)
      for (const auto& [field, values] : wanted) {
        const components::SampleField& description = dataset.fields()[field];
        (*values)[static_cast<size_t>(places[row])] =
            read_integer(batch->fields[field].data + row * description.element_bytes, description.dtype);
      }
    first += places.size() + batch->skipped.size();
  }
  return keys;
}

}  // namespace

std::vector<int64_t> assign_folds(int64_t count, const std::vector<int64_t>& order, const FoldKeys& keys) {
  TENON_CHECK(count >= 1, count << " folds");
  TENON_CHECK(keys.labels.empty() || keys.labels.size() == order.size(), keys.labels.size() << " labels");
  TENON_CHECK(keys.groups.empty() || keys.groups.size() == order.size(), keys.groups.size() << " groups");
  return keys.groups.empty() ? deal(count, order, keys.labels) : keep_groups(count, order, keys);
}

std::vector<int64_t> choose_fold(const components::Dataset& dataset, const config::RunPlan& plan,
                                 const config::NamedDataset& named) {
  TENON_CHECK(plan.data.folds && named.part != config::FoldPart::all, named.name << " has no fold");
  const config::FoldsSection& folds = *plan.data.folds;
  const std::vector<int64_t> samples = subset_samples(dataset.size(), named.subset, plan.data.subset_seed);
  const std::vector<int64_t> order = shuffled_order(static_cast<int64_t>(samples.size()), plan.data.subset_seed, 0);
  const FoldKeys keys = read_keys(dataset, plan, named, samples);
  const std::vector<int64_t> found = assign_folds(folds.count, order, keys);
  Counts sizes(static_cast<size_t>(folds.count));
  for (const int64_t fold : found) ++sizes[static_cast<size_t>(fold)];
  if (std::ranges::min(sizes) == 0)
    throw Error(ErrorKind::configuration,
                "{}: data.folds.count is {}, but {} has {}; expected at least one in each fold: use fewer folds",
                folds.place, folds.count, named.name,
                keys.groups.empty() ? support::format_count(std::ssize(samples), "sample")
                                    : support::format_count(NumberedKeys(keys.groups).distinct, "group"));
  std::vector<int64_t> chosen;
  for (size_t place = 0; place < samples.size(); ++place)
    if ((found[place] == folds.fold) == (named.part == config::FoldPart::validation)) chosen.push_back(samples[place]);
  return chosen;
}

}  // namespace tenon::data
