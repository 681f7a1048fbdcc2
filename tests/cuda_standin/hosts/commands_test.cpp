// The commands of the host on a device must have the results of the CPU.
#include <doctest/doctest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "tests/cuda_standin/hosts/standin_host.h"
#include "tests/test_folder.h"

namespace tenon::cuda_standin {

namespace fs = std::filesystem;
using end_to_end::parts_of;
using end_to_end::read_file;
using end_to_end::read_history_without_times;
using end_to_end::read_last_metric;
using nlohmann::json;

namespace commands_test {

// The output of a command with these weights on a device and on the CPU.
struct Outputs {
  std::string on_device, on_cpu;
};

Outputs run_on_both(const std::string& command, Words arguments, Words settings = {}) {
  Outputs outputs;
  for (const char* device : {"cuda", "cpu"}) {
    const Outcome outcome = require_success(start({"both", settings, arguments, {}, device}, command));
    (device == std::string("cuda") ? outputs.on_device : outputs.on_cpu) = outcome.output;
  }
  return outputs;
}

// Numbers may differ by `limit`, relative to the larger of them and 1. Other values must be equal.
void check_alike(const json& found, const json& expected, double limit) {
  const json numbers = found.flatten();
  const json others = expected.flatten();
  REQUIRE(numbers.size() == others.size());
  for (const auto& [key, value] : others.items()) {
    const std::string& place = key;
    CAPTURE(place);
    REQUIRE(numbers.contains(key));
    if (value.is_number_float())
      CHECK(std::abs(numbers[key].get<double>() - value.get<double>()) <=
            limit * std::max(1.0, std::abs(value.get<double>())));
    else
      CHECK(numbers[key] == value);
  }
}

json read_lines(const fs::path& file) {
  json lines = json::array();
  for (const std::string& line : parts_of(read_file(file), '\n')) lines.push_back(json::parse(line));
  return lines;
}

}  // namespace commands_test

using namespace commands_test;

TEST_CASE("a run on a device has the results of the CPU, replays graphs, and its record names the device") {
  const fs::path folder = check_same_as_on_cpu({"run", {}, {}, {}});
  const json record = json::parse(read_file(folder / "run.json"));
  CHECK(record["device"] == "cuda:0");
  CHECK(record["accelerator"]["name"] == "stand-in for CUDA");
  CHECK(record["accelerator"]["compute_capability"] == "9.0");
  CHECK(record["graph_replays"].get<int>() > 3);
  CHECK(record["host_waits"].get<int>() > 0);
  CHECK(read_file(folder / "report.html").find("stand-in for CUDA") != std::string::npos);
  CHECK(read_last_metric(folder, "train/device_memory_mib") > 0.1);

  const std::string weights = (folder / "checkpoints/latest").string();
  const Outputs evaluated = run_on_both("evaluate", {"--checkpoint", weights, "--json"});
  const json on_device = json::parse(evaluated.on_device)["sets"][0]["metrics"];
  for (const char* metric : {"validation/loss", "validation/accuracy"})
    CHECK(on_device[metric].get<double>() == read_last_metric(folder, metric));
  check_alike(on_device, json::parse(evaluated.on_cpu)["sets"][0]["metrics"], kLimit);

  json predictions[2];
  for (const std::string device : {"cuda", "cpu"}) {
    const fs::path file = test_folder() / (device + ".jsonl");
    require_success(
        start({"predict", {}, {"--checkpoint", weights, "--data", "validation", "--output", file.string()}, {}, device},
              "predict"));
    predictions[device == "cpu"] = read_lines(file);
  }
  CHECK(predictions[1].size() == 359);
  check_alike(predictions[0], predictions[1], kLimit);
}

TEST_CASE("exported weights and models do not depend on the device that exports them") {
  const fs::path folder = train({"exported", {}, {}, {}});
  for (const std::string extension : {".safetensors", ".pt"}) {
    CAPTURE(extension);
    std::string files[2];
    for (const std::string device : {"cuda", "cpu"}) {
      const fs::path file = test_folder() / (device + extension);
      require_success(start({"export",
                             {},
                             {"--checkpoint", (folder / "checkpoints/latest").string(), "--output", file.string()},
                             {},
                             device},
                            "export"));
      files[device == "cpu"] = read_file(file);
    }
    CHECK(!files[0].empty());
    if (extension == ".safetensors") CHECK(files[0] == files[1]);
  }
}

TEST_CASE("a language model on a device continues a text as on the CPU") {
  std::string text;
  for (int i = 0; i < 300; ++i) text += "to be or not to be, that is the question. ";
  end_to_end::write_file(test_folder() / "text.txt", text);
  const Words settings{"model={use=\"gpt\",params={vocabulary_size=40,context=16,layers=2,heads=2,width=16}}",
                       "data.train={use=\"text_windows\",params={path=\"" + (test_folder() / "text.txt").string() +
                           "\",tokens=\"characters\",context=16}}",
                       "loss=[{use=\"sequence_cross_entropy\"}]",
                       "metric=[]",
                       "train={steps=40}",
                       "optimizer={use=\"adamw\",lr=1e-2}",
                       "data.validation={like=\"train\"}",
                       "data.validation_limit_batches=2",
                       "validation.every=\"never\"",
                       "checkpoint.every=\"never\""};
  const fs::path folder = train({"gpt", settings, {}, {}});
  const std::string weights = (folder / "checkpoints/latest").string();
  for (const Words& decoding : {Words{}, Words{"--beam", "3"}}) {
    const Words arguments{"--checkpoint", weights, "--prompt", "to be", "--max-new-tokens", "20"};
    const Outputs outputs = run_on_both("generate", joined(arguments, decoding), settings);
    CHECK(outputs.on_device == outputs.on_cpu);
    CHECK(outputs.on_device.size() > 20);
  }
}

TEST_CASE("commands that measure a run work on a device") {
  const Outputs profiles = run_on_both("profile", {"--repeats", "2", "--json"});
  const json on_device = json::parse(profiles.on_device), on_cpu = json::parse(profiles.on_cpu);
  for (const char* key : {"parameters", "bytes", "forward_macs", "step_flops"}) CHECK(on_device[key] == on_cpu[key]);
  CHECK(on_device["memory"]["between_steps"].get<int64_t>() > 0);

  const Outputs found = run_on_both("lr-find", {"--steps", "20", "--to", "1", "--json"});
  check_alike(json::parse(found.on_device), json::parse(found.on_cpu), kLimit);

  // A sample needs about 0.8 MiB, and an epoch has 287.
  Run wide{"wide",
           {"model.params.hidden=[65536]", "train.cuda_graph=\"off\""},
           {"--repeats", "1", "--json"},
           {{"TENON_STANDIN_MEMORY_MIB", "256"}}};
  const Outcome sizes = require_success(start(wide, "batch-size"));
  const json search = json::parse(sizes.output);
  CHECK(search["has_all_samples"] == false);
  CHECK(search["trials"][0]["kept_for_backward"].get<int64_t>() < 8 << 20);  // without the workspace of cuBLAS
  const auto largest = search["batch_size"].get<int64_t>();
  CHECK(largest >= 16);
  wide.arguments.clear();
  wide.settings.insert(wide.settings.end(),
                       {"data.batch_size=" + std::to_string(largest), "train={steps=2,cuda_graph=\"off\"}",
                        "data.validation_batch_size=8", "data.validation_limit_batches=1"});
  train(wide);
}

TEST_CASE("checks before a run work on a device") {
  const Outputs plans = run_on_both("", {"--check"});
  CHECK(plans.on_device.find("device = \"cuda\"") != std::string::npos);
  require_success(start({"dry", {}, {"--dry-run"}, {}}));
  require_success(start({"overfit", {"optimizer={use=\"adamw\",lr=0.02}"}, {"--samples", "4"}, {}}, "overfit"));
}

TEST_CASE("a timeline of a run on a device is written") {
  const fs::path folder = train({"traced", {}, {"--trace", "steps=8..10"}, {}});
  const json trace = json::parse(read_file(folder / "trace.json"));
  CHECK(trace["traceEvents"].size() > 20);
}

TEST_CASE("a run that is killed on a device resumes bit for bit") {
  const fs::path expected = train({"whole", {}, {}, {}});
  Run killed{"killed",
             {"callback=[{use=\"faulty\",params={how=\"kill\",where=\"environment\"}}]"},
             {"--plugin-dir", TENON_BINARY_DIR "/tests/fixtures/plugins/faulty"},
             {{"TENON_TEST_FAULTY_STEP", "7"}}};
  CHECK(start(killed).exit_code == 128 + 9);
  killed.variables.clear();
  killed.arguments.insert(killed.arguments.end(), {"--resume", "auto"});
  const Outcome resumed = require_success(start(killed));
  CHECK(resumed.output.find("resumed from") != std::string::npos);
  CHECK(read_weights(folder_of("killed")) == read_weights(expected));
}

TEST_CASE("host verify-resume finds no difference on a device") {
  const Outcome verified =
      require_success(start({"verified", {}, {"--steps", "12", "--kills", "1"}, {}}, "verify-resume"));
  CHECK_MESSAGE(verified.output.find("IDENTICAL") != std::string::npos, verified.output);
}

}  // namespace tenon::cuda_standin
