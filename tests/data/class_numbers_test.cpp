#include "framework/data/class_numbers.h"

#include <doctest/doctest.h>

#include "framework/data/plugin_samples.h"
#include "tests/components/fixture_plugins.h"

using namespace tenon;
using components::message_of;
using components::open_fixture;
using support::ErrorKind;
using Texts = std::vector<std::string>;
using Numbers = std::vector<int64_t>;

namespace {

// The fixture `classified` with these parameters.
class Opened {
 public:
  explicit Opened(const config::Values& params, const std::string& fixture = "classified")
      : catalogue_(open_fixture(fixture)),
        component_(catalogue_.find(config::ComponentKind::dataset, fixture)),
        dataset(component_, plan(params)) {}

 private:
  config::NamedDataset plan(const config::Values& params) const {
    config::NamedDataset plan;
    plan.name = "validation";
    plan.use = component_.schema.id;
    plan.place = "run.toml:3:1";
    for (const auto& param : component_.schema.params) plan.params[param.name] = *param.default_value;
    for (const auto& [name, value] : params) plan.params[name] = value;
    return plan;
  }

  components::Catalogue catalogue_;
  const components::Component& component_;

 public:
  const components::Dataset dataset;
};

template <class T>
Numbers to_numbers(const std::byte* data, size_t bytes) {
  Numbers numbers;
  for (const T* element = reinterpret_cast<const T*>(data); numbers.size() < bytes / sizeof(T); ++element)
    numbers.push_back(*element);
  return numbers;
}

// Reads the only sample through the numbering. Returns the numbers of a field.
Numbers read(const components::Dataset& dataset, const data::ClassNumbers& classes, const std::string& field) {
  data::PluginSamples samples(dataset, classes);
  std::vector<std::vector<std::byte>> fixed;
  std::vector<components::VaryingSample> varying(dataset.fields().size());
  std::vector<data::SampleSlot> slots;
  for (const data::Field& one : dataset.fields()) {
    if (one.is_varying())
      slots.push_back({nullptr, &varying[slots.size()]});
    else
      slots.push_back({fixed.emplace_back(one.sample_bytes).data(), nullptr});
  }
  samples.open_worker(0, 0)->get({0, 1, 0}, slots);
  for (size_t i = 0; i < slots.size(); ++i) {
    const data::Field& one = dataset.fields()[i];
    if (one.name != field) continue;
    const std::byte* const data = one.is_varying() ? varying[i].data() : slots[i].fixed;
    const size_t bytes = one.is_varying() ? varying[i].bytes() : one.sample_bytes;
    if (one.dtype == TENON_UINT8) return to_numbers<uint8_t>(data, bytes);
    if (one.dtype == TENON_INT8) return to_numbers<int8_t>(data, bytes);
    if (one.dtype == TENON_INT16) return to_numbers<int16_t>(data, bytes);
    if (one.dtype == TENON_INT32) return to_numbers<int32_t>(data, bytes);
    return to_numbers<int64_t>(data, bytes);
  }
  FAIL("no field ", field);
  return {};
}

std::string refusal(const config::Values& params, const data::Numbering& numbering, ErrorKind kind = ErrorKind::data) {
  const Opened opened(params);
  return message_of([&] { data::ClassNumbers(opened.dataset, numbering, "run.toml:3:1"); }, kind);
}

const Texts kAnimals{"ant", "bee", "cat"};

}  // namespace

TEST_CASE("numbers of classes are translated by name, in every integer dtype") {
  for (const char* field : {"uint8", "int8", "int16", "int32", "int64", "varying"}) {
    CAPTURE(field);
    // 100 is the number of no class.
    const Opened opened(
        {{"field", std::string(field)}, {"names", Texts{"cat", "ant"}}, {"numbers", Numbers{0, 1, 100}}});
    const data::ClassNumbers classes(opened.dataset, {{{field, kAnimals}}, "w.safetensors"}, "run.toml:3:1");
    CHECK_FALSE(classes.is_identity());
    CHECK(read(opened.dataset, classes, field) == Numbers{2, 0, 100});
    CHECK(classes.names() == config::ClassNames{{field, kAnimals}});
    const std::string other = field == std::string("int64") ? "int32" : "int64";
    CHECK(read(opened.dataset, classes, other) == Numbers{0, 1, 100});
  }
}

TEST_CASE("negative numbers and numbers above all classes stay") {
  const Opened opened({{"names", Texts{"bee"}}, {"numbers", Numbers{-1, 0, 3, -100}}});
  const data::ClassNumbers classes(opened.dataset, {{{"int64", kAnimals}}}, "run.toml:3:1");
  CHECK(read(opened.dataset, classes, "int64") == Numbers{-1, 1, 3, -100});
}

TEST_CASE("a number that the dataset does not name may not become another class") {
  const Opened opened({{"names", Texts{"bee", "cat"}}, {"numbers", Numbers{0, 2}}});
  const data::ClassNumbers classes(opened.dataset, {{{"int64", kAnimals}}}, "run.toml:3:1");
  const std::string message = message_of([&] { read(opened.dataset, classes, "int64"); }, ErrorKind::data);
  CHECK(message ==
        "validation sample 0: its int64 holds 2, which is none of the 2 classes that the dataset names, but is the "
        "number of another class: name every class, or use a number of at least 3 for no class");
}

