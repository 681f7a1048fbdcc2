#include "plugins/callbacks/mlflow/sender.h"

#include <pthread.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <utility>

#include "plugins/callbacks/mlflow/names.h"

namespace mlflow {

namespace {

constexpr size_t kBytesPerRead = 256 << 10;  // bounds the memory

// Starts a thread that receives no signals, so that those of the host arrive at its threads. Faults remain, which the
// host reports. SIGPIPE of a broken connection is among the others.
template <class Body>
std::thread start_without_signals(Body body) {
  sigset_t all, before;
  sigfillset(&all);
  for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT}) sigdelset(&all, fault);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  std::thread thread;
  try {
    thread = std::thread(std::move(body));
  } catch (...) {
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    throw;
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return thread;
}

Json key_value(const std::string& key, const std::string& value) { return {{"key", key}, {"value", value}}; }

void add_metrics(const Json& line, Json& metrics) {
  for (const Json& pair : line.at("values"))
    metrics.push_back(
        {{"key", pair.at(0)}, {"value", pair.at(1)}, {"timestamp", line.at("time")}, {"step", line.at("step")}});
}

}  // namespace

Sender::Sender(ServerSettings settings, std::string folder, Queue& queue, std::function<void(const std::string&)> log,
               SenderOptions options)
    : settings_(std::move(settings)),
      folder_(std::move(folder)),
      queue_(queue),
      log_(std::move(log)),
      options_(options),
      client_(settings_, is_cancelled_),
      sent_(Sent::read(folder_, settings_.uri)),
      pause_(options.first_pause) {
  // The queue lost its end in a power failure. The server ignores what it receives twice.
  if (sent_.offset < 0 || sent_.offset > queue_.size()) sent_.offset = 0;
  sent_offset_ = sent_.offset;
  thread_ = start_without_signals([this] { run(); });
}

Sender::~Sender() { stop(); }

void Sender::notify() {
  { const std::lock_guard lock(mutex_); }  // the thread is not between its check and its wait
  changed_.notify_all();
}

void Sender::request_queue_sync() {
  {
    const std::lock_guard lock(mutex_);
    wants_sync_ = true;
  }
  changed_.notify_all();
}

bool Sender::finish(std::chrono::milliseconds longest) {
  {
    std::unique_lock lock(mutex_);
    phase_ = Phase::finishing;
    changed_.notify_all();
    changed_.wait_for(lock, longest, [&] { return has_given_up_ || is_all_sent(); });
  }
  return stop();
}

bool Sender::finish_without_limit(std::chrono::milliseconds longest_pause) {
  {
    std::unique_lock lock(mutex_);
    phase_ = Phase::finishing;
    changed_.notify_all();
    const auto is_over = [&] { return has_given_up_ || is_all_sent(); };
    for (int64_t before = -1; !is_over() && !(is_away_ && progress_ == before);) {
      before = progress_;
      changed_.wait_for(lock, longest_pause, [&] { return is_over() || progress_ != before; });
    }
  }
  return stop();
}

bool Sender::stop() {
  {
    const std::lock_guard lock(mutex_);
    phase_ = Phase::stopped;
    is_cancelled_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
  return is_all_sent();
}

void Sender::run() {
  for (;;) {
    bool wants_sync = false;
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock,
                    [&] { return phase_ == Phase::stopped || wants_sync_ || (!has_given_up_ && !is_all_sent()); });
      if (phase_ == Phase::stopped) return;
      wants_sync = std::exchange(wants_sync_, false);
    }
    if (wants_sync) queue_.sync();
    if (has_given_up_ || is_all_sent()) continue;
    try {
      send_next(queue_.read(sent_.offset, kBytesPerRead));
    } catch (const Unavailable& failure) {
      if (is_cancelled_) return;
      note_failure(failure);
    } catch (const Refused& refused) {
      const bool is_unknown = refused.code() == "RESOURCE_DOES_NOT_EXIST";
      give_up(
          refused.what() +
          std::string(is_unknown ? "; to log everything to a new run, remove " + folder_ + "/mlflow/sent.json" : ""));
    } catch (const std::exception& error) {
      give_up(error.what());
    }
  }
}

