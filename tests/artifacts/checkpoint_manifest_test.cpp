#include "framework/artifacts/checkpoint/checkpoint_manifest.h"

#include <doctest/doctest.h>
#include <tenon/abi.h>

#include "framework/artifacts/checkpoint/weights_metadata.h"
#include "scratch.h"

namespace tenon::artifacts {

using support::ErrorKind;

namespace {

const std::string kDigest(32, 'a');
const std::string kHead = R"("format": "tenon-checkpoint", "format_version": 1)";
const std::string kCounters = R"("epoch": 1, "step": 2)";

std::string refuse(const std::string& text) {
  return find_error(ErrorKind::checkpoint, [&] { parse_checkpoint_manifest(text, "m.json"); });
}

std::string with_file(const std::string& entry) {
  return "{" + kHead + ", " + kCounters + ", \"files\": [" + entry + "], \"metrics\": {}}";
}

}  // namespace

TEST_CASE("a printed manifest is parsed to the same manifest") {
  const CheckpointManifest manifest{3, 120, {{"train/loss", 0.31}}, {{"model.safetensors", 42, kDigest}}};
  const std::string text = format_checkpoint_manifest(manifest);
  CHECK(text ==
        "{\n  \"format\": \"tenon-checkpoint\",\n  \"format_version\": 1,\n  \"epoch\": 3,\n  \"step\": 120,\n"
        "  \"files\": [\n    {\"name\": \"model.safetensors\", \"bytes\": 42, \"xxh128\": \"" +
            kDigest +
            "\"}\n  ],\n"
            "  \"metrics\": {\n    \"train/loss\": 0.31\n  }\n}\n");
  const CheckpointManifest back = parse_checkpoint_manifest(text, "m.json");
  CHECK(format_checkpoint_manifest(back) == text);
}

TEST_CASE("a manifest keeps the names of classes, and ignores entries of another form") {
  CheckpointManifest manifest{3, 120, {}, {}};
  manifest.class_names = {{"label", {"cat", "b\xC3\xA9\x65 \"x\""}}, {"mask", {"a"}}};
  const std::string text = format_checkpoint_manifest(manifest);
  CHECK(contains(text, "\n  \"class_names\": {\"label\": [\"cat\", \"b\xC3\xA9\x65 \\\"x\\\"\"], \"mask\": [\"a\"]}"));
  CHECK(parse_checkpoint_manifest(text, "m.json").class_names == manifest.class_names);
  for (const char* other : {"", "3", "[]", R"({"label": 3})", R"({"label": ["a", 3]})", R"({"label": ["a", "a"]})"})
    CHECK(parse_class_names(other).empty());
}

TEST_CASE("a manifest keeps the frozen parameters that the checkpoint leaves out") {
  CheckpointManifest manifest{3, 120, {}, {}};
  manifest.excluded = {{"a \"b\".weight", TENON_FLOAT32, {3, 0, 4}, kDigest}, {"scale", TENON_BFLOAT16, {}, kDigest}};
  const std::string text = format_checkpoint_manifest(manifest);
  CHECK(contains(text,
                 "\n  \"excluded_frozen_parameters\": [\n    {\"name\": \"a \\\"b\\\".weight\", \"dtype\": "
                 "\"F32\", \"shape\": [3, 0, 4], \"xxh128\": \"" +
                     kDigest + "\"},\n"));
  CHECK(parse_checkpoint_manifest(text, "m.json").excluded == manifest.excluded);
}

TEST_CASE("an invalid list of frozen parameters is refused with the reason") {
  const auto refuse_list = [](const std::string& entry) {
    return refuse("{" + kHead + ", " + kCounters + R"(, "files": [], "metrics": {}, "excluded_frozen_parameters": [)" +
                  entry + "]}");
  };
  const auto entry = [](const std::string& dtype, const std::string& shape, const std::string& digest) {
    return R"({"name": "w", "dtype": ")" + dtype + R"(", "shape": )" + shape + R"(, "xxh128": ")" + digest + "\"}";
  };
  CHECK(refuse_list("{}") == "m.json: has no name");
  CHECK(contains(refuse_list(entry("X9", "[2]", kDigest)), "m.json: the dtype of \"w\" is \"X9\"; expected F64, "));
  CHECK(contains(refuse_list(entry("F32", "3", kDigest)), "m.json: shape is \"3\"; expected array"));
  CHECK(refuse_list(entry("F32", "[2, -1]", kDigest)) ==
        "m.json: the shape of \"w\" has \"-1\"; expected whole numbers from 0 to 2^63 - 1");
  CHECK(refuse_list(entry("F32", "[2]", "A")) == "m.json: the xxh128 of \"w\" is \"A\"; expected 32 digits");
}

