// The keys of [[data.batch_transform]].
#pragma once

#include <variant>

#include "framework/config/file/keys.h"
#include "framework/config/plan/run_plan.h"

namespace tenon::config {

template <class Visitor>
void declare(Visitor& keys, NormalizeBatch& normalize) {
  keys("field", normalize.field, {.doc = "The field to normalise: bytes of shape [height, width, channels]."});
  keys("mean", normalize.mean, {.doc = "Mean of each channel, or one for all channels, for values in [0, 1]."});
  keys("std", normalize.std,
       {.range = "(0, inf)",
        .doc = "Standard deviation of each channel, or one for all channels, for values in [0, 1]."});
}

template <class Visitor>
void declare(Visitor& keys, MixBatch& mix) {
  keys("image", mix.image, {.doc = "The field to mix: floats of shape [..., height, width]."});
  keys("label", mix.label, {.doc = "The field with the class of each sample."});
  keys("target", mix.target, {.doc = "Name of the added field with the probability of each class."});
  keys("classes", mix.classes,
       {.range = "[0, 1048576]", .doc = "Number of classes; 0: that of the label, if the dataset declares it."});
  keys("methods", mix.methods,
       {.choices = {"mix_up", "cut_mix"}, .doc = "Methods to apply. With two, one of them is sampled for each batch."});
  keys("alpha", mix.alpha,
       {.range = "(0, inf)", .doc = "Both parameters of the beta distribution of the mixing ratio."});
  keys("p", mix.p, {.range = "[0, 1]", .doc = "Probability that a batch is mixed."});
}

inline const char* use_of(const BatchTransformPlan& plan) {
  return std::holds_alternative<NormalizeBatch>(plan.what) ? "normalize" : "mix";
}

}  // namespace tenon::config