// Sends lines, and acknowledges those that were sent. Values of several lines are in one request.
void Sender::send_next(const std::vector<Queue::Line>& lines) {
  if (sent_.run_id.empty()) open_run();
  Json metrics = Json::array();
  int64_t end = sent_.offset;
  const auto send_metrics = [&] {
    if (!metrics.empty()) send_or_divide("metrics", std::exchange(metrics, Json::array()));
    if (end > sent_.offset) acknowledge(end);
  };
  for (const Queue::Line& text : lines) {
    const Json line = Json::parse(text.text, nullptr, /*allow_exceptions=*/false);
    try {
      const std::string kind = line.is_object() ? line.at("kind").get<std::string>() : "";
      if (kind == "values") {
        add_metrics(line, metrics);
      } else {
        send_metrics();
        send_line(line);
      }
    } catch (const nlohmann::json::exception&) {
      log_(queue_.path() + " has a line that cannot be read: " + text.text.substr(0, 100) + "; it is skipped");
    }
    end = text.end;
    if (metrics.size() >= kMostMetrics) send_metrics();
  }
  send_metrics();
  if (std::exchange(has_warned_, false)) log_(settings_.uri + " answers again; sending what the run has logged so far");
  pause_ = options_.first_pause;
}

void Sender::open_run() {
  RunStart start;
  try {
    const Json line = Json::parse(queue_.read(0, 1).at(0).text);
    start = {line.at("experiment"), line.at("experiment_id"), line.at("name"), line.at("id"), line.at("time"), {}};
    for (const auto& [key, value] : line.at("tags").items()) start.tags.push_back({key, value});
  } catch (const nlohmann::json::exception& error) {
    throw std::runtime_error("the first line of " + queue_.path() + " cannot be read: " + error.what() +
                             "; expected the line that the callback wrote when the run began");
  }
  const OpenedRun opened = client_.open_run(start);
  sent_.experiment_id = opened.experiment_id;
  sent_.run_id = opened.run_id;
  sent_.artifact_uri = opened.artifact_uri;
  acknowledge(sent_.offset);
}

void Sender::send_line(const Json& line) {
  const std::string kind = line.value("kind", "");
  if (kind == "settings") {
    send_settings(line.at("settings"));
  } else if (kind == "tags") {
    Json tags = Json::array();
    for (const auto& [key, value] : line.at("tags").items()) tags.push_back(key_value(key, value));
    send_or_divide("tags", tags);
  } else if (kind == "status") {
    const std::string status = line.at("status");
    client_.update_run(sent_.run_id, status,
                       status == "RUNNING" ? std::nullopt : std::optional<int64_t>(line.at("time")));
  } else if (kind == "artifact") {
    send_artifact(line.at("path"));
  }
}

void Sender::send_settings(const Json& settings) {
  Json params = Json::array();
  for (const auto& [key, value] : settings.items()) params.push_back(key_value(key, value));
  send_or_divide("params", params);
}

// Sends entries of runs/log-batch. The server refuses a request if one of its entries is wrong, so a refused one is
// divided, until the wrong entry is found.
void Sender::send_or_divide(const char* kind, const Json& entries) {
  const size_t most = kind == std::string_view("metrics") ? kMostMetrics : kMostParams;
  const auto send_part = [&](const auto& self, size_t begin, size_t end) -> void {
    if (begin == end) return;
    const auto send_halves = [&] {
      const size_t middle = begin + (end - begin) / 2;
      self(self, begin, middle);
      self(self, middle, end);
    };
    if (end - begin > most) return send_halves();
    Json part = Json::array();
    for (size_t i = begin; i < end; ++i) part.push_back(entries[i]);
    try {
      client_.log_batch(sent_.run_id, {{kind, part}});
    } catch (const Refused& refused) {
      if (!refused.is_about_content()) throw;
      if (end - begin > 1) return send_halves();
      send_single(kind, entries[begin], refused);
    }
  };
  send_part(send_part, 0, entries.size());
}