TEST_CASE("a manifest without files and metrics is printed as JSON") {
  const CheckpointManifest back = parse_checkpoint_manifest(format_checkpoint_manifest({1, 2, {}, {}}), "m.json");
  CHECK(back.files.empty());
  CHECK(back.metrics.empty());
}

// The time grew with the square of the size.
TEST_CASE("a manifest of very many objects is read in time proportional to its size") {
  std::string objects = "{}";
  for (int i = 1; i < 1'000'000; ++i) objects += ",{}";
  CHECK(contains(refuse("{" + kHead + ", " + kCounters + R"(, "files": [)" + objects + "]}"), "has no name"));
}

TEST_CASE("an invalid manifest is refused with the reason") {
  CHECK(contains(refuse(""), "m.json: is not JSON"));
  CHECK(contains(refuse("[]"), "m.json: has no format"));
  CHECK(contains(refuse("{}"), "m.json: has no format"));
  CHECK(contains(refuse(std::string(100'000, '[')), "nests deeper"));
  CHECK(contains(refuse(R"({"format": "a", "format": "b"})"), "has the key \"format\" twice"));
  CHECK(contains(refuse(R"({"files": [{"name": "a", "name": "b"}]})"), "has the key \"name\" twice"));
  CHECK(contains(refuse(R"([{"a": 1}, {"a": 2}])"), "has no format"));
  CHECK(contains(refuse(R"({"a": [[[[1]]]]})"), "nests deeper"));
  CHECK(contains(refuse("{}" + std::string(1, '\0') + "{}"), "is not JSON: it has a zero byte at byte 3"));
  CHECK(contains(refuse(R"({"format": "zip"})"), "format is \"zip\"; expected \"tenon-checkpoint\""));
  CHECK(contains(refuse(R"({"format": 1})"), "expected string"));
  CHECK(
      contains(refuse(R"({"format": "tenon-checkpoint", "format_version": 2})"), "format_version is 2; this version"));
  CHECK(contains(refuse("{" + kHead + R"(, "epoch": -1})"), "epoch is \"-1\"; expected a whole number"));
  CHECK(contains(refuse("{" + kHead + R"(, "epoch": 1.5})"), "expected a whole number"));
  CHECK(contains(refuse("{" + kHead + R"(, "epoch": 1, "step": 18446744073709551615})"), "expected a whole number"));
  CHECK(contains(refuse("{" + kHead + ", " + kCounters + "}"), "has no files"));
  CHECK(contains(refuse("{" + kHead + ", " + kCounters + R"(, "files": {}})"), "expected array"));
  CHECK(contains(refuse("{" + kHead + ", " + kCounters + R"(, "files": [], "metrics": {"a": "nan"}})"),
                 "\"a\" is \"nan\""));
  CHECK(contains(refuse("{" + kHead + ", " + kCounters + R"(, "files": [], "metrics": {"a": null}})"), "\"a\" is"));
}

TEST_CASE("a manifest cannot name a file outside of the checkpoint") {
  for (const std::string name : {"../model", "/etc/passwd", "a/b", "..", ".", "", ".hidden", "a\\u0000b"}) {
    const std::string entry = "{\"name\": \"" + name + "\", \"bytes\": 1, \"xxh128\": \"" + kDigest + "\"}";
    CHECK(contains(refuse(with_file(entry)), "expected a file within the checkpoint folder"));
  }
  CHECK(contains(refuse(with_file(R"({"name": "a", "bytes": 1, "xxh128": "AA"})")), "expected 32 digits"));
  CHECK(contains(refuse(with_file(R"({"name": "a", "xxh128": "AA"})")), "has no bytes"));
  CHECK(contains(refuse(with_file("1")), "has no name"));
}

}  // namespace tenon::artifacts
