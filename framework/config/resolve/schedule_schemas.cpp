#include "framework/config/resolve/built_in_schemas.h"

namespace tenon::config {
namespace {

using Params = std::vector<ParamSchema>;

// A length is text to the schema. resolve_schedule() converts numbers to text before the check and back after it.
ParamSchema length_param(const std::string& name, const std::string& default_toml, const std::string& doc) {
  return parse_param_schema(name, ParamType::string, default_toml, "", {}, doc);
}

ParamSchema rest_of_run() {
  return length_param("length", "\"rest\"", "How long the learning rate falls. Afterwards it is constant.");
}

ParamSchema eta_min() { return number_param("eta_min", "0.0", "[0, inf)", "The lowest learning rate."); }

ParamSchema end_factor() {
  return number_param("end_factor", "0.0", "[0, 1]", "The last learning rate is lr times this.");
}

ParamSchema gamma(const std::string& default_toml) {
  return number_param("gamma", default_toml, "(0, 1]", "Multiplicative factor of learning rate decay.");
}

ParamSchema count(const std::string& name, const std::string& default_toml, const std::string& range,
                  const std::string& doc) {
  return parse_param_schema(name, ParamType::integer, default_toml, range, {}, doc);
}

Params one_cycle_params() {
  return {
      number_param("warmup_fraction", "0.3", "[0, 1]", "The fraction of all steps in which the learning rate rises."),
      number_param("div_factor", "25.0", "(0, inf)", "The first learning rate is lr / div_factor."),
      number_param("final_div_factor", "1e4", "(0, inf)", "The last learning rate is the first / final_div_factor."),
      parse_param_schema("anneal", ParamType::string, "\"cosine\"", "", {"cosine", "linear"},
                         "The shape of the rise and of the fall."),
      parse_param_schema("cycle_momentum", ParamType::boolean, "false", "", {},
                         "Lower the momentum while the learning rate rises."),
      number_param("base_momentum", "0.85", "[0, 1)", "The momentum at the peak learning rate."),
      number_param("max_momentum", "0.95", "[0, 1)", "The momentum at the beginning and at the end.")};
}

Params warmup_stable_decay_params() {
  return {length_param("decay", "\"0.1\"", "Length of the decay at the end of the run."),
          parse_param_schema("shape", ParamType::string, "\"linear\"", "", {"linear", "cosine", "one_minus_sqrt"},
                             "The shape of the decay."),
          end_factor()};
}

Params reduce_on_plateau_params() {
  return {parse_param_schema("monitor", ParamType::string, "\"validation/loss\"", "", {},
                             "The monitored metric, as named in the history."),
          parse_param_schema("mode", ParamType::string, "\"min\"", "", {"min", "max"}, "Whether lower is better."),
          number_param("factor", "0.1", "(0, 1)", "Multiplicative factor of learning rate decay."),
          count("patience", "10", "[0, 1e9]", "Number of allowed values in a row without improvement."),
          number_param("threshold", "1e-4", "[0, inf)", "The smallest change that is an improvement."),
          parse_param_schema("threshold_mode", ParamType::string, "\"rel\"", "", {"rel", "abs"},
                             "Whether the threshold is relative to the best value, or absolute."),
          count("cooldown", "0", "[0, 1e9]", "Number of values to ignore after a reduction."),
          number_param("min_lr", "0.0", "[0, inf)", "The lowest learning rate."),
          number_param("eps", "1e-8", "[0, inf)", "Smaller reductions are skipped.")};
}

BuiltInSchema schedule(const std::string& id, Params params, const std::string& warmup = "\"0.0\"") {
  params.push_back(length_param("warmup", warmup, "Length of the warm-up, in which the learning rate rises."));
  params.push_back(
      number_param("warmup_start_factor", "0.01", "[0, 1]", "The warm-up starts at the learning rate times this."));
  return {id, std::move(params)};
}

}  // namespace

const std::vector<BuiltInSchema>& schedule_schemas() {
  static const std::vector<BuiltInSchema> schemas = {
      schedule("constant", {}),
      schedule("linear", {end_factor(), rest_of_run()}),
      schedule("cosine", {eta_min(), rest_of_run()}),
      schedule(
          "cosine_restarts",
          {length_param("t_0", "", "Length of the first cycle."),
           count("t_mult", "1", "[1, 1000]", "How many times longer each cycle is than the previous one."), eta_min()}),
      schedule("one_cycle", one_cycle_params()),
      schedule("polynomial",
               {number_param("power", "1.0", "(0, inf)", "Exponent of the remaining fraction of the length."),
                rest_of_run()}),
      schedule("step", {length_param("step_size", "", "Period of learning rate decay."), gamma("0.1")}),
      schedule("multi_step",
               {parse_param_schema("milestones", ParamType::strings, "", "", {}, "When the learning rate decays."),
                gamma("0.1")}),
      schedule("exponential", {gamma(""), length_param("every", "\"1 epoch\"",
                                                       "Period in which the learning rate is multiplied by gamma.")}),
      schedule("warmup_stable_decay", warmup_stable_decay_params(), "\"0.05\""),
      schedule("reduce_on_plateau", reduce_on_plateau_params())};
  return schemas;
}

}  // namespace tenon::config
