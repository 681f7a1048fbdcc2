#include "framework/plugins/dataset.h"

#include <doctest/doctest.h>

#include "tests/plugins/fixture_plugins.h"

using tenon::config::ComponentKind;
using tenon::plugins::Dataset;
using tenon::plugins::message_of;
using tenon::plugins::open_fixture;
using tenon::support::ErrorKind;

namespace {

tenon::config::NamedDataset plan_for(const tenon::plugins::Component& component) {
  tenon::config::NamedDataset plan;
  plan.name = "train";
  plan.use = component.schema.id;
  plan.place = "run.toml:3:1";
  for (const auto& param : component.schema.params)
    if (param.default_value) plan.params[param.name] = *param.default_value;
  return plan;
}

const tenon::plugins::Component& only_dataset(const tenon::plugins::Catalogue& catalogue) {
  return catalogue.find(ComponentKind::dataset, catalogue.component_ids(ComponentKind::dataset).front());
}

// Creates the fixture's dataset and reads one sample of it.
void read_sample(const std::string& fixture, int64_t index) {
  const auto catalogue = open_fixture(fixture);
  const Dataset dataset(only_dataset(catalogue), plan_for(only_dataset(catalogue)));
  std::vector<std::vector<std::byte>> memory;
  std::vector<std::byte*> slots;
  for (const auto& field : dataset.fields()) slots.push_back(memory.emplace_back(field.sample_bytes).data());
  const tenon_sample sample{sizeof(tenon_sample), index, 1, 0};
  void* worker = dataset.open_worker(0, 0);
  dataset.get(worker, sample, slots);
  dataset.close_worker(worker);
}

}  // namespace

TEST_CASE("a dataset of a plugin gives its size, fields and samples") {
  const auto catalogue = open_fixture("counting");
  const Dataset dataset(only_dataset(catalogue), plan_for(only_dataset(catalogue)));
  CHECK(dataset.size() > 0);
  REQUIRE(!dataset.fields().empty());
  CHECK_NOTHROW(read_sample("counting", 0));
}

TEST_CASE("a failing create is reported with component, plugin, function and the place in the run file") {
  const std::string message = message_of([] { read_sample("failing_create", 0); }, ErrorKind::plugin);
  CHECK(message.find("dataset \"") == 0);
  CHECK(message.find("create (run.toml:3:1): ") != std::string::npos);
}

TEST_CASE("an exception that escapes from create is stopped and named") {
  const std::string message = message_of([] { read_sample("throwing_create", 0); }, ErrorKind::plugin);
  CHECK(message.find("let escape an exception: escaped from create") != std::string::npos);
}

TEST_CASE("a sample that cannot be read is a data error with its index") {
  const std::string message = message_of([] { read_sample("failing_get", 7); }, ErrorKind::data);
  CHECK(message.find("get (train sample 7): ") != std::string::npos);
}

TEST_CASE("an exception that escapes from get is stopped and named with the sample") {
  const std::string message = message_of([] { read_sample("throwing_get", 3); }, ErrorKind::plugin);
  CHECK(message.find("get (train sample 3): let escape an exception") != std::string::npos);
}