// A refused entry is sent again with a shorter text, as older servers need it, and then skipped.
void Sender::send_single(const char* kind, Json entry, const Refused& refused) {
  if (entry.at("value").is_string() && kind != std::string_view("metrics")) {
    for (const size_t bytes : {size_t{500}, size_t{250}}) {
      const std::string value = entry.at("value");
      if (value.size() <= bytes) continue;
      entry["value"] = shorten(value, bytes);
      try {
        client_.log_batch(sent_.run_id, {{kind, Json::array({entry})}});
        return;
      } catch (const Refused& again) {
        if (!again.is_about_content()) throw;
      }
    }
  }
  if (std::exchange(has_warned_of_entry_, true)) return;
  log_(settings_.uri + " refuses " + std::string(kind) + " \"" + entry.value("key", "") + "\": " + refused.what() +
       "; it is skipped, and so are others without another warning");
}

void Sender::send_artifact(const std::string& path) {
  if (!TrackingClient::has_artifact_proxy(sent_.artifact_uri)) {
    if (std::exchange(has_warned_of_artifacts_, true)) return;
    log_("artifacts are not sent: they belong to " + sent_.artifact_uri.substr(0, sent_.artifact_uri.find('?')) +
         "; expected mlflow-artifacts:, for which the server runs with --serve-artifacts, its default");
    return;
  }
  const std::string file = folder_ + "/" + path;
  std::error_code error;
  if (!std::filesystem::is_regular_file(file, error)) return;  // removed since, as older checkpoints are
  std::string reason;
  try {
    client_.put_artifact(sent_.artifact_uri, path, file);
    return;
  } catch (const Refused& refused) {
    if (refused.status() == 401 || refused.status() == 403) throw;
    reason = refused.what();
  } catch (const Unavailable&) {
    throw;
  } catch (const std::runtime_error& unreadable) {
    reason = unreadable.what();
  }
  log_("the artifact " + path + " is not sent: " + reason);
}

void Sender::acknowledge(int64_t offset) {
  sent_.offset = offset;
  if (!sent_.write(folder_) && !std::exchange(has_warned_of_file_, true))
    log_(folder_ + "/mlflow/sent.json cannot be written; values may be sent twice, which the server ignores");
  {
    const std::lock_guard lock(mutex_);
    sent_offset_ = offset;
    ++progress_;
    is_away_ = false;
  }
  changed_.notify_all();
}

void Sender::note_failure(const Unavailable& failure) {
  {
    const std::lock_guard lock(mutex_);
    is_away_ = true;
  }
  if (!std::exchange(has_warned_, true))
    log_(settings_.uri + " does not take what the run logs: " + failure.what() + "; it stays in " + queue_.path() +
         " and is sent later");
  const auto requested = std::chrono::milliseconds(static_cast<int64_t>(failure.retry_after_s() * 1000));
  wait_for(std::max(pause_, std::min(requested, options_.longest_pause)));
  pause_ = std::min(pause_ * 2, options_.longest_pause);
}

void Sender::give_up(const std::string& reason) {
  log_(settings_.uri + " refuses what the run logs: " + reason + ". It stays in " + queue_.path() +
       ", and this process sends no more");
  {
    const std::lock_guard lock(mutex_);
    has_given_up_ = true;
  }
  changed_.notify_all();
}

// Ends early when the run ends: the first attempt after that is at once, and the later ones follow at short pauses.
void Sender::wait_for(std::chrono::milliseconds pause) {
  std::unique_lock lock(mutex_);
  const bool was_finishing = phase_ == Phase::finishing;
  if (was_finishing) pause = std::min(pause, options_.first_pause);
  const auto deadline = std::chrono::steady_clock::now() + pause;
  const auto is_over = [&] { return phase_ == Phase::stopped || (phase_ == Phase::finishing && !was_finishing); };
  while (changed_.wait_until(lock, deadline, [&] { return is_over() || wants_sync_; }) && !is_over()) {
    wants_sync_ = false;
    lock.unlock();
    queue_.sync();
    lock.lock();
  }
}

}  // namespace mlflow
