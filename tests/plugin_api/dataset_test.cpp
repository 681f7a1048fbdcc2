#include <doctest/doctest.h>

#include <stdexcept>
#include <tenon/plugin.hpp>

#include "tests/plugin_api/made_component.h"

namespace dataset_test {

using namespace tenon::test;

namespace {

// The index of a sample selects its behaviour: each failure is one sample.
class Troubled final {
 public:
  std::vector<tenon::Field> fields() const {
    return {{"point", TENON_FLOAT32, {2}, "x and y"}, {"label", TENON_INT64, {}}};
  }
  int64_t size() const { return 10; }
  void get(const tenon::Sample& sample, const tenon::Sink& sink) const {
    switch (sample.index) {
      case 1: throw tenon::DataError("a.png is cut off");
      case 2: throw std::runtime_error("an exception of the standard library");
      case 3: throw 3;
      case 4: sink.slot<double>("point"); return;
      case 5: sink.slot<float>("points"); return;
      case 6:
        sink.slot<int64_t>(1);
        sink.slot<int64_t>("label");
        return;
      default: break;
    }
    float* point = sink.slot<float>("point");
    point[0] = static_cast<float>(sample.epoch);
    point[1] = static_cast<float>(sample.seed);
    sink.put<int64_t>("label", sample.index);
  }
};

class WithWorkers final {
 public:
  struct Worker {
    uint64_t id;
    uint64_t seed;
    int samples = 0;
  };
  std::vector<tenon::Field> fields() const { return {{"label", TENON_INT64, {}}}; }
  int64_t size() const { return 10; }
  Worker open_worker(uint64_t id, uint64_t seed) const { return {id, seed}; }
  void get(Worker& worker, const tenon::Sample&, const tenon::Sink& sink) const {
    sink.put<int64_t>("label", static_cast<int64_t>(100 * worker.id + 10 * worker.seed) + ++worker.samples);
  }
  uint64_t fingerprint() const { return 1234; }
};

// Five samples with known lengths and weights.
class Ordered final {
 public:
  std::vector<tenon::Field> fields() const { return {{"label", TENON_INT64, {}}}; }
  int64_t size() const { return 5; }
  void get(const tenon::Sample&, const tenon::Sink&) const {}
  std::vector<int64_t> lengths() const { return {3, 0, 7, 2, 5}; }
  std::vector<double> weights() const { return {1, 0.5, 0, 2, 1}; }
};

class Miscounting final {
 public:
  std::vector<tenon::Field> fields() const { return {{"label", TENON_INT64, {}}}; }
  int64_t size() const { return 3; }
  void get(const tenon::Sample&, const tenon::Sink&) const {}
  std::vector<int64_t> lengths() const { return {1, 2}; }
  std::vector<double> weights() const { throw tenon::DataError("the weights are lost"); }
};

class Unmakeable final {
 public:
  static std::vector<tenon::Param> schema() { return {}; }
  explicit Unmakeable(const tenon::Params& params) { params.text("nothing"); }
  std::vector<tenon::Field> fields() const { return {}; }
  int64_t size() const { return 0; }
  void get(const tenon::Sample&, const tenon::Sink&) const {}
};

// The memory of a sample. Each field may be requested once.
struct Slots {
  float point[2] = {-1, -1};
  int64_t label = -1;
  int requested[2] = {0, 0};
  std::vector<uint32_t> ranks;

  static tenon_status slot(const tenon_sink* sink, uint64_t field, const int64_t*, uint32_t ndim, void** memory) {
    auto& slots = *static_cast<Slots*>(sink->context);
    if (++slots.requested[field] > 1) return TENON_INVALID_ARGUMENT;
    slots.ranks.push_back(ndim);
    *memory = field == 0 ? static_cast<void*>(slots.point) : &slots.label;
    return TENON_OK;
  }
};

// The slot of a dataset with a label only.
struct LabelSlot {
  int64_t label = -1;
  static tenon_status slot(const tenon_sink* sink, uint64_t, const int64_t*, uint32_t, void** memory) {
    *memory = &static_cast<LabelSlot*>(sink->context)->label;
    return TENON_OK;
  }
};

template <class T>
struct Made : MadeComponent<tenon_dataset> {
  Made() : MadeComponent(tenon::dataset<T>("id", "doc")) {}

