#include "tests/parity/loss_history.h"

#include <cmath>
#include <fstream>
#include <functional>
#include <limits>
#include <stdexcept>
#include <string>

#include <nlohmann/json.hpp>

namespace tenon::parity {
namespace {

using nlohmann::json;

std::ifstream open(const std::filesystem::path& file) {
  std::ifstream stream(file);
  if (!stream) throw std::runtime_error(file.string() + ": cannot be read");
  return stream;
}

json parse(const std::string& text, const std::string& place) {
  try {
    return json::parse(text);
  } catch (const json::exception& error) {
    throw std::runtime_error(place + ": " + error.what());
  }
}

// Returns NaN if the loss is not a number, because JSON has no NaN. Throws std::runtime_error if it is missing.
double read_loss(const json& event, const char* name, const std::string& place) {
  if (!event.contains(name)) throw std::runtime_error(place + ": an event without " + name);
  const json& loss = event[name];
  return loss.is_number() ? loss.get<double>() : std::numeric_limits<double>::quiet_NaN();
}

void for_each_event(const std::filesystem::path& history, const char* kind,
                    const std::function<void(const json& event, const std::string& place)>& take) {
  std::ifstream stream = open(history);
  std::string line;
  for (int number = 1; std::getline(stream, line); ++number) {
    const std::string place = history.string() + ":" + std::to_string(number);
    const json event = parse(line, place);
    if (event.value("event", "") == kind) take(event, place);
  }
}

}  // namespace

std::vector<double> read_step_losses(const std::filesystem::path& history) {
  std::vector<double> losses;
  for_each_event(history, "step", [&](const json& event, const std::string& place) {
    const int64_t expected = static_cast<int64_t>(losses.size()) + 1;
    const int64_t step = event.value("step", int64_t{0});
    if (step != expected)
      throw std::runtime_error(place + ": step " + std::to_string(step) + "; expected " + std::to_string(expected));
    losses.push_back(read_loss(event, "train/loss", place));
  });
  return losses;
}

std::vector<double> read_validation_losses(const std::filesystem::path& history) {
  std::vector<double> losses;
  for_each_event(history, "validation", [&](const json& event, const std::string& place) {
    losses.push_back(read_loss(event, "validation/loss", place));
  });
  return losses;
}

std::vector<ReferenceRun> read_reference_runs(const std::filesystem::path& reference) {
  std::ifstream stream = open(reference);
  const std::string text(std::istreambuf_iterator<char>(stream), {});
  const json content = parse(text, reference.string());
  if (!content.contains("cases")) throw std::runtime_error(reference.string() + ": no cases");
  std::vector<ReferenceRun> runs;
  for (const json& run : content["cases"])
    runs.push_back({run.at("name"), run.at("network"), run.at("set"), run.at("limit"), run.at("losses"),
                    run.at("validation_losses")});
  return runs;
}

Difference largest_difference(const std::vector<double>& losses, const std::vector<double>& reference) {
  if (reference.empty()) throw std::runtime_error("the reference has no steps");
  if (losses.size() != reference.size())
    throw std::runtime_error(std::to_string(losses.size()) + " steps were logged; expected " +
                             std::to_string(reference.size()));
  Difference largest{0, -1};
  for (size_t i = 0; i < losses.size(); ++i) {
    double relative = std::abs(losses[i] - reference[i]) / std::abs(reference[i]);
    if (!std::isfinite(relative)) relative = std::numeric_limits<double>::infinity();
    if (relative > largest.relative) largest = {static_cast<int64_t>(i) + 1, relative};
  }
  return largest;
}

}  // namespace tenon::parity
