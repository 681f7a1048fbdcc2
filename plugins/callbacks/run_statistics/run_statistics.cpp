// Callbacks that log statistics of a run: throughput, gradients, weights.
#include <algorithm>
#include <cmath>
#include <fstream>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <tenon/plugin.hpp>

namespace {

// The value of a line of /proc/self/status, "VmRSS" or "VmHWM", in MiB. NaN if there is no such line.
double read_memory_mib(const std::string& line) {
  std::ifstream status("/proc/self/status");
  for (std::string name; status >> name; status.ignore(4096, '\n')) {
    double kib = 0;
    if (name == line + ":" && status >> kib) return kib / 1024;
  }
  return std::nan("");
}

// The quantile of the numbers with linear interpolation, as in numpy.quantile. REQUIRES: numbers are sorted and not
// empty.
double quantile(const std::vector<double>& sorted, double share) {
  const double place = share * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<size_t>(place);
  if (below + 1 == sorted.size()) return sorted.back();
  return sorted[below] + (place - static_cast<double>(below)) * (sorted[below + 1] - sorted[below]);
}

// The training throughput, and the memory of the process.
class Throughput final {
 public:
  static std::vector<tenon::Param> schema() {
    return {tenon::param("memory", true).doc("also log the resident memory of the process and its peak")};
  }

  explicit Throughput(const tenon::Params& params) : reads_memory_(params.boolean("memory")) {}

  // Runs before the other callbacks, so that their work at the end of a step counts as part of the next step.
  int32_t priority() const { return -1000; }

  void on_epoch_start(const tenon::Run& run) {
    samples_ = tenon::read_progress(run).samples_in_epoch;
    begin(run);
  }
  // A step lasts from the end of the previous step, so it includes the wait for data. Validations and checkpoints in
  // between are excluded.
  void on_step_end(const tenon::Run& run) {
    steps_s_.push_back(run.time_s() - began_s_);
    const int64_t samples = tenon::read_progress(run).samples_in_epoch;
    trained_samples_ += samples - samples_;
    samples_ = samples;
    begin(run);
  }
  void on_validation_start(const tenon::Run& run) { pause(run); }
  void on_validation_end(const tenon::Run& run) { begin(run); }
  void on_checkpoint_before(const tenon::Run& run) { pause(run); }
  void on_checkpoint_after(const tenon::Run& run) { begin(run); }

  void on_log(const tenon::Run& run) {
    if (reads_memory_) {
      run.log_scalar("throughput/memory_mib", read_memory_mib("VmRSS"));
      run.log_scalar("throughput/peak_memory_mib", read_memory_mib("VmHWM"));
    }
    double seconds = 0;
    for (const double step_s : steps_s_) seconds += step_s;
    if (seconds > 0) {
      std::sort(steps_s_.begin(), steps_s_.end());
      run.log_scalar("throughput/samples_per_s", static_cast<double>(trained_samples_) / seconds);
      run.log_scalar("throughput/steps_per_s", static_cast<double>(steps_s_.size()) / seconds);
      run.log_scalar("throughput/step_ms_median", 1e3 * quantile(steps_s_, 0.5));
      run.log_scalar("throughput/step_ms_p95", 1e3 * quantile(steps_s_, 0.95));
    }
    steps_s_.clear();
    trained_samples_ = 0;
  }

 private:
  void begin(const tenon::Run& run) {
    began_s_ = run.time_s() - before_pause_s_;
    before_pause_s_ = 0;
    is_paused_ = false;
  }
  // Keeps the part of the next step that has already passed, once.
  void pause(const tenon::Run& run) {
    if (!is_paused_) before_pause_s_ = run.time_s() - began_s_;
    is_paused_ = true;
  }

