// A callback that requests a checkpoint whenever a metric reaches its best value so far, even
// across a restart.
#include <cmath>
#include <limits>
#include <tenon/plugin.hpp>

namespace {

class SaveBest final {
 public:
  static std::vector<tenon::Param> schema() {
    return {tenon::param("monitor", "validation/loss")
                .doc("name of the metric in the history; lower is better")};
  }
  explicit SaveBest(const tenon::Params& params) : metric_(params.text("monitor")) {}

  // Reports an unknown metric before the first step.
  void on_run_setup(const tenon::Run& run) { run.metric(metric_); }

  void on_validation_end(const tenon::Run& run, tenon::Requests& requests) {
    const double value = run.metric(metric_);
    if (std::isnan(value) || value >= best_) return;
    best_ = value;
    run.log_scalar("save_best/best", best_);
    requests.save(metric_ + " is " + std::to_string(best_));
  }

  std::string save_state() const {
    char text[40];
    std::snprintf(text, sizeof text, "%a", best_);  // hexadecimal, without rounding
    return text;
  }
  void load_state(std::string_view bytes) { best_ = std::stod(std::string(bytes)); }

 private:
  std::string metric_;
  double best_ = std::numeric_limits<double>::infinity();
};

}  // namespace

TENON_PLUGIN("save_best", "1.0.0", "MIT", "Saves the best weights.",
             tenon::callback<SaveBest>(
                 "save_best", "saves a checkpoint whenever a metric reaches its best value so far"))
