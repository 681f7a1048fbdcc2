#include "framework/components/kinds/dataset.h"

#include <doctest/doctest.h>
#include <tenon/draft/field_details.h>

#include <algorithm>
#include <map>

#include "tests/components/fixture_plugins.h"

using tenon::components::Dataset;
using tenon::components::message_of;
using tenon::components::open_fixture;
using tenon::config::ComponentKind;
using tenon::support::ErrorKind;

namespace {

tenon::config::NamedDataset plan_for(const tenon::components::Component& component) {
  tenon::config::NamedDataset plan;
  plan.name = "train";
  plan.use = component.schema.id;
  plan.place = "run.toml:3:1";
  for (const auto& param : component.schema.params)
    if (param.default_value) plan.params[param.name] = *param.default_value;
  return plan;
}

const tenon::components::Component& only_dataset(const tenon::components::Catalogue& catalogue) {
  return catalogue.find(ComponentKind::dataset, catalogue.component_ids(ComponentKind::dataset).front());
}

// The memory of one sample.
struct SampleMemory {
  explicit SampleMemory(const Dataset& dataset) : varying(dataset.fields().size()) {
    for (const auto& field : dataset.fields()) {
      if (field.is_varying())
        slots.push_back({nullptr, &varying[slots.size()]});
      else
        slots.push_back({fixed.emplace_back(field.sample_bytes).data(), nullptr});
    }
  }
  std::vector<std::vector<std::byte>> fixed;
  std::vector<tenon::components::VaryingSample> varying;  // by field
  std::vector<tenon::components::SampleSlot> slots;
};

void read_sample(const Dataset& dataset, int64_t index, SampleMemory& memory) {
  const tenon_sample sample{sizeof(tenon_sample), index, 1, 0};
  void* worker = dataset.open_worker(0, 0);
  dataset.get(worker, sample, memory.slots);
  dataset.close_worker(worker);
}

// Creates the fixture's dataset and reads one sample of it.
void read_sample(const std::string& fixture, int64_t index) {
  const auto catalogue = open_fixture(fixture);
  const Dataset dataset(only_dataset(catalogue), plan_for(only_dataset(catalogue)));
  SampleMemory memory(dataset);
  read_sample(dataset, index, memory);
}

// The error for the fixture's dataset with these tokens and this padding.
std::string refusal_of_padding(double padding, bool bytes) {
  const auto catalogue = open_fixture("sentences");
  tenon::config::NamedDataset plan = plan_for(only_dataset(catalogue));
  plan.params["padding"] = padding;
  plan.params["bytes"] = bytes;
  return message_of([&] { Dataset(only_dataset(catalogue), plan); }, ErrorKind::plugin);
}

// The error for the fixture's dataset with this parameter.
std::string refusal_of_steps(const std::string& parameter, const tenon::config::Value& value) {
  const auto catalogue = open_fixture("stepped");
  tenon::config::NamedDataset plan = plan_for(only_dataset(catalogue));
  plan.params[parameter] = value;
  return message_of([&] { Dataset(only_dataset(catalogue), plan); }, ErrorKind::plugin);
}

}  // namespace

TEST_CASE("a dataset describes the steps that make a field") {
  const auto catalogue = open_fixture("stepped");
  const Dataset dataset(only_dataset(catalogue), plan_for(only_dataset(catalogue)));
  REQUIRE(dataset.preprocessing().size() == 1);
  CHECK(dataset.preprocessing()[0].field == 1);
  CHECK(dataset.preprocessing()[0].steps == R"([{"name": "normalize", "divide_by": 255}])");
  const auto others = open_fixture("counting");
  CHECK(Dataset(only_dataset(others), plan_for(only_dataset(others))).preprocessing().empty());
}

TEST_CASE("invalid steps of a field are refused with the text that was found") {
  const std::string begin = "dataset \"stepped\" of plugin stepped 1.0.0, preprocessing.lists: ";
  CHECK(refusal_of_steps("field", "images") == begin + "names the field images, which is not a field of the dataset");
  CHECK(refusal_of_steps("twice", true) == begin + "has two lists for the field image; expected one");
  for (const std::string& steps :
       {std::string("[{\"name\": \"resize\"}"), std::string("{\"name\": \"resize\"}"), std::string("[{\"size\": 3}]"),
        std::string("[{\"name\": 3}]"), std::string("[\"resize\"]"), std::string("\xff"), std::string()}) {
    CAPTURE(steps);
    const std::string refusal = refusal_of_steps("steps", steps);
    CHECK(refusal.starts_with(begin + "the steps of image are "));
    CHECK(refusal.ends_with("; expected a JSON array of objects that have a \"name\" each"));
  }
}

