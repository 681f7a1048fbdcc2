// Callbacks that add figures of a run to its history: its speed, its gradients, its weights.
#include <tenon/plugin.hpp>

#include "plugins/callbacks/run_statistics/gradient_statistics.h"
#include "plugins/callbacks/run_statistics/throughput.h"
#include "plugins/callbacks/run_statistics/weight_statistics.h"

TENON_PLUGIN("run_statistics", "0.1.0", "Apache-2.0", "Figures of a run: its speed, its gradients, its weights.",
             tenon::callback<Throughput>("throughput", "speed of training and memory of the process, as figures"),
             tenon::callback<GradientStatistics>("gradient_statistics", "norms and other figures of gradients"),
             tenon::callback<WeightStatistics>("weight_statistics",
                                               "norms and other figures of weights, and how much a step changes them"))
