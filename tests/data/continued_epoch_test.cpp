// An epoch that other ranks continue, with other batches: together they read each remaining sample once.
#include <doctest/doctest.h>

#include <algorithm>
#include <random>
#include <set>
#include <utility>

#include "framework/data/sampler.h"

using namespace tenon::data;
using tenon::config::SamplerKind;

namespace {

constexpr int64_t kEpoch = 2;

// Some ranks that read batches of an epoch.
struct Part {
  int64_t world;
  int64_t batch_size;
  int64_t batches;  // of each rank; -1: all that are left
};

// A sample and how many earlier places have it.
using Place = std::pair<int64_t, int64_t>;

struct Data {
  int64_t size;
  SamplerOptions options;
  int64_t limit_batches = 0;

  Sampler sampler(const Part& part, int64_t rank) const {
    SamplerOptions shared = options;
    shared.world = part.world;
    shared.rank = rank;
    shared.batch_size = part.batch_size;
    shared.most = limit_batches * part.batch_size * part.world;
    SampleTraits traits;
    for (int64_t i = 0; i < size; ++i) {
      traits.lengths.push_back(1 + i * 7919 % 50);
      traits.weights.push_back(static_cast<double>(1 + i % 3));
    }
    return Sampler(size, shared, traits);
  }
};

std::vector<Place> list_places(const Sampler& sampler, const EpochRest& rest) {
  const std::vector<int64_t> order = sampler.order(kEpoch, rest), repetitions = sampler.repetitions(kEpoch, rest);
  std::vector<Place> places;
  for (size_t i = 0; i < order.size(); ++i) places.push_back({order[i], repetitions.empty() ? 0 : repetitions[i]});
  return places;
}

// The places that the parts read, one batch of all ranks after the other. Sets the number of batches of each rank.
std::vector<Place> read_parts(const Data& data, const std::vector<Part>& parts, int64_t& batches) {
  std::vector<Place> read;
  EpochRest rest;
  batches = 0;
  for (const Part& part : parts) {
    const int64_t total_batch = part.world * part.batch_size, size = data.sampler(part, 0).size(rest);
    const int64_t all = (size + total_batch - 1) / total_batch;
    const int64_t count = part.batches < 0 ? all : std::min(part.batches, std::max<int64_t>(all - 1, 0));
    batches += count;
    std::vector<std::vector<Place>> ranks;
    for (int64_t rank = 0; rank < part.world; ++rank) ranks.push_back(list_places(data.sampler(part, rank), rest));
    for (int64_t place = 0; place < std::min(size, count * total_batch); ++place)
      read.push_back(ranks[static_cast<size_t>(place % part.world)].at(static_cast<size_t>(place / part.world)));
    rest = rest_after(rest, count, part.batch_size, part.world);
  }
  return read;
}

std::vector<Place> read_parts(const Data& data, const std::vector<Part>& parts) {
  int64_t batches = 0;
  return read_parts(data, parts, batches);
}

std::vector<std::pair<Data, std::vector<Part>>> random_cases(const SamplerOptions& options) {
  std::mt19937_64 random(17);
  const auto below = [&](uint64_t bound) { return static_cast<int64_t>(random() % bound); };
  std::vector<std::pair<Data, std::vector<Part>>> cases;
  for (int i = 0; i < 60; ++i) {
    std::vector<Part> parts;
    for (int k = 0; k < 3; ++k) parts.push_back({1 + below(4), 1 + below(9), below(5)});
    parts.back().batches = -1;
    cases.push_back({{below(200), options}, parts});
  }
  return cases;
}

const std::vector<SamplerOptions> kSamplers{
    {.shuffle = true, .seed = 4},
    {.shuffle = true, .seed = 4, .subset = *tenon::config::parse_subset("20%-70.5%")},
    {.shuffle = true, .seed = 4, .repeats = 3},
    {.kind = SamplerKind::weighted, .shuffle = true, .seed = 4},
    {.kind = SamplerKind::length_bucketed, .shuffle = true, .seed = 4},
    {.kind = SamplerKind::length_bucketed, .seed = 4},
    {}};

}  // namespace

