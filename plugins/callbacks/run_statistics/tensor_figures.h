// Figures of the tensors that a run trains, as scalars of the history.
#pragma once

#include <tenon/plugin.hpp>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <utility>
#include <vector>

// Whether the text fits a pattern in which * stands for any letters and ? for one.
inline bool fits_glob(const char* pattern, const char* text) {
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

// Which tensors are looked at, which figures of them are taken, and how often: what two callbacks have in common.
class TensorFigures {
 public:
  // `what`: "gradient".
  static std::vector<tenon::Param> schema(const std::string& what) {
    return {tenon::param("every", 100).range("[1, inf)").doc("steps from one look to the next"),
            tenon::param("parameters", std::vector<std::string>{"*"})
                .doc("which parameters, by their names: * stands for any letters, ? for one"),
            tenon::param("statistics", std::vector<std::string>{"norm"})
                .choices({"norm", "mean", "abs_max", "zero_share"})
                .doc("what is computed of each " + what)};
  }

  TensorFigures(const tenon::Params& params, std::string prefix)
      : prefix_(std::move(prefix)), every_(params.integer("every")), globs_(params.texts("parameters")) {
    // In the order of their bits, in which they come back.
    const std::vector<std::string> asked = params.texts("statistics");
    for (const auto& [name, bit] : {std::pair<const char*, uint32_t>{"norm", TENON_STATISTIC_NORM},
                                    {"mean", TENON_STATISTIC_MEAN},
                                    {"abs_max", TENON_STATISTIC_ABS_MAX},
                                    {"zero_share", TENON_STATISTIC_ZERO_SHARE}}) {
      if (std::find(asked.begin(), asked.end(), name) == asked.end()) continue;
      names_.emplace_back(name);
      wanted_ |= bit;
    }
    if (wanted_ == 0) throw tenon::Error(TENON_INVALID_ARGUMENT, "params.statistics is []; expected one or more");
  }

  // Finds the parameters by their names. Throws Error for a pattern that none fits.
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
                                                     "\", which fits no parameter of the model; expected a pattern for "
                                                     "some of " +
                                                     known);
    }
  }

  const std::vector<size_t>& chosen() const { return chosen_; }
  uint32_t wanted() const { return wanted_; }
  bool is_due(int64_t step) const { return step % every_ == 0; }

  // Those of the tensors of these names, as `gradients/norm/layers.0.weight`, and the norm of all of them together as
  // `gradients/norm`.
  void log(const tenon::Run& run, const std::vector<std::string>& tensors, const std::vector<double>& values) const {
    double squares = 0;
    for (size_t i = 0; i < tensors.size(); ++i)
      for (size_t k = 0; k < names_.size(); ++k) {
        const double value = values[i * names_.size() + k];
        run.log_scalar(prefix_ + "/" + names_[k] + "/" + tensors[i], value);
        if (names_[k] == "norm") squares += value * value;
      }
    if ((wanted_ & TENON_STATISTIC_NORM) != 0) run.log_scalar(prefix_ + "/norm", std::sqrt(squares));
  }

 private:
  std::string prefix_;
  int64_t every_;
  std::vector<std::string> globs_;
  std::vector<std::string> names_;  // of the statistics, in the order of their bits
  uint32_t wanted_ = 0;
  std::vector<size_t> chosen_;  // indices of the run's tensors
};
