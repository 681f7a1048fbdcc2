// Statistics of the trained tensors, as scalars of the history.
#pragma once

#include <tenon/plugin.hpp>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "plugins/callbacks/fits_glob.h"

// The selected tensors, statistics and interval. Shared by two callbacks.
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