TEST_CASE("ranks that continue an epoch read its remaining samples in the order with which it began") {
  for (const SamplerOptions& options : kSamplers)
    for (const auto& one : random_cases(options)) {
      const auto& data = one.first;
      const auto& parts = one.second;
      CAPTURE(data.size);
      const Part alone{parts[0].world, parts[0].batch_size, -1};
      CHECK(read_parts(data, parts) == read_parts(data, {alone}));
    }
}

TEST_CASE("an epoch that is continued by the same ranks is divided as before") {
  for (const auto& [data, parts] : random_cases({.shuffle = true, .seed = 4})) {
    Part part = parts[0];
    for (int64_t rank = 0; rank < part.world; ++rank) {
      const Sampler sampler = data.sampler(part, rank);
      std::vector<int64_t> whole = sampler.order(kEpoch);
      const int64_t all = static_cast<int64_t>(whole.size()) / part.batch_size;  // full batches
      const int64_t batches = std::min(part.batches, all);
      whole.erase(whole.begin(), whole.begin() + batches * part.batch_size);
      CHECK(sampler.order(kEpoch, rest_after({}, batches, part.batch_size, part.world)) == whole);
    }
  }
}

TEST_CASE("with drop_last all ranks read the same number of full batches of the rest, and no sample twice") {
  for (const auto& one : random_cases({.shuffle = true, .seed = 4, .drop_last = true})) {
    const auto& data = one.first;
    const auto& parts = one.second;
    CAPTURE(data.size);
    const std::vector<Place> read = read_parts(data, parts);
    const std::set<Place> once(read.begin(), read.end());
    CHECK(once.size() == read.size());
    int64_t left_out = data.size - static_cast<int64_t>(read.size());
    for (const Part& part : parts) left_out -= part.world * part.batch_size - 1;
    CHECK(left_out <= 0);
    EpochRest rest = rest_after({}, 1, parts[0].batch_size, parts[0].world);
    const int64_t total_batch = parts[1].world * parts[1].batch_size;
    CHECK(data.sampler(parts[1], 0).size(rest) % total_batch == 0);
  }
}

TEST_CASE("an epoch with a limited number of batches does not get more of them") {
  for (auto [data, parts] : random_cases({.shuffle = true, .seed = 4})) {
    data.limit_batches = 5;
    int64_t batches = 0;
    const std::vector<Place> read = read_parts(data, parts, batches);
    CHECK(batches <= 5);
    const std::vector<Place> whole = read_parts(data, {{parts[0].world, parts[0].batch_size, -1}});
    REQUIRE(read.size() <= whole.size());
    CHECK(std::equal(read.begin(), read.end(), whole.begin()));
    const bool is_whole = read.size() == whole.size();
    CHECK((is_whole || batches == 5));
  }
  // Half the batch size, so that 5 batches are not all of the 5 with which the epoch began.
  int64_t batches = 0;
  CHECK(read_parts({100, {}, 5}, {{1, 8, 2}, {1, 4, -1}}, batches).size() == 28);
  CHECK(batches == 5);
}

TEST_CASE("the batches of an epoch are numbered without repetition") {
  std::set<int64_t> numbers;
  EpochRest rest;
  int64_t expected = 0;
  for (const Part& part : {Part{4, 2, 3}, Part{1, 5, 4}, Part{3, 1, 2}}) {
    const int64_t first = rest.batch_number > 0 ? rest.batch_number : part.world;
    for (int64_t i = 0; i < part.batches * part.world; ++i, ++expected) numbers.insert(first + i);
    rest = rest_after(rest, part.batches, part.batch_size, part.world);
  }
  CHECK(static_cast<int64_t>(numbers.size()) == expected);
  CHECK(rest.places == 24 + 20 + 6);
  CHECK(rest.batches == 9);
  CHECK(rest.total_batch == 8);
}