TEST_CASE("the same classes in the same order, and classes without names, are not translated") {
  const Opened same({{"names", kAnimals}});
  CHECK(data::ClassNumbers(same.dataset, {{{"int64", kAnimals}}}, "").is_identity());
  const data::ClassNumbers first(same.dataset, {}, "");
  CHECK(first.is_identity());
  CHECK(first.names() == config::ClassNames{{"int64", kAnimals}});
  const Opened counted({{"count", int64_t{2}}});
  const data::ClassNumbers numbered(counted.dataset, {{{"int64", kAnimals}}}, "");
  CHECK(numbered.is_identity());
  CHECK(numbered.names() == config::ClassNames{{"int64", kAnimals}});
  CHECK(data::ClassNumbers(counted.dataset, {}, "").names().empty());
}

TEST_CASE("unknown classes are refused with both lists, which are shortened") {
  CHECK(refusal({{"names", Texts{"dog", "ant"}}}, {{{"int64", kAnimals}}, "w.safetensors"}) ==
        "run.toml:3:1: the int64 of validation has 2 classes (\"dog\", \"ant\"); expected only classes of "
        "w.safetensors, which has 3 classes (\"ant\", \"bee\", \"cat\"): \"dog\" is not among them; remove or rename "
        "these classes of the data, or train with them");
  Texts many;
  for (int i = 0; i < 1000; ++i) many.push_back("n" + std::to_string(i));
  CHECK(
      refusal({{"names", many}}, {{{"int64", kAnimals}}, "the training data"}) ==
      "run.toml:3:1: the int64 of validation has 1000 classes (\"n0\", \"n1\", \"n2\", \"n3\", \"n4\", \"n5\", ..., "
      "\"n998\", \"n999\"); expected only classes of the training data, which has 3 classes (\"ant\", \"bee\", "
      "\"cat\"): \"n0\", \"n1\", \"n10\", \"n100\", \"n101\", \"n102\", \"n103\", \"n104\" and 992 more are not among "
      "them; remove or rename these classes of the data, or add them to the training data");
}

TEST_CASE("more classes than the numbering has, and numbers that do not fit the dtype, are refused") {
  CHECK(refusal({{"count", int64_t{4}}}, {{{"int64", kAnimals}}, "w.safetensors"}) ==
        "run.toml:3:1: the int64 of validation has 4 classes; expected at most the 3 classes (\"ant\", \"bee\", "
        "\"cat\") of w.safetensors: give the data the same classes");
  Texts many;
  for (int i = 0; i < 129; ++i) many.push_back("n" + std::to_string(i));
  CHECK(refusal({{"field", std::string("int8")}, {"names", Texts{"n0"}}}, {{{"int8", many}}, "w.safetensors"}) ==
        "run.toml:3:1: the int8 of validation holds int8, which cannot number the 129 classes of w.safetensors; "
        "expected a wider dtype: change the dataset");
}

TEST_CASE("names for a field that the data do not have are refused") {
  const Opened opened({{"names", kAnimals}});
  CHECK(message_of(
            [&] {
              data::require_class_fields({{"int46", kAnimals}}, "data.class_names", opened.dataset, "run.toml:3:7");
            },
            ErrorKind::configuration)
            .find("run.toml:3:7: data.class_names names the classes of the field int46, but ") == 0);
  CHECK_NOTHROW(data::require_class_fields({{"int64", kAnimals}}, "data.class_names", opened.dataset, "run.toml:3:7"));
  CHECK(message_of(
            [&] {
              data::require_class_fields({{"float", kAnimals}}, "data.class_names", opened.dataset, "run.toml:3:7");
            },
            ErrorKind::configuration)
            .find("has no integer field with that name") != std::string::npos);
}

TEST_CASE("wrong classes of a plugin are reported with the field") {
  const auto report = [](const config::Values& params) {
    return message_of([&] { Opened{params}; }, ErrorKind::plugin);
  };
  const auto ends_with = [&](const config::Values& params, const std::string& text) {
    const std::string message = report(params);
    CAPTURE(message);
    CHECK(message.ends_with("class_names.classes: " + text));
  };
  ends_with({{"field", std::string("lable")}, {"names", kAnimals}},
            "names the field lable, which is not a field of the dataset");
  ends_with({{"field", std::string("float")}, {"names", kAnimals}},
            "names the field float, which holds float32; expected an integer dtype");
  ends_with({{"names", kAnimals}, {"twice", true}}, "has two lists for the field int64; expected one");
  ends_with({{"names", Texts{}}}, "int64 has 0 classes; expected 1 to 2147483648");
  ends_with({{"names", Texts{"ant", ""}}},
            "int64 has a class with an empty name; expected a different name for each class");
  ends_with({{"names", Texts{"ant", "ant"}}},
            "int64 has the class \"ant\" twice; expected a different name for each class");
  CHECK(report({{"names", kAnimals}, {"count", int64_t{4}}})
            .find("class_names() returned 3 names and a count of 4 for the field \"int64\"") != std::string::npos);
}

TEST_CASE("names that are not UTF-8 are escaped") {
  const Opened opened({{"names", Texts{"b\xE9\x65", "a\x1B[31m"}}});
  CHECK(opened.dataset.classes().front().names == Texts{"b\\xe9e", "a\\u001b[31m"});
}

TEST_CASE("a plugin in C names its classes") {
  const Opened opened({}, "classified_in_c");
  REQUIRE(opened.dataset.classes().size() == 1);
  CHECK(opened.dataset.classes().front().names == Texts{"cat", "dog"});
  CHECK(opened.dataset.classes().front().count == 2);
}