TEST_CASE("a dataset describes what its fields are in an image") {
  const auto catalogue = open_fixture("placed");
  const Dataset dataset(only_dataset(catalogue), plan_for(only_dataset(catalogue)));
  const auto& boxes = dataset.fields()[1];
  CHECK(boxes.role == TENON_FIELD_BOXES);
  CHECK(boxes.image == "image");
  CHECK(boxes.classes == "classes");
  CHECK(boxes.least_extent == 1);
  CHECK(dataset.fields()[2].role == TENON_FIELD_NUMBERS);
}

TEST_CASE("details that do not fit their field are refused with what was found and expected") {
  const auto refusal = [](const std::map<std::string, tenon::config::Value>& params) {
    const auto catalogue = open_fixture("placed");
    tenon::config::NamedDataset plan = plan_for(only_dataset(catalogue));
    for (const auto& [name, value] : params) plan.params[name] = value;
    const std::string message = message_of([&] { Dataset(only_dataset(catalogue), plan); }, ErrorKind::plugin);
    const std::string begin = "dataset \"placed\" of plugin placed 1.0.0, field_details.details: ";
    return message.starts_with(begin) ? message.substr(begin.size()) : message;
  };
  const std::string none = "";
  CHECK(refusal({{"field", "box"}}) == "names the field box, which is not a field of the dataset");
  CHECK(refusal({{"twice", true}}) == "boxes has two details; expected one for each field");
  CHECK(refusal({{"role", int64_t{9}}}) == "boxes has the role 9, which does not exist");
  CHECK(refusal({{"image", "picture"}}) == "boxes has the image \"picture\"; expected the name of a field of images");
  CHECK(refusal({{"image", "heading"}}).starts_with("boxes has the image \"heading\""));
  CHECK(refusal({{"classes", "image"}}) ==
        "boxes has the classes \"image\"; expected boxes, and the name of an integer field [M]");
  CHECK(refusal({{"least", int64_t{-1}}}).find("has a least extent of -1") != std::string::npos);
  CHECK(refusal({{"field", "heading"}, {"role", int64_t{0}}}) ==
        "heading is [] and has a least extent of 1; expected 0, or an extent of -1 and a positive number");
  CHECK(refusal({{"field", "classes"}}) == "classes is int64 [-1]; expected boxes: floating-point numbers [M, 4]");
  CHECK(refusal({{"role", int64_t{2}}, {"classes", none}}) ==
        "boxes is float32 [-1, 4]; expected keypoints: floating-point numbers [..., 2] or [..., 3]");
  CHECK(refusal({{"field", "classes"}, {"role", int64_t{3}}, {"classes", none}}) ==
        "classes is int64 [-1]; expected angles: floating-point numbers");
  CHECK(refusal({{"field", "joints"}, {"role", int64_t{2}}, {"classes", none}, {"least", int64_t{0}}}).empty());
}

TEST_CASE("a dataset of a plugin gives its size, fields and samples") {
  const auto catalogue = open_fixture("counting");
  const Dataset dataset(only_dataset(catalogue), plan_for(only_dataset(catalogue)));
  CHECK(dataset.size() > 0);
  REQUIRE(!dataset.fields().empty());
  CHECK_NOTHROW(read_sample("counting", 0));
}

TEST_CASE("a failing create is reported with component, plugin, function and the location in the run file") {
  const std::string message = message_of([] { read_sample("failing_create", 0); }, ErrorKind::plugin);
  CHECK(message.find("dataset \"") == 0);
  CHECK(message.find("create (run.toml:3:1): ") != std::string::npos);
}

TEST_CASE("an exception from create is caught and reported") {
  const std::string message = message_of([] { read_sample("throwing_create", 0); }, ErrorKind::plugin);
  CHECK(message.find("threw an exception: escaped from create") != std::string::npos);
}