  bool reads_memory_;
  double began_s_ = 0;         // start of the current step
  double before_pause_s_ = 0;  // duration of its part before a validation or a checkpoint
  bool is_paused_ = false;
  std::vector<double> steps_s_;  // step durations since the last line of the history
  int64_t trained_samples_ = 0;  // samples in these steps
  int64_t samples_ = 0;          // samples of the epoch at the end of the last step
};

// Whether the text matches a pattern in which * matches any characters and ? matches one.
bool fits_glob(const char* pattern, const char* text) {
  for (; *pattern != '*'; ++pattern, ++text) {
    if (*pattern == '\0' || *text == '\0') return *pattern == *text;
    if (*pattern != '?' && *pattern != *text) return false;
  }
  while (*pattern == '*') ++pattern;
  do {
    if (fits_glob(pattern, text)) return true;
  } while (*text++ != '\0');
  return false;
}

// Statistics of the trained tensors, as scalars of the history: the selected tensors, statistics and interval of two
// callbacks.
class TensorStatistics {
 public:
  // `what`: "gradient" or "weight".
  static std::vector<tenon::Param> schema(const std::string& what) {
    return {tenon::param("every", 100).range("[1, 1e15]").doc("interval in optimizer steps"),
            tenon::param("parameters", std::vector<std::string>{"*"})
                .doc("names of the parameters; * matches any characters, ? matches one"),
            tenon::param("statistics", std::vector<std::string>{"norm"})
                .choices({"norm", "mean", "abs_max", "zero_share"})
                .doc("statistics of each " + what)};
  }

  TensorStatistics(const tenon::Params& params, std::string prefix)
      : prefix_(std::move(prefix)), every_(params.integer("every")), globs_(params.texts("parameters")) {
    // In the order of their bits, which is the order of the results.
    const std::vector<std::string> requested = params.texts("statistics");
    for (const auto& [name, bit] : {std::pair<const char*, uint32_t>{"norm", TENON_STATISTIC_NORM},
                                    {"mean", TENON_STATISTIC_MEAN},
                                    {"abs_max", TENON_STATISTIC_ABS_MAX},
                                    {"zero_share", TENON_STATISTIC_ZERO_SHARE}}) {
      if (std::find(requested.begin(), requested.end(), name) == requested.end()) continue;
      names_.emplace_back(name);
      requested_ |= bit;
    }
    if (requested_ == 0) throw tenon::Error(TENON_INVALID_ARGUMENT, "params.statistics is []; expected one or more");
  }

  // Selects the parameters by name. Throws Error for a pattern that matches no parameter.
  void choose(const tenon::RunTensors& tensors) {
    std::map<std::string, bool> is_used;
    chosen_.clear();
    for (size_t i = 0; i < tensors.size(); ++i) {
      const std::string name = tensors[i].name;
      bool fits = false;
      for (const std::string& glob : globs_) {
        if (!fits_glob(glob.c_str(), name.c_str())) continue;
        is_used[glob] = fits = true;
      }
      if (fits) chosen_.push_back(i);
    }
    for (const std::string& glob : globs_) {
      if (is_used[glob]) continue;
      std::string known;
      for (size_t i = 0; i < tensors.size() && i < 20; ++i) known += (i == 0 ? "" : ", ") + tensors[i].name;
      throw tenon::Error(TENON_INVALID_ARGUMENT, "params.parameters has \"" + glob +
                                                     "\", which matches no parameter of the model; expected a pattern "
                                                     "for some of " +
                                                     known);
    }
  }

  const std::vector<size_t>& chosen() const { return chosen_; }
  uint32_t requested() const { return requested_; }
  bool is_due(int64_t step) const { return step % every_ == 0; }

  // Logs the statistics of these tensors as `gradients/norm/layers.0.weight`, and the norm of all of them together as
  // `gradients/norm`.
  void log(const tenon::Run& run, const std::vector<std::string>& tensors, const std::vector<double>& values) const {
    double squares = 0;
    for (size_t i = 0; i < tensors.size(); ++i)
      for (size_t k = 0; k < names_.size(); ++k) {
        const double value = values[i * names_.size() + k];
        run.log_scalar(prefix_ + "/" + names_[k] + "/" + tensors[i], value);
        if (names_[k] == "norm") squares += value * value;
      }
    if ((requested_ & TENON_STATISTIC_NORM) != 0) run.log_scalar(prefix_ + "/norm", std::sqrt(squares));
  }

