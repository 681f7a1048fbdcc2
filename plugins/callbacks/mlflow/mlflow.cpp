// The callback mlflow: logs a run to an MLflow tracking server.
#include <tenon/plugin.hpp>

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "plugins/callbacks/fits_glob.h"
#include "plugins/callbacks/mlflow/curl_library.h"
#include "plugins/callbacks/mlflow/names.h"
#include "plugins/callbacks/mlflow/queue.h"
#include "plugins/callbacks/mlflow/sender.h"
#include "plugins/callbacks/mlflow/server_settings.h"

namespace {

using mlflow::Json;

int64_t now_ms() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::system_clock::now().time_since_epoch())
      .count();
}

// 128 random bits, which identify a run on every server.
std::string make_run_id() {
  std::random_device random;
  std::string id;
  for (int i = 0; i < 4; ++i) {
    char digits[9];
    std::snprintf(digits, sizeof digits, "%08x", random());
    id += digits;
  }
  return id;
}

// JSON has no number for these. MLflow reads the names.
Json to_json(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "Infinity" : "-Infinity";
  return value;
}

// `host sync` keeps trying at least this long.
constexpr std::chrono::seconds kLongestPause{10};

class Mlflow final {
 public:
  static std::vector<tenon::Param> schema() {
    return {tenon::param("tracking_uri", "")
                .doc("address of the server, such as \"http://127.0.0.1:5000\"; empty: the "
                     "environment variable MLFLOW_TRACKING_URI"),
            tenon::param("experiment", "")
                .doc("name of the experiment, which is created if it does not exist; empty: "
                     "MLFLOW_EXPERIMENT_NAME or MLFLOW_EXPERIMENT_ID, and without them run.name"),
            tenon::param("run_name", "").doc("name of the run; empty: the name of the run folder"),
            tenon::param("artifacts", std::vector<std::string>{"plan.toml", "report.html"})
                .doc("files of the run folder to send at the end; * matches any characters, ? matches one"),
            tenon::param("wait_s", 30.0).range("[0, 3600]").doc("longest wait for the server at the end of the run")};
  }

  explicit Mlflow(const tenon::Params& params)
      : settings_(mlflow::read_server_settings(params.text("tracking_uri"))),
        experiment_(params.text("experiment")),
        run_name_(params.text("run_name")),
        artifacts_(params.texts("artifacts")),
        wait_s_(params.number("wait_s")) {}

  ~Mlflow() {
    try {
      finish();
    } catch (const std::exception& error) {
      warn(error.what());
    }
  }
  Mlflow(const Mlflow&) = delete;

  // After the callbacks that add values to the history.
  int32_t priority() const { return 900; }

  // Reports what is missing before the first step.
  void on_run_setup(const tenon::Run& run) {
    if (run.rank() != 0) return;
    const tenon::RunDescription description = tenon::describe_run(run);
    is_logged_ = !run.folder().empty() && !description.is_temporary;
    if (!is_logged_) return;
    require_server();
  }

  void on_run_start(const tenon::Run& run) {
    if (!is_logged_) return;
    folder_ = run.folder();
    queue_ = std::make_unique<mlflow::Queue>(folder_);
    const tenon::RunDescription description = tenon::describe_run(run);
    is_resumed_ = !description.resumed_from.empty();
    settings_of_run_ = tenon::read_settings(run);
    for (const auto& [key, value] : settings_of_run_)
      if (key.starts_with("loss[") && key.ends_with("].name")) losses_.push_back(value);
    is_new_ = queue_->size() == 0;
    is_new_ ? log_start(description) : log_changes(description);
    sender_ = std::make_unique<mlflow::Sender>(settings_, folder_, *queue_, &log_from_thread);
  }

  // The run repeats the steps after its checkpoint. On the same machine their values are equal, so those that are
  // already in the queue are not added again.
  void on_checkpoint_loaded(const tenon::Run& run) {
    if (!queue_ || !std::exchange(is_resumed_, false)) return;
    if (is_new_) {
      add_history();
    } else {
      visit_lines([&](const Json& line) {
        if (line.value("kind", "") == "values" && line.value("step", int64_t{-1}) >= run.step())
          logged_.emplace(line.at("step"), line.at("event"));
      });
    }
  }

