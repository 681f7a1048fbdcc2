#include "framework/artifacts/checkpoint/match_weights.h"

#include <algorithm>
#include <map>
#include <set>

namespace tenon::artifacts {

namespace {

using Places = std::map<std::string_view, size_t>;

// Finds the tensor for a name and removes as few prefixes as possible. None if the model has no such tensor.
std::optional<size_t> find_place(std::string_view name, const Places& places) {
  for (;;) {
    if (const auto place = places.find(name); place != places.end()) return place->second;
    if (!remove_wrapper_prefix(name)) return std::nullopt;
  }
}

WeightStatus check(const TensorView& stored, const ExpectedTensor& expected) {
  if (stored.shape != expected.shape) return WeightStatus::other_shape;
  const bool converts = is_floating_point(stored.dtype) && is_floating_point(expected.dtype);
  return stored.dtype == expected.dtype || converts ? WeightStatus::loaded : WeightStatus::other_dtype;
}

// torch.nn.BatchNorm2d has this buffer since version 2 of its state and treats a state without it as version 1.
bool is_older_batch_norm(const ExpectedTensor& expected, const Places& places, std::span<const WeightMatch> matches) {
  constexpr std::string_view kCounter = "num_batches_tracked";
  if (!expected.name.ends_with(kCounter) || !expected.shape.empty()) return false;
  const std::string mean = expected.name.substr(0, expected.name.size() - kCounter.size()) + "running_mean";
  const auto sibling = places.find(mean);
  return sibling != places.end() && matches[sibling->second].stored;
}

// Whether `one` has more of their tensor than `other`.
bool is_better(const WeightMatch& one, const WeightMatch& other) {
  const auto rank = [](const WeightMatch& match) {
    return match.stored ? 2 : match.status == WeightStatus::older_batch ? 1 : 0;
  };
  return rank(one) > rank(other) || (rank(one) == rank(other) && one.expected < other.expected);
}

// Of a tensor with several names, those in the file are kept; without any, the first.
std::vector<WeightMatch> keep_found_names(const std::vector<WeightMatch>& matches) {
  std::map<size_t, const WeightMatch*> best;  // by tensor
  for (const WeightMatch& match : matches) {
    const auto [found, is_new] = best.emplace(match.tensor, &match);
    if (!is_new && is_better(match, *found->second)) found->second = &match;
  }
  std::vector<WeightMatch> kept;
  for (const WeightMatch& match : matches)
    if (match.stored || best.at(match.tensor) == &match) kept.push_back(match);
  return kept;
}

}  // namespace

bool remove_wrapper_prefix(std::string_view& name) {
  for (const std::string_view prefix : {"module.", "_orig_mod."}) {
    if (!name.starts_with(prefix)) continue;
    name.remove_prefix(prefix.size());
    return true;
  }
  return false;
}

bool MatchedWeights::is_complete() const {
  return unexpected.empty() && std::ranges::all_of(matches, [](const WeightMatch& match) {
           return match.status == WeightStatus::loaded || match.status == WeightStatus::older_batch;
         });
}

size_t MatchedWeights::count(std::optional<WeightStatus> status) const {
  std::set<size_t> tensors;
  for (const WeightMatch& match : matches)
    if (!status || match.status == status) tensors.insert(match.tensor);
  return tensors.size();
}

MatchedWeights match_weights(std::span<const TensorView> stored, std::span<const ExpectedTensor> expected) {
  MatchedWeights matched;
  Places places;
  for (size_t i = 0; i < expected.size(); ++i) {
    places.emplace(expected[i].name, i);
    matched.matches.push_back({i, expected[i].first_place, nullptr, WeightStatus::missing});
  }
  // An exact name has precedence over names with prefixes in the file.
  for (const TensorView& tensor : stored)
    if (const auto place = places.find(tensor.name); place != places.end())
      matched.matches[place->second].stored = &tensor;
  for (const TensorView& tensor : stored) {
    const auto place = find_place(tensor.name, places);
    const TensorView* const taken = place ? matched.matches[*place].stored : nullptr;
    if (place && !taken)
      matched.matches[*place].stored = &tensor;
    else if (taken != &tensor)
      matched.unexpected.push_back(&tensor);
  }
  for (WeightMatch& match : matched.matches)
    if (match.stored) match.status = check(*match.stored, expected[match.expected]);
  for (WeightMatch& match : matched.matches)
    if (!match.stored && is_older_batch_norm(expected[match.expected], places, matched.matches))
      match.status = WeightStatus::older_batch;
  matched.matches = keep_found_names(matched.matches);
  return matched;
}

}  // namespace tenon::artifacts
