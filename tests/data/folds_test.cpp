#include "framework/data/folds.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>

#include "framework/data/sampler.h"

using namespace tenon::data;

namespace {

// Folds of scikit-learn, see make_folds.py.
struct Reference {
  std::string name;
  int64_t count;
  FoldKeys keys;
  std::vector<int64_t> folds;
};

std::vector<int64_t> read_numbers(std::istream& stream) {
  std::string line;
  std::getline(stream, line);
  std::istringstream numbers(line);
  std::vector<int64_t> values;
  for (int64_t value = 0; numbers >> value;) values.push_back(value);
  return values;
}

std::vector<Reference> read_references() {
  std::ifstream stream(TENON_SOURCE_DIR "/tests/data/reference/folds.txt");
  std::vector<Reference> references;
  for (std::string line; std::getline(stream, line);) {
    Reference& reference = references.emplace_back();
    std::istringstream(line) >> reference.name >> reference.count;
    reference.keys.labels = read_numbers(stream);
    reference.keys.groups = read_numbers(stream);
    reference.folds = read_numbers(stream);
  }
  return references;
}

// The number of samples of each label in each fold.
std::map<std::pair<int64_t, int64_t>, int64_t> count_labels(const std::vector<int64_t>& folds,
                                                            const std::vector<int64_t>& labels) {
  std::map<std::pair<int64_t, int64_t>, int64_t> counts;
  for (size_t i = 0; i < folds.size(); ++i) ++counts[{folds[i], labels.empty() ? 0 : labels[i]}];
  return counts;
}

std::vector<int64_t> make_labels(int64_t size, int64_t classes) {
  std::vector<int64_t> labels;
  for (int64_t i = 0; i < size; ++i) labels.push_back(i * i * 7919 % 1009 % classes % (1 + i % classes));
  return labels;
}

void check_even(const std::vector<int64_t>& folds, int64_t count, const std::vector<int64_t>& labels) {
  std::set<int64_t> known(labels.begin(), labels.end());
  if (known.empty()) known = {0};
  const auto counts = count_labels(folds, labels);
  for (const int64_t label : known) {
    std::vector<int64_t> of_folds;
    for (int64_t fold = 0; fold < count; ++fold) {
      const auto found = counts.find({fold, label});
      of_folds.push_back(found == counts.end() ? 0 : found->second);
    }
    CHECK(std::ranges::max(of_folds) - std::ranges::min(of_folds) <= 1);
  }
}

}  // namespace

TEST_CASE("folds are those of scikit-learn if the samples are in order") {
  const std::vector<Reference> references = read_references();
  REQUIRE(references.size() == 11);
  for (const Reference& reference : references) {
    CAPTURE(reference.name);
    CAPTURE(reference.count);
    const std::vector<int64_t> found =
        assign_folds(reference.count, sequential_order(static_cast<int64_t>(reference.folds.size())), reference.keys);
    if (reference.name == "stratified")  // scikit-learn deals other samples of a class
      CHECK(count_labels(found, reference.keys.labels) == count_labels(reference.folds, reference.keys.labels));
    else
      CHECK(found == reference.folds);
  }
}

TEST_CASE("the sizes of folds and the numbers of each label in them differ by one at most") {
  for (const int64_t count : {2, 3, 5, 10})
    for (const int64_t size : {10, 97, 1000}) {
      CAPTURE(count);
      CAPTURE(size);
      const std::vector<int64_t> order = shuffled_order(size, 11, 0), labels = make_labels(size, 6);
      check_even(assign_folds(count, order), count, {});
      const std::vector<int64_t> stratified = assign_folds(count, order, {labels, {}});
      check_even(stratified, count, {});
      check_even(stratified, count, labels);
    }
}

TEST_CASE("groups are never divided, and the order decides between equal ones") {
  const int64_t size = 400;
  std::vector<int64_t> groups;
  for (int64_t i = 0; i < size; ++i) groups.push_back(i * 31 % 57);
  for (const bool with_labels : {false, true}) {
    const FoldKeys keys{with_labels ? make_labels(size, 3) : std::vector<int64_t>(), groups};
    std::set<std::vector<int64_t>> seen;
    for (const uint64_t seed : {1, 2, 3}) {
      const std::vector<int64_t> folds = assign_folds(4, shuffled_order(size, seed, 0), keys);
      std::map<int64_t, std::set<int64_t>> of_groups;
      for (size_t i = 0; i < folds.size(); ++i) of_groups[groups[i]].insert(folds[i]);
      for (const auto& [group, found] : of_groups) CHECK(found.size() == 1);
      CHECK(std::set<int64_t>(folds.begin(), folds.end()) == std::set<int64_t>{0, 1, 2, 3});
      seen.insert(folds);
    }
    CHECK(seen.size() == 3);
  }
}

TEST_CASE("folds depend only on the arguments, and on the order") {
  const std::vector<int64_t> order = shuffled_order(100, 5, 0);
  CHECK(assign_folds(5, order) == assign_folds(5, order));
  CHECK(assign_folds(5, order) != assign_folds(5, shuffled_order(100, 6, 0)));
}