  void on_log(const tenon::Run& run) { log_values("step", run); }
  void on_validation_end(const tenon::Run& run) { log_values("validation", run); }
  void on_epoch_end(const tenon::Run& run) { log_values("epoch", run); }
  void on_checkpoint_after(const tenon::Run&) {
    if (sender_) sender_->request_queue_sync();
  }

  void on_run_end(const tenon::Run& run) {
    if (!queue_) return;
    log_values("test", run);
    end(tenon::describe_run(run).stop_signal == 0 ? "FINISHED" : "KILLED");
  }
  void on_run_exception(const tenon::Run& run) {
    if (!queue_) return;
    append({{"kind", "tags"}, {"tags", {{"tenon.error", mlflow::shorten(run.error(), mlflow::kLongestTag)}}}});
    end("FAILED");
  }

  // For `host sync`.
  void finish_work(const std::string& folder) {
    std::error_code ignored;
    if (!std::filesystem::exists(folder + "/mlflow/queue.jsonl", ignored))
      return;  // a dry run, or one that failed early
    require_server();
    mlflow::Queue queue(folder);
    mlflow::Sender sender(settings_, folder, queue, &log_from_thread);
    if (sender.finish_without_limit(std::max<std::chrono::milliseconds>(longest_wait(), kLongestPause))) return;
    throw tenon::Error(settings_.uri + " does not have all of " + queue.path() +
                       "; the reason is in the warnings above; try again when the server takes it");
  }

 private:
  static void warn(const std::string& text) { tenon::log_warning(text); }
  // The host adds the plugin's id only to lines of its threads.
  static void log_from_thread(const std::string& text) { tenon::log_warning("mlflow: " + text); }

  void require_server() const {
    if (settings_.uri.empty()) {
      throw tenon::Error(TENON_INVALID_ARGUMENT,
                         "no tracking server is set; expected its address in the environment variable "
                         "MLFLOW_TRACKING_URI or in params.tracking_uri, such as \"http://127.0.0.1:5000\"");
    }
    mlflow::curl_library();
  }

  std::chrono::milliseconds longest_wait() const { return std::chrono::milliseconds(std::llround(wait_s_ * 1000)); }

  void append(const Json& line) {
    if (queue_->append(line.dump(-1, ' ', false, Json::error_handler_t::replace))) {
      if (sender_) sender_->notify();
    } else if (!std::exchange(has_warned_, true)) {
      warn(queue_->path() + " cannot be written: " + std::strerror(errno) + "; some of the run is not logged");
    }
  }

  void end(const char* status) {
    if (!sender_) return;
    append({{"kind", "status"}, {"status", status}, {"time", now_ms()}});
  }

  void log_start(const tenon::RunDescription& description) {
    std::string experiment = experiment_.empty() ? mlflow::read_environment("MLFLOW_EXPERIMENT_NAME") : experiment_;
    const std::string id = experiment.empty() ? mlflow::read_environment("MLFLOW_EXPERIMENT_ID") : "";
    if (experiment.empty()) experiment = description.name;
    const std::string name = std::filesystem::path(folder_).filename().string();
    Json tags = {{"mlflow.source.name", "tenon"}, {"mlflow.source.type", "LOCAL"}, {"tenon.folder", folder_}};
    if (const std::string user = mlflow::read_environment("USER"); !user.empty()) tags["mlflow.user"] = user;
    if (is_resumed_) tags["tenon.resumed_from"] = description.resumed_from;
    append({{"kind", "run"},
            {"id", make_run_id()},
            {"experiment", experiment},
            {"experiment_id", id},
            {"name", run_name_.empty() ? name : run_name_},
            {"time", now_ms()},
            {"tags", tags}});
    Json settings = Json::object();
    for (const auto& [key, value] : settings_of_run_)
      settings[mlflow::make_param_name(key)] = mlflow::shorten(value, mlflow::kLongestParam);
    append({{"kind", "settings"}, {"settings", settings}});
  }

  // MLflow does not change a parameter, so a setting that differs since the run was resumed becomes a tag.
  void log_changes(const tenon::RunDescription& description) {
    Json before = Json::object();
    visit_lines([&](const Json& line) {
      if (line.value("kind", "") == "settings") before = line.at("settings");
    });
    Json tags = {{"tenon.resumed_from", description.resumed_from}};
    for (const auto& [key, value] : settings_of_run_) {
      const std::string name = mlflow::make_param_name(key);
      if (before.value(name, "") != mlflow::shorten(value, mlflow::kLongestParam))
        tags["tenon.changed." + name] = mlflow::shorten(value, mlflow::kLongestTag);
    }
    append({{"kind", "tags"}, {"tags", tags}});
    append({{"kind", "status"}, {"status", "RUNNING"}, {"time", now_ms()}});
  }

