// A callback: stops a run when a metric is good enough in several validations.
// The header tenon/callback.hpp describes all functions of a callback.
#include <tenon/plugin.hpp>

namespace {

class MyName final {
 public:
  static std::vector<tenon::Param> schema() {
    return {tenon::param("monitor", "validation/accuracy").names_metric().doc("metric to monitor; higher is better"),
            tenon::param("target", 0.9).doc("value that is good enough"),
            tenon::param("validations", 2).range("[1, inf)").doc("number of consecutive validations that reach it")};
  }

  explicit MyName(const tenon::Params& params)
      : monitor_(params.text("monitor")), target_(params.number("target")), needed_(params.integer("validations")) {}

  // A callback has a function for each event that it needs; callback.h lists them. This one reports an unknown metric
  // before the first step.
  void on_run_setup(const tenon::Run& run) { run.metric(monitor_); }

  void on_validation_end(const tenon::Run& run, tenon::Requests& requests) {
    reached_ = run.metric(monitor_) >= target_ ? reached_ + 1 : 0;
    run.log_scalar("my_name/reached", static_cast<double>(reached_));
    if (reached_ >= needed_) requests.stop(monitor_ + " has reached " + std::to_string(target_));
  }

  // The state is saved in checkpoints, so that a run that resumes has it.
  std::string save_state() const { return std::to_string(reached_); }
  void load_state(std::string_view bytes) { reached_ = std::stoll(std::string(bytes)); }

 private:
  std::string monitor_;
  double target_;
  int64_t needed_;
  int64_t reached_ = 0;
};

}  // namespace

TENON_PLUGIN("my_name", "0.1.0", "MIT", "The callback my_name.",
             tenon::callback<MyName>("my_name", "stops the run when a metric is good enough in several validations"))
