// [schedule] with all defaults.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "framework/config/values/enum_names.h"
#include "framework/config/values/text_values.h"

namespace tenon::config {

// Lengths and milestones count from the end of the warm-up.

struct ConstantSchedule {};

struct LinearSchedule {
  double end_factor = 0;
  ScheduleLength length = {};
};

struct CosineSchedule {
  double eta_min = 0;
  ScheduleLength length = {};
};

struct CosineRestartsSchedule {
  ScheduleLength t_0 = {};  // length of the first cycle
  int64_t t_mult = 1;
  double eta_min = 0;
};

struct OneCycleSchedule {
  double warmup_fraction = 0.3;  // fraction of all steps
  double div_factor = 25;        // first learning rate = lr / div_factor
  double final_div_factor = 1e4;
  enum class Anneal { cosine, linear } anneal = Anneal::cosine;
  bool cycle_momentum = false;
  double base_momentum = 0.85;
  double max_momentum = 0.95;
};
template <>
inline constexpr std::array kNames<OneCycleSchedule::Anneal> = {EnumName{OneCycleSchedule::Anneal::cosine, "cosine"},
                                                                EnumName{OneCycleSchedule::Anneal::linear, "linear"}};

struct PolynomialSchedule {
  double power = 1;
  ScheduleLength length = {};
};

struct StepSchedule {
  ScheduleLength step_size = {};
  double gamma = 0.1;
};

struct MultiStepSchedule {
  std::vector<ScheduleLength> milestones = {};
  double gamma = 0.1;
};

struct ExponentialSchedule {
  double gamma = 1;
  ScheduleLength every = {ScheduleLength::Unit::epochs, 1};
};

struct WarmupStableDecaySchedule {
  ScheduleLength decay = {ScheduleLength::Unit::run, 0.1};
  enum class Shape { linear, cosine, one_minus_sqrt } shape = Shape::linear;
  double end_factor = 0;
};
template <>
inline constexpr std::array kNames<WarmupStableDecaySchedule::Shape> = {
    EnumName{WarmupStableDecaySchedule::Shape::linear, "linear"},
    EnumName{WarmupStableDecaySchedule::Shape::cosine, "cosine"},
    EnumName{WarmupStableDecaySchedule::Shape::one_minus_sqrt, "one_minus_sqrt"}};

struct PlateauSchedule {
  std::string metric = "validation/loss";  // name of the metric in the history
  enum class Mode { min, max } mode = Mode::min;
  double factor = 0.1;
  int64_t patience = 10;
  double threshold = 1e-4;
  enum class ThresholdMode { relative, absolute } threshold_mode = ThresholdMode::relative;
  int64_t cooldown = 0;
  double min_lr = 0;
  double eps = 1e-8;
};
template <>
inline constexpr std::array kNames<PlateauSchedule::Mode> = {EnumName{PlateauSchedule::Mode::min, "min"},
                                                             EnumName{PlateauSchedule::Mode::max, "max"}};
template <>
inline constexpr std::array kNames<PlateauSchedule::ThresholdMode> = {
    EnumName{PlateauSchedule::ThresholdMode::relative, "rel"},
    EnumName{PlateauSchedule::ThresholdMode::absolute, "abs"}};

struct SchedulePlan {
  std::variant<ConstantSchedule, LinearSchedule, CosineSchedule, CosineRestartsSchedule, OneCycleSchedule,
               PolynomialSchedule, StepSchedule, MultiStepSchedule, ExponentialSchedule, WarmupStableDecaySchedule,
               PlateauSchedule>
      shape = {};
  ScheduleLength warmup = {ScheduleLength::Unit::run, 0};
  double warmup_start_factor = 0.01;
  std::string place = {};  // location of `use`, or of the table, for messages
};

}  // namespace tenon::config