 private:
  std::string prefix_;
  int64_t every_;
  std::vector<std::string> globs_;
  std::vector<std::string> names_;  // names of the statistics, in the order of their bits
  uint32_t requested_ = 0;
  std::vector<size_t> chosen_;  // indices into the trained tensors of the run
};

// Logs statistics of the gradients before clipping.
class GradientStatistics final {
 public:
  static std::vector<tenon::Param> schema() { return TensorStatistics::schema("gradient"); }
  explicit GradientStatistics(const tenon::Params& params) : statistics_(params, "gradients") {}

  void on_run_setup(const tenon::Run& run) { statistics_.choose(tenon::RunTensors(run)); }

  void on_grads_ready(const tenon::Run& run, tenon::Requests& requests) const {
    if (!statistics_.is_due(run.step() + 1)) return;  // the current step
    const tenon::RunTensors tensors(run);
    std::vector<std::string> names;
    std::vector<tenon_tensor*> gradients;
    for (const size_t index : statistics_.chosen()) {
      const tenon::RunTensor tensor = tensors[index];
      if (!tensor.gradient) continue;  // the loss does not depend on it
      names.push_back(tensor.name);
      gradients.push_back(tensor.gradient);
    }
    statistics_.log(run, names, tensors.statistics(gradients, statistics_.requested()));
    requests.log();
  }

 private:
  TensorStatistics statistics_;
};

// Logs statistics of the weights after a step, and the relative size of the update.
class WeightStatistics final {
 public:
  static std::vector<tenon::Param> schema() {
    std::vector<tenon::Param> params = TensorStatistics::schema("weight");
    params.push_back(tenon::param("update_ratio", true)
                         .doc("also log the norm of a step's change divided by the norm of the weight before it; needs "
                              "a copy of the weights during the step"));
    return params;
  }
  explicit WeightStatistics(const tenon::Params& params)
      : statistics_(params, "weights"), compares_(params.boolean("update_ratio")) {}

  void on_run_setup(const tenon::Run& run) { statistics_.choose(tenon::RunTensors(run)); }

  void on_optimizer_before(const tenon::Run& run) {
    before_.clear();
    if (!compares_ || !statistics_.is_due(run.step() + 1)) return;
    const tenon::RunTensors tensors(run);
    for (const size_t index : statistics_.chosen()) before_.push_back(tensors.copy(tensors[index].value));
  }

  void on_step_end(const tenon::Run& run, tenon::Requests& requests) {
    if (!statistics_.is_due(run.step())) return;
    const tenon::RunTensors tensors(run);
    std::vector<std::string> names;
    std::vector<tenon_tensor*> weights, before;
    for (const size_t index : statistics_.chosen()) {
      const tenon::RunTensor tensor = tensors[index];
      names.push_back(tensor.name);
      weights.push_back(tensor.value);
    }
    for (const tenon::OwnedTensor& copy : before_) before.push_back(copy.handle());
    statistics_.log(run, names, tensors.statistics(weights, statistics_.requested()));
    if (before.size() == weights.size() && !before.empty()) log_ratios(run, names, tensors, weights, before);
    before_.clear();
    requests.log();
  }

 private:
  static void log_ratios(const tenon::Run& run, const std::vector<std::string>& names, const tenon::RunTensors& tensors,
                         const std::vector<tenon_tensor*>& weights, const std::vector<tenon_tensor*>& before) {
    const std::vector<double> changes = tensors.statistics(weights, TENON_STATISTIC_NORM, before);
    const std::vector<double> norms = tensors.statistics(before, TENON_STATISTIC_NORM);
    for (size_t i = 0; i < names.size(); ++i)
      run.log_scalar("weights/update_ratio/" + names[i], norms[i] > 0 ? changes[i] / norms[i] : std::nan(""));
  }

  TensorStatistics statistics_;
  bool compares_;
  std::vector<tenon::OwnedTensor>
      before_;  // copies of statistics_.chosen(), from optimizer_before to the end of the step
};

}  // namespace

TENON_PLUGIN("run_statistics", "0.1.0", "Apache-2.0", "Run statistics: throughput, gradients, weights.",
             tenon::callback<Throughput>("throughput", "logs training throughput and process memory"),
             tenon::callback<GradientStatistics>("gradient_statistics", "logs norms and other statistics of gradients"),
             tenon::callback<WeightStatistics>(
                 "weight_statistics",
                 "logs norms and other statistics of weights, and their relative change in a step"))
