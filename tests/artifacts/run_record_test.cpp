#include "framework/artifacts/run_folder/run_record.h"

#include <doctest/doctest.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <regex>

#include "file_size_limit.h"
#include "scratch.h"

namespace tenon::artifacts {

using support::ErrorKind;

TEST_CASE("run.json has the versions, the machine and the start of a run") {
  const Scratch scratch;
  RunRecord record = make_run_record({"host", "--config", "a b.toml"}, std::chrono::system_clock::now());
  record.libtorch_version = "2.11.0";
  record.plugins = {{"small_cnn", "1.2", "plugins/small_cnn.so", std::string(64, 'a')}};
  write_run_record(scratch / "run.json", record);
  const auto json = nlohmann::json::parse(read_all(scratch / "run.json"));
  CHECK(json["status"] == "running");
  CHECK(json["reason"].is_null());
  CHECK(json["exit_code"].is_null());
  CHECK(json["end"].is_null());
  const std::regex iso_8601(R"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[+-]\d\d:\d\d)");
  CHECK(std::regex_match(json["start"].get<std::string>(), iso_8601));
  CHECK(std::regex_match(json["tenon"].get<std::string>(), std::regex(R"(\d+\.\d+\.\d+.*)")));
  CHECK(std::regex_match(json["compiler"].get<std::string>(), std::regex(R"((gcc|clang) \d+\.\d+\.\d+)")));
  CHECK(json["libtorch"] == "2.11.0");
  CHECK(json["device"] == "cpu");
  CHECK(json["accelerator"].is_null());
  CHECK(json["host_waits"].is_null());
  CHECK(json["memory_format"].is_null());
  CHECK(json["peak_bytes"].is_null());
  CHECK(json["stages"].is_null());
  CHECK(json["command_line"] == nlohmann::json({"host", "--config", "a b.toml"}));
  CHECK(json["working_directory"] == std::filesystem::current_path().string());
  CHECK(json["plugins"][0]["id"] == "small_cnn");
  CHECK(json["plugins"][0]["sha256"] == std::string(64, 'a'));
  CHECK(json["machine"]["hostname"].get<std::string>() != "");
  CHECK(json["machine"]["cores"].get<int64_t>() >= 1);
  CHECK(json["machine"]["memory_bytes"].get<int64_t>() > 1'000'000);
  CHECK(json["machine"]["kernel"].get<std::string>().starts_with("Linux "));
  CHECK(json["machine"].contains("cpu"));
  CHECK(json["machine"].contains("os"));
}

TEST_CASE("for a CUDA device the record has its name and the versions of its software") {
  RunRecord record = make_run_record({"host"}, std::chrono::system_clock::now());
  record.device = {
      support::ComputeDevice::Kind::cuda, 1, "A device", 9, 0, 85'000'000'000, "13.1", "13.0", "9.19.0", ""};
  const auto json = nlohmann::json::parse(format_run_record(record));
  CHECK(json["device"] == "cuda:1");
  CHECK(json["accelerator"] == nlohmann::json({{"name", "A device"},
                                               {"compute_capability", "9.0"},
                                               {"memory_bytes", 85'000'000'000},
                                               {"driver", "13.1"},
                                               {"cuda", "13.0"},
                                               {"cudnn", "9.19.0"},
                                               {"nccl", nullptr}}));
}

TEST_CASE("the record has the model, the monitored metric and the directions of metrics") {
  RunRecord record = make_run_record({"host"}, std::chrono::system_clock::now());
  record.model_summary = "  module  parameters\n  fc              1,290\n";
  record.monitor = "validation/accuracy";
  record.directions = {{"train/learning_rate", 0}, {"train/loss", -1}, {"validation/accuracy", 1}};
  const auto json = nlohmann::json::parse(format_run_record(record));
  CHECK(json["model"] == nlohmann::json({"  module  parameters", "  fc              1,290"}));
  CHECK(json["monitor"] == "validation/accuracy");
  CHECK(json["directions"] == nlohmann::json({{"train/loss", "min"}, {"validation/accuracy", "max"}}));
}

TEST_CASE("at the end the record has the outcome of the run") {
  const Scratch scratch;
  RunRecord record = make_run_record({"host"}, std::chrono::system_clock::now());
  write_run_record(scratch / "run.json", record);
  record.status = RunStatus::failed;
  record.reason = "the loss is NaN";
  record.exit_code = 7;
  record.host_waits = 12;
  record.graph_replays = 100;
  record.memory_format = "channels_last";
  record.peak_bytes = 1 << 20;
  record.stages = {{"forward", 1.5}, {"callback throughput", 0.25}};
  record.end = record.start + std::chrono::seconds(3);
  write_run_record(scratch / "run.json", record);
  const auto json = nlohmann::json::parse(read_all(scratch / "run.json"));
  CHECK(json["status"] == "failed");
  CHECK(json["reason"] == "the loss is NaN");
  CHECK(json["exit_code"] == 7);
  CHECK(json["host_waits"] == 12);
  CHECK(json["graph_replays"] == 100);
  CHECK(json["memory_format"] == "channels_last");
  CHECK(json["peak_bytes"] == 1 << 20);
  CHECK(json["stages"] == nlohmann::json({{"forward", 1.5}, {"callback throughput", 0.25}}));
  CHECK(json["end"].get<std::string>().size() == 25);
  CHECK(list_names(scratch.path()) == std::set<std::string>{"run.json"});
}

TEST_CASE("the record has the metrics of the test data and the weights that have them") {
  RunRecord record;
  CHECK(nlohmann::json::parse(format_run_record(record))["test"].is_null());
  record.test = TestRecord{"validation/accuracy", 2, 30, {{"test/loss", NAN}, {"test/accuracy", 0.5}}};
  CHECK(nlohmann::json::parse(format_run_record(record))["test"] ==
        nlohmann::json({{"weights", "best"},
                        {"monitor", "validation/accuracy"},
                        {"epoch", 2},
                        {"step", 30},
                        {"metrics", {{"test/loss", "NaN"}, {"test/accuracy", 0.5}}}}));
  record.test->monitor.clear();
  const auto last = nlohmann::json::parse(format_run_record(record))["test"];
  CHECK(last["weights"] == "last");
  CHECK(last["monitor"].is_null());
}

TEST_CASE("git is null, a commit, or a commit with an unknown state") {
  RunRecord record;
  record.git.reset();
  CHECK(nlohmann::json::parse(format_run_record(record))["git"].is_null());
  record.git = GitState{"abc", true};
  CHECK(nlohmann::json::parse(format_run_record(record))["git"] ==
        nlohmann::json({{"commit", "abc"}, {"dirty", true}, {"patch", nullptr}, {"untracked", nullptr}}));
  record.git = GitState{"abc", std::nullopt};
  CHECK(nlohmann::json::parse(format_run_record(record))["git"]["dirty"].is_null());
  record.git = GitState{"abc", true, "git.patch", {{"data/"}}};
  const auto git = nlohmann::json::parse(format_run_record(record))["git"];
  CHECK(git["patch"] == "git.patch");
  CHECK(git["untracked"] == nlohmann::json({"data/"}));
  // A checkpoint's origin is the same for every start of the run.
  CHECK(nlohmann::json::parse(format_origin(record))["git"] == nlohmann::json({{"commit", "abc"}, {"dirty", true}}));
}

TEST_CASE("the digests of the plugins are read from the origin of a checkpoint") {
  const Scratch scratch;
  RunRecord record;
  std::map<std::string, std::string> expected;
  for (int i = 0; i < 20; ++i) {
    const std::string id = "plugin_" + std::to_string(i);
    record.plugins.push_back({id, "1.2", "plugins/" + id + ".so", std::string(64, static_cast<char>('a' + i % 6))});
    expected[id] = record.plugins.back().sha256;
  }
  std::ofstream(scratch / "origin.json") << format_origin(record);
  CHECK(read_plugin_digests(scratch / "origin.json") == expected);
  std::ofstream(scratch / "other.json") << "{}";
  CHECK(read_plugin_digests(scratch / "other.json").empty());
}

TEST_CASE("arguments that are not UTF-8 do not break the record") {
  RunRecord record;
  record.command_line = {"host", "\xFF"};
  CHECK(nlohmann::json::parse(format_run_record(record))["command_line"][1] == "\xEF\xBF\xBD");
}

TEST_CASE("a record that cannot be updated is unchanged") {
  const Scratch scratch;
  RunRecord record = make_run_record({"host"}, std::chrono::system_clock::now());
  write_run_record(scratch / "run.json", record);
  const std::string before = read_all(scratch / "run.json");
  record.status = RunStatus::finished;
  std::string message;
  {
    const FileSizeLimit limit(20);
    message = find_error(ErrorKind::system, [&] { write_run_record(scratch / "run.json", record); });
  }
  CHECK(contains(message, "run.json: cannot be written: File too large"));
  CHECK(read_all(scratch / "run.json") == before);
}

}  // namespace tenon::artifacts
