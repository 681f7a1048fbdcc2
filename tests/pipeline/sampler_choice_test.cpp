// [data] sampler: the dataset's weights and lengths determine the order of the samples.
#include <set>

#include "tests/doctest_with_torch.h"
#include "tests/pipeline/trained_run.h"

using namespace tenon::pipeline;

namespace {

const std::string kTorn = "data.train={use='torn'}";

}  // namespace

TEST_CASE("weights of the dataset determine the sampled indices") {
  BuiltRun run({{"data.train={use='torn', params={lighter=0}}", "data.sampler=weighted", "data.batch_size=8",
                 "data.validation={use='torn'}"}});
  const std::vector<int64_t> order = run.training->train->feed.sampler().order(1);
  CHECK(order.size() == 40);
  for (const int64_t sample : order) CHECK(sample < 20);
  CHECK(run.training->validation.at(0)->feed.sampler().order(0).back() == 39);  // all samples, in dataset order
  CHECK(run.train().state.samples_in_epoch == 40);
}

TEST_CASE("lengths of the dataset determine which samples share a batch") {
  BuiltRun run({{kTorn, "data.sampler=length_bucketed", "data.batch_size=4", "data.validation={use='torn'}"}});
  const std::vector<int64_t> order = run.training->train->feed.sampler().order(1);
  CHECK(std::set<int64_t>(order.begin(), order.end()).size() == 40);
  for (size_t i = 0; i < order.size(); i += 4) {
    const std::set<int64_t> lengths{order[i] / 2, order[i + 1] / 2, order[i + 2] / 2, order[i + 3] / 2};
    CHECK(*lengths.rbegin() - *lengths.begin() == 1);
  }
}

TEST_CASE("a dataset without the values that the sampler requires is refused") {
  CHECK(refusal_of({{"data.sampler=weighted"}}).find("data.sampler is \"weighted\", but ") != std::string::npos);
  const std::string message = refusal_of({{"data.sampler=length_bucketed"}});
  CHECK(message.find("run.toml:7:7: ") != std::string::npos);
  CHECK(message.find(" does not provide the lengths of its samples; expected a dataset that does") !=
        std::string::npos);
}

TEST_CASE("weighted sampling and shuffle = false exclude each other") {
  const std::string message = refusal_of({{"data.sampler=weighted", "data.shuffle=false"}});
  CHECK(message.find("data.shuffle is false, but data.sampler = \"weighted\"") != std::string::npos);
}
