// Callbacks that log statistics of a run: throughput, gradients, weights.
#include <tenon/plugin.hpp>

#include "plugins/callbacks/run_statistics/gradient_statistics.h"
#include "plugins/callbacks/run_statistics/throughput.h"
#include "plugins/callbacks/run_statistics/weight_statistics.h"

TENON_PLUGIN("run_statistics", "0.1.0", "Apache-2.0", "Run statistics: throughput, gradients, weights.",
             tenon::callback<Throughput>("throughput", "logs training throughput and process memory"),
             tenon::callback<GradientStatistics>("gradient_statistics", "logs norms and other statistics of gradients"),
             tenon::callback<WeightStatistics>(
                 "weight_statistics",
                 "logs norms and other statistics of weights, and their relative change in a step"))
