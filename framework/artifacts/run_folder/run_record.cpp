#include "framework/artifacts/run_folder/run_record.h"

#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string_view>
#include <system_error>

#include "framework/artifacts/files/durable_file.h"
#include "framework/artifacts/run_folder/run_folder.h"
#include "framework/support/files/read_file.h"
#include "framework/support/text/format.h"
#include "framework/support/text/printable.h"

namespace tenon::artifacts {

namespace fs = std::filesystem;

namespace {

using Json = nlohmann::ordered_json;

constexpr std::array kStatuses{"running", "finished", "stopped", "failed"};

std::string describe_compiler() {
#if defined(__clang__)
  return fmt::format("clang {}.{}.{}", __clang_major__, __clang_minor__, __clang_patchlevel__);
#else
  return fmt::format("gcc {}.{}.{}", __GNUC__, __GNUC_MINOR__, __GNUC_PATCHLEVEL__);
#endif
}

Json text_or_null(const std::string& text) { return text.empty() ? Json() : Json(text); }

Json describe_commit(const GitState& git) {
  return {{"commit", git.commit}, {"dirty", git.dirty ? Json(*git.dirty) : Json()}};
}

Json to_json(const GitState& git) {
  Json json = describe_commit(git);
  json["patch"] = text_or_null(git.patch);
  json["untracked"] = git.untracked ? Json(*git.untracked) : Json();
  return json;
}

Json to_json(const Machine& machine) {
  return {{"hostname", text_or_null(machine.hostname)},
          {"cpu", text_or_null(machine.cpu)},
          {"cores", machine.cores},
          {"memory_bytes", machine.memory_bytes},
          {"kernel", text_or_null(machine.kernel)},
          {"os", text_or_null(machine.os)}};
}

// Null for the CPU, which is described under "machine".
Json describe_accelerator(const support::ComputeDevice& device) {
  if (!device.is_cuda()) return {};
  const std::string capability = fmt::format("{}.{}", device.capability_major, device.capability_minor);
  return {{"name", text_or_null(device.name)},    {"compute_capability", capability},
          {"memory_bytes", device.memory_bytes},  {"driver", text_or_null(device.driver)},
          {"cuda", text_or_null(device.runtime)}, {"cudnn", text_or_null(device.cudnn)},
          {"nccl", text_or_null(device.nccl)}};
}

Json to_json(const std::vector<PluginRecord>& plugins) {
  Json list = Json::array();
  for (const auto& plugin : plugins)
    list.push_back(
        {{"id", plugin.id}, {"version", plugin.version}, {"file", plugin.file.string()}, {"sha256", plugin.sha256}});
  return list;
}

Json to_lines(const std::string& text) {
  Json lines = Json::array();
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

// Omits metrics without a better direction.
Json describe_directions(const std::map<std::string, int32_t>& directions) {
  Json known = Json::object();
  for (const auto& [metric, direction] : directions)
    if (direction != 0) known[metric] = direction > 0 ? "max" : "min";
  return known;
}

Json to_json(const TestRecord& test) {
  Json json{{"weights", test.monitor.empty() ? "last" : "best"},
            {"monitor", text_or_null(test.monitor)},
            {"epoch", test.epoch},
            {"step", test.step},
            {"metrics", Json::object()}};
  for (const auto& [name, value] : test.metrics) json["metrics"][name] = Json::parse(format_json_number(value));
  return json;
}

// Returns the rest of the first line that starts with `key`, after `separator`, with blanks and quotes stripped.
std::string find_value(const char* file, std::string_view key, char separator) {
  std::ifstream lines(file);
  for (std::string line; std::getline(lines, line);) {
    const size_t end = line.find(separator);
    if (!line.starts_with(key) || end == std::string::npos) continue;
    constexpr const char* kAround = " \t\"'";
    const size_t first = line.find_first_not_of(kAround, end + 1);
    if (first == std::string::npos) return "";
    return line.substr(first, line.find_last_not_of(kAround) + 1 - first);
  }
  return "";
}

std::string format_local(std::chrono::system_clock::time_point moment, const char* format) {
  const std::time_t seconds = std::chrono::system_clock::to_time_t(moment);
  std::tm local{};
  ::localtime_r(&seconds, &local);
  std::array<char, 64> text{};
  return std::string(text.data(), std::strftime(text.data(), text.size(), format, &local));
}

}  // namespace

const char* to_string(RunStatus status) { return kStatuses[static_cast<size_t>(status)]; }

RunRecord make_run_record(std::vector<std::string> command_line, std::chrono::system_clock::time_point start) {
  RunRecord record;
  record.tenon_version = TENON_VERSION;
  record.compiler = describe_compiler();
  record.command_line = std::move(command_line);
  std::error_code ignored;  // a deleted working directory has no path
  record.working_directory = fs::current_path(ignored);
  record.machine = read_machine();
  record.start = start;
  return record;
}

void read_git(RunRecord& record, const fs::path& directory) {
  record.git_directory = directory;
  record.git = read_git_state(directory);
  if (!record.git && directory != ".") record.git = read_git_state(record.git_directory = ".");
}

std::string format_origin(const RunRecord& record) {
  Json json;
  json["tenon"] = record.tenon_version;
  json["libtorch"] = text_or_null(record.libtorch_version);
  json["git"] = record.git ? describe_commit(*record.git) : Json();
  json["plugins"] = to_json(record.plugins);
  json["data"] = record.data;
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::map<std::string, std::string> read_plugin_digests(const fs::path& file) {
  std::map<std::string, std::string> digests;
  try {
    const Json record = Json::parse(support::read_text(file));
    for (const Json& plugin : record.at("plugins"))
      digests[plugin.at("id").get<std::string>()] = plugin.at("sha256").get<std::string>();
  } catch (const Json::exception&) {
    return {};
  }
  return digests;
}

std::string read_libtorch_build(const fs::path& file) {
  try {
    return Json::parse(support::read_text(file)).at("libtorch").get<std::string>();
  } catch (const Json::exception&) {
    return {};
  }
}

DataRecord read_data_record(const fs::path& file) {
  try {
    return Json::parse(support::read_text(file)).at("data").get<DataRecord>();
  } catch (const Json::exception&) {
    return {};
  }
}

std::string format_run_record(const RunRecord& record) {
  Json json;
  json["status"] = to_string(record.status);
  json["reason"] = text_or_null(support::printable(record.reason));  // a plugin's text may be long
  json["exit_code"] = record.exit_code ? Json(*record.exit_code) : Json();
  json["complete"] = record.is_complete;
  json["host_waits"] = record.host_waits ? Json(*record.host_waits) : Json();
  json["graph_replays"] = record.graph_replays ? Json(*record.graph_replays) : Json();
  json["first_loss"] = record.first_loss ? Json(*record.first_loss) : Json();
  json["zero_output_loss"] = record.zero_output_loss ? Json(*record.zero_output_loss) : Json();
  json["memory_format"] = text_or_null(record.memory_format);
  json["peak_bytes"] = record.peak_bytes ? Json(*record.peak_bytes) : Json();
  json["stages"] = record.stages.empty() ? Json() : Json::object();
  for (const auto& [name, seconds] : record.stages) json["stages"][name] = seconds;
  json["test"] = record.test ? to_json(*record.test) : Json();
  json["start"] = format_iso_8601(record.start);
  json["end"] = record.end ? Json(format_iso_8601(*record.end)) : Json();
  json["resumed_from"] = text_or_null(record.resumed_from.string());
  json["tenon"] = record.tenon_version;
  json["libtorch"] = text_or_null(record.libtorch_version);
  json["compiler"] = record.compiler;
  json["command_line"] = record.command_line;
  json["working_directory"] = text_or_null(record.working_directory.string());
  json["git"] = record.git ? to_json(*record.git) : Json();
  json["device"] = to_string(record.device);
  json["accelerator"] = describe_accelerator(record.device);
  json["threads"] = record.threads;
  json["machine"] = to_json(record.machine);
  json["plugins"] = to_json(record.plugins);
  json["data"] = record.data;
  json["model"] = to_lines(record.model_summary);
  json["monitor"] = text_or_null(record.monitor);
  json["directions"] = describe_directions(record.directions);
  // Arguments and paths may contain any bytes. Invalid UTF-8 becomes U+FFFD.
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::optional<RunStatus> read_run_status(const fs::path& file) {
  const Json json = Json::parse(support::read_text(file), nullptr, /*allow_exceptions=*/false);
  if (!json.is_object() || !json.contains("status") || !json["status"].is_string()) return std::nullopt;
  const auto known = std::ranges::find(kStatuses, json["status"].get<std::string>());
  if (known == kStatuses.end()) return std::nullopt;
  return static_cast<RunStatus>(known - kStatuses.begin());
}

std::string read_run_reason(const fs::path& file) {
  const Json json = Json::parse(support::read_text(file), nullptr, /*allow_exceptions=*/false);
  const bool has_reason = json.is_object() && json.contains("reason") && json["reason"].is_string();
  return has_reason ? json["reason"].get<std::string>() : "";
}

std::optional<Processor> read_processor(const fs::path& file) {
  try {
    const Json record = Json::parse(support::read_text(file));
    return Processor{record.at("machine").at("cpu").get<std::string>(), record.at("threads").get<int64_t>()};
  } catch (const Json::exception&) {
    return std::nullopt;
  }
}

bool has_ended_as_planned(const fs::path& file) {
  const Json json = Json::parse(support::read_text(file), nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) return false;
  const Json status = json.value("status", Json());
  return status == "finished" || (status == "stopped" && json.value("complete", Json()) == true);
}

std::optional<MonitoredMetric> read_monitored_metric(const fs::path& file) {
  try {
    const Json record = Json::parse(support::read_text(file));
    const auto name = record.at("monitor").get<std::string>();
    return MonitoredMetric{name, record.at("directions").at(name) == "max"};
  } catch (const Json::exception&) {
    return std::nullopt;
  }
}

bool has_crashed(const fs::path& run) {
  return read_run_status(RunFolder{run}.record_file()) == RunStatus::running && !is_run_folder_held(run);
}

void write_run_record(const fs::path& file, const RunRecord& record) {
  write_file_durably(file, format_run_record(record), support::ErrorKind::system);
}

Machine read_machine() {
  Machine machine{};
  utsname system{};
  if (::uname(&system) == 0) {
    machine.hostname = system.nodename;
    machine.kernel = fmt::format("{} {} {}", system.sysname, system.release, system.machine);
  }
  machine.cpu = find_value("/proc/cpuinfo", "model name", ':');
  machine.cores = std::max<int64_t>(::sysconf(_SC_NPROCESSORS_ONLN), 0);
  machine.memory_bytes = std::max<int64_t>(::sysconf(_SC_PHYS_PAGES), 0) * ::sysconf(_SC_PAGE_SIZE);
  machine.os = find_value("/etc/os-release", "PRETTY_NAME", '=');
  return machine;
}

int64_t read_peak_memory() {
  const std::string kibibytes = find_value("/proc/self/status", "VmHWM", ':');  // "123456 kB"
  return kibibytes.empty() ? 0 : std::strtoll(kibibytes.c_str(), nullptr, 10) * 1024;
}

std::string format_time_for_names(std::chrono::system_clock::time_point moment) {
  return format_local(moment, "%Y-%m-%dT%H-%M-%S");
}

std::string format_iso_8601(std::chrono::system_clock::time_point moment) {
  std::string text = format_local(moment, "%Y-%m-%dT%H:%M:%S%z");  // ...+0100
  return text.insert(text.size() - 2, ":");
}

std::optional<std::chrono::sys_seconds> parse_iso_8601(const std::string& text) {
  int year = 0, hour = 0, minute = 0, second = 0, offset_hours = 0, offset_minutes = 0;
  unsigned month = 0, day = 0;
  char sign = 0;
  const int read = std::sscanf(text.c_str(), "%4d-%2u-%2uT%2d:%2d:%2d%c%2d:%2d", &year, &month, &day, &hour, &minute,
                               &second, &sign, &offset_hours, &offset_minutes);
  const std::chrono::year_month_day date{std::chrono::year(year), std::chrono::month(month), std::chrono::day(day)};
  if (read != 9 || !date.ok() || (sign != '+' && sign != '-')) return std::nullopt;
  const auto offset = std::chrono::hours(offset_hours) + std::chrono::minutes(offset_minutes);
  return std::chrono::sys_days(date) + std::chrono::hours(hour) + std::chrono::minutes(minute) +
         std::chrono::seconds(second) + (sign == '+' ? -offset : offset);
}

}  // namespace tenon::artifacts