TEST_CASE("a sample that cannot be read is a data error with its index") {
  const std::string message = message_of([] { read_sample("failing_get", 7); }, ErrorKind::data);
  CHECK(message.find("get (train sample 7): ") != std::string::npos);
}

TEST_CASE("an exception from get is caught and reported with the sample") {
  const std::string message = message_of([] { read_sample("throwing_get", 3); }, ErrorKind::plugin);
  CHECK(message.find("get (train sample 3): threw an exception") != std::string::npos);
}

TEST_CASE("a varying-size field is written in the shape of its sample, and memory is reused") {
  const auto catalogue = open_fixture("sentences");
  const Dataset dataset(only_dataset(catalogue), plan_for(only_dataset(catalogue)));
  CHECK(to_string(sample_pattern(dataset.fields()[1])) == "[?, 2]");
  CHECK(dataset.fields()[1].sample_bytes == 0);
  SampleMemory memory(dataset);
  read_sample(dataset, 3, memory);
  const std::byte* const first = memory.varying[0].data();
  for (const int64_t index : {3, 2, 4}) {
    read_sample(dataset, index, memory);
    CHECK(memory.varying[0].data() == first);
    REQUIRE(std::ranges::equal(memory.varying[0].shape(), std::vector<int64_t>{index % 4}));
    CHECK(memory.varying[0].bytes() == static_cast<size_t>(8 * (index % 4)));
    // The first contents are replaced: the fixture requests the slot twice.
    const auto* tokens = reinterpret_cast<const int64_t*>(first);
    for (int64_t i = 0; i < index % 4; ++i) CHECK(tokens[i] == index + 1);
    CHECK(std::ranges::equal(memory.varying[1].shape(), std::vector<int64_t>{index % 4, 2}));
  }
}

TEST_CASE("a sample with a shape that does not fit its field is refused with both shapes and its index") {
  const auto refusal_of = [](int64_t index) {
    return message_of([&] { read_sample("sentences", index); }, ErrorKind::plugin);
  };
  const std::string of_minus_one = refusal_of(100);
  CHECK(
      of_minus_one.find("get (train sample 100): the sample's tokens has the shape [-1]; expected [-1] as declared in "
                        "fields, with the sample's extent, 0 or more, in place of each -1") != std::string::npos);
  CHECK(refusal_of(101).find("tokens has the shape [1, 1]; expected [-1] as declared") != std::string::npos);
  CHECK(refusal_of(102).find("(train sample 102): the sample's tokens has the shape [2199023255552]; expected at most "
                             "1024 GiB") != std::string::npos);
  CHECK(refusal_of(103).find("spans has the shape [3, 3]; expected [-1, 2] as declared") != std::string::npos);
  CHECK(refusal_of(104).find("did not write the field tokens") != std::string::npos);
  CHECK(refusal_of(105).find("tokens has the shape [1], but was requested before as [2]") != std::string::npos);
}

TEST_CASE("a padding that the field's dtype cannot hold is refused with component, field and value") {
  const std::string message = refusal_of_padding(0.5, false);
  CHECK(message.find("dataset \"sentences\"") == 0);
  CHECK(message.find("fields: tokens is padded with 0.5, which its dtype int64 cannot hold") != std::string::npos);
  CHECK(refusal_of_padding(-1, true).find("padded with -1, which its dtype uint8 cannot hold") != std::string::npos);
  CHECK(refusal_of_padding(-1, false) == "");
  CHECK(refusal_of_padding(255, true) == "");
}

TEST_CASE("the bytes of a sample are counted, up to a limit") {
  using tenon::components::count_sample_bytes;
  const auto count = [](std::vector<int64_t> shape) { return count_sample_bytes(shape, 4); };
  CHECK(count({}) == 4);
  CHECK(count({3, 5}) == 60);
  CHECK(count({3, 0}) == 0);
  CHECK(count({int64_t{1} << 38}) == size_t{1} << 40);
  CHECK_FALSE(count({(int64_t{1} << 38) + 1}));
  CHECK_FALSE(count({int64_t{1} << 32, int64_t{1} << 32}));
  CHECK_FALSE(count({0, int64_t{1} << 62, 8}));
}
