#include "framework/optimization/evaluation_weights.h"

#include <exception>
#include <utility>

namespace tenon::optimization {

EvaluationWeights::InPlace::InPlace(EvaluationWeights* weights)
    : weights_(weights && weights->count() > 0 ? weights : nullptr) {
  if (weights_) weights_->exchange();
}

EvaluationWeights::InPlace::~InPlace() {
  try {
    restore();
  } catch (const std::exception&) {
    // Only a failed device refuses. The exception that is being thrown reports it.
  }
}

void EvaluationWeights::InPlace::restore() {
  if (EvaluationWeights* const weights = std::exchange(weights_, nullptr)) weights->exchange();
}

}  // namespace tenon::optimization