  tenon_status get(int64_t index, Slots& slots) {
    const tenon_sample sample = {sizeof sample, index, 2, 9};
    const tenon_sink sink = {sizeof sink, &slots, Slots::slot};
    return table.get(self, nullptr, &sample, &sink);
  }
};

}  // namespace

TEST_CASE_FIXTURE(Made<Troubled>, "a dataset reports its length and its fields") {
  int64_t length = 0;
  CHECK(table.length(self, &length) == TENON_OK);
  CHECK(length == 10);
  const tenon_field* const* fields = nullptr;
  uint64_t count = 0;
  REQUIRE(table.fields(self, &fields, &count) == TENON_OK);
  REQUIRE(count == 2);
  CHECK(to_text(fields[0]->name) == "point");
  CHECK(fields[0]->dtype == TENON_FLOAT32);
  REQUIRE(fields[0]->ndim == 1);
  CHECK(fields[0]->shape[0] == 2);
  CHECK(to_text(fields[0]->doc) == "x and y");
  CHECK(fields[1]->ndim == 0);
}

TEST_CASE_FIXTURE(Made<Troubled>, "a sample is written into its slots") {
  Slots slots;
  REQUIRE(get(7, slots) == TENON_OK);
  CHECK(slots.point[0] == 2);
  CHECK(slots.point[1] == 9);
  CHECK(slots.label == 7);
  CHECK(slots.ranks == std::vector<uint32_t>{1, 0});
}

TEST_CASE_FIXTURE(Made<Troubled>, "an exception of get becomes a status and a message") {
  struct Case {
    int64_t index;
    tenon_status status;
    const char* text;
  };
  for (const Case& expected :
       {Case{1, TENON_BAD_DATA, "a.png is cut off"}, Case{2, TENON_FAILED, "an exception of the standard library"},
        Case{3, TENON_FAILED, "the exception is not a std::exception"},
        Case{4, TENON_INVALID_ARGUMENT, "field \"point\" has dtype float32; it is accessed as float64"},
        Case{5, TENON_NOT_FOUND, "there is no \"points\"; there are: point, label"}}) {
    Slots slots;
    CAPTURE(expected.index);
    CHECK(get(expected.index, slots) == expected.status);
    CHECK(host.failure == expected.text);
  }
}

TEST_CASE_FIXTURE(Made<Troubled>, "an error of the host keeps the host's status and message") {
  Slots slots;
  host.failure = "text of the host";
  CHECK(get(6, slots) == TENON_INVALID_ARGUMENT);
  CHECK(host.failure == "text of the host");
}

TEST_CASE_FIXTURE(Made<Troubled>, "a dataset without workers and fingerprint has no such functions") {
  CHECK((table.open_worker == nullptr));
  CHECK((table.close_worker == nullptr));
  CHECK((table.fingerprint == nullptr));
}

TEST_CASE_FIXTURE(Made<WithWorkers>, "each worker has a separate state") {
  void* workers[2] = {nullptr, nullptr};
  for (uint64_t id : {0, 1}) REQUIRE(table.open_worker(self, id, 5, &workers[id]) == TENON_OK);
  LabelSlot slot;
  const tenon_sink sink = {sizeof sink, &slot, LabelSlot::slot};
  const tenon_sample sample = {sizeof sample, 0, 1, 0};
  for (const auto& [worker, label] : {std::pair(1, 151), {1, 152}, {0, 51}}) {
    CHECK(table.get(self, workers[worker], &sample, &sink) == TENON_OK);
    CHECK(slot.label == label);
  }
  for (void* worker : workers) table.close_worker(self, worker);
}

TEST_CASE_FIXTURE(Made<WithWorkers>, "a fingerprint reaches the host") {
  uint64_t fingerprint = 0;
  CHECK(table.fingerprint(self, &fingerprint) == TENON_OK);
  CHECK(fingerprint == 1234);
}

TEST_CASE_FIXTURE(Made<Ordered>, "lengths and weights of samples are extensions of the component") {
  const auto& by_length = extension<tenon_sample_lengths>(TENON_SAMPLE_LENGTHS);
  CHECK(by_length.size == sizeof by_length);
  std::vector<int64_t> lengths(5, -1);
  CHECK(by_length.lengths(self, lengths.data()) == TENON_OK);
  CHECK(lengths == std::vector<int64_t>{3, 0, 7, 2, 5});

  const auto& by_weight = extension<tenon_sample_weights>(TENON_SAMPLE_WEIGHTS);
  CHECK(by_weight.size == sizeof by_weight);
  std::vector<double> weights(5, -1);
  CHECK(by_weight.weights(self, weights.data()) == TENON_OK);
  CHECK(weights == std::vector<double>{1, 0.5, 0, 2, 1});
  CHECK(component.get_extension(to_string("tenon.sample-lengths/2")) == nullptr);
}

TEST_CASE_FIXTURE(Made<Troubled>, "a dataset that knows neither lengths nor weights has no extensions") {
  CHECK((component.get_extension == nullptr));
}

TEST_CASE_FIXTURE(Made<Miscounting>, "a wrong number of lengths is rejected, and nothing is written") {
  std::vector<int64_t> lengths(3, -1);
  CHECK(extension<tenon_sample_lengths>(TENON_SAMPLE_LENGTHS).lengths(self, lengths.data()) == TENON_INVALID_ARGUMENT);
  CHECK(host.failure == "lengths() returned 2 numbers; size() returned 3");
  CHECK(lengths == std::vector<int64_t>{-1, -1, -1});
}

TEST_CASE_FIXTURE(Made<Miscounting>, "an exception of weights becomes a status and a message") {
  std::vector<double> weights(3);
  CHECK(extension<tenon_sample_weights>(TENON_SAMPLE_WEIGHTS).weights(self, weights.data()) == TENON_BAD_DATA);
  CHECK(host.failure == "the weights are lost");
}

TEST_CASE("a constructor that throws makes create fail") {
  FakeHost host;
  host.open(tenon_plugin_open);
  const tenon::Component component = tenon::dataset<Unmakeable>("id", "doc");
  const tenon_params params;
  void* self = nullptr;
  CHECK(static_cast<const tenon_dataset*>(component.table)->create(host.table(), &params, &self) == TENON_NOT_FOUND);
  CHECK(self == nullptr);
}

}  // namespace dataset_test