  void log_values(const char* event, const tenon::Run& run) {
    if (!queue_) return;
    Json values = Json::array();
    for (const tenon::RunValue& logged : tenon::read_values(run))
      values.push_back({name_of(event, logged.name), to_json(logged.value)});
    add_values(event, run.step(), now_ms(), values);
  }

  void add_values(const std::string& event, int64_t step, int64_t time_ms, const Json& values) {
    if (values.empty() || logged_.count({step, event})) return;
    append({{"kind", "values"}, {"event", event}, {"step", step}, {"time", time_ms}, {"values", values}});
  }

  std::string name_of(const std::string& event, const std::string& name) const {
    const bool is_mean = event == "epoch" && mlflow::is_mean_over_epoch(name, losses_);
    return mlflow::make_metric_name(is_mean ? name + "_epoch" : name);
  }

  // Adds the values before the checkpoint to a run that resumes in a new folder. Their times count back from now.
  void add_history() {
    std::ifstream stream(folder_ + "/history.jsonl");
    std::vector<Json> lines;
    for (std::string text; std::getline(stream, text);) {
      Json line = Json::parse(text, nullptr, /*allow_exceptions=*/false);
      if (line.is_object()) lines.push_back(std::move(line));
    }
    for (const Json& line : lines) {
      const double before_s = lines.back().value("time_s", 0.0) - line.value("time_s", 0.0);
      const std::string event = line.value("event", "");
      Json values = Json::array();
      for (const auto& [name, value] : line.items())
        if (name != "event" && name != "epoch" && name != "step" && name != "time_s")
          values.push_back({name_of(event, name), value});
      add_values(event, line.value("step", int64_t{0}), now_ms() - std::llround(before_s * 1000), values);
    }
  }

  template <class Visit>
  void visit_lines(Visit&& visit) const {
    constexpr size_t kBlock = 256 << 10;
    int64_t offset = 0;
    for (auto lines = queue_->read(0, kBlock); !lines.empty(); lines = queue_->read(offset, kBlock)) {
      for (const mlflow::Queue::Line& text : lines) {
        const Json line = Json::parse(text.text, nullptr, /*allow_exceptions=*/false);
        if (line.is_object()) visit(line);
      }
      offset = lines.back().end;
    }
  }

  // The host has written all files of the run when it destroys the callback.
  void finish() {
    if (!sender_) return;
    for (const std::string& path : tenon::list_run_files(folder_)) {
      if (path.rfind("mlflow/", 0) == 0) continue;
      for (const std::string& pattern : artifacts_) {
        if (!fits_glob(pattern.c_str(), path.c_str())) continue;
        append({{"kind", "artifact"}, {"path", path}});
        break;
      }
    }
    if (sender_->finish(longest_wait())) return;
    char seconds[40];
    std::snprintf(seconds, sizeof seconds, "%g", wait_s_);
    warn("the server does not have all of the run after " + std::string(seconds) +
         " s (params.wait_s); the rest stays in " + queue_->path() + "; send it with `host sync " + folder_ + "`");
  }

  mlflow::ServerSettings settings_;
  std::string experiment_;
  std::string run_name_;
  std::vector<std::string> artifacts_;
  double wait_s_;

  bool is_logged_ = false;   // rank 0 logs, and not in a dry run
  bool is_new_ = true;       // nothing of the run was logged before this process
  bool is_resumed_ = false;  // and its checkpoint is not loaded yet
  bool has_warned_ = false;
  std::string folder_;
  std::vector<std::pair<std::string, std::string>> settings_of_run_;
  std::vector<std::string> losses_;
  std::set<std::pair<int64_t, std::string>> logged_;  // steps and events after the checkpoint that are in the queue
  std::unique_ptr<mlflow::Queue> queue_;
  std::unique_ptr<mlflow::Sender> sender_;
};

}  // namespace

TENON_PLUGIN("mlflow", "0.1.0", "Apache-2.0", "Logs runs to an MLflow tracking server.",
             tenon::callback<Mlflow>("mlflow",
                                     "logs settings, metrics and files of the run to an MLflow tracking server"))
