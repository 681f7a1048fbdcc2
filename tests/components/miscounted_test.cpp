// Results of a plugin that the host must not follow: tests/fixtures/plugins/miscounted.c.
#include <doctest/doctest.h>

#include "framework/components/kinds/callback.h"
#include "framework/components/kinds/dataset.h"
#include "tests/components/fixture_plugins.h"

namespace tenon::components {
namespace {

// Creates the dataset and requests a sample of it.
std::string refusal_of_dataset(const std::string& id) {
  const Catalogue catalogue = open_fixture("miscounted");
  config::NamedDataset plan;
  plan.name = "train";
  plan.use = id;
  return message_of(
      [&] {
        const Dataset dataset(catalogue.find(config::ComponentKind::dataset, id), plan);
        const tenon_sample sample{sizeof(tenon_sample), 0, 1, 0};
        int64_t memory = 0;
        const SampleSlot slot{reinterpret_cast<std::byte*>(&memory), nullptr};
        dataset.get(nullptr, sample, {&slot, 1});
      },
      support::ErrorKind::plugin);
}

// Creates the callback and dispatches step_end after 3 steps.
std::string refusal_of_callback(const std::string& id) {
  const Catalogue catalogue = open_fixture("miscounted");
  config::ComponentPlan plan;
  plan.use = id;
  return message_of(
      [&] {
        const Callback callback(catalogue.find(config::ComponentKind::callback, id), plan);
        tenon_run run{};
        run.size = sizeof run;
        run.step = 3;
        callback.on_event(TENON_STEP_END, run);
      },
      support::ErrorKind::plugin);
}

}  // namespace

TEST_CASE("a field with more dimensions than a tensor has is an error of the plugin") {
  CHECK(refusal_of_dataset("huge_ndim") ==
        "dataset \"huge_ndim\" of plugin fixture 0.1.0, fields: number has ndim 4000000000; expected 0 to 64");
  CHECK(refusal_of_dataset("huge_slot") ==
        "dataset \"huge_slot\" of plugin fixture 0.1.0, get (train sample 0): the sample's number has ndim 4000000000; "
        "expected 0 to 64");
}

TEST_CASE("a count without a list is an error of the plugin") {
  CHECK(refusal_of_dataset("null_list") ==
        "dataset \"null_list\" of plugin fixture 0.1.0, fields: returns a count of 2 fields, but the list is NULL; "
        "expected a list of 1 to 64 fields");
  CHECK(refusal_of_dataset("null_shape") ==
        "dataset \"null_shape\" of plugin fixture 0.1.0, fields: number has ndim 1, but its shape is NULL; expected a "
        "list of as many extents, or ndim 0 for a scalar");
  CHECK(refusal_of_dataset("no_fields") ==
        "dataset \"no_fields\" of plugin fixture 0.1.0, fields: returns 0 fields; expected 1 to 64");
}

TEST_CASE("events and requests that the host does not know are errors of the plugin, with their bits") {
  CHECK(refusal_of_callback("unknown_event") ==
        "callback \"unknown_event\" of plugin fixture 0.1.0, subscribe: the events have bits 24, 63, which this host "
        "does not know; expected bits 0 to 23, TENON_EVENT_BIT of the events in callback.h");
  CHECK(refusal_of_callback("unknown_request") ==
        "callback \"unknown_request\" of plugin fixture 0.1.0, on_event (step_end, step 3): the requests have bit 6, "
        "which this host does not know; expected bits 0 to 3, TENON_REQUEST_STOP, _SAVE, _EVALUATE and _LOG");
}

}  // namespace tenon::components
