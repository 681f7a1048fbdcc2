#include "host/training/kill_at.h"

#include <charconv>
#include <csignal>
#include <cstdlib>
#include <string_view>

#include "framework/support/error.h"

namespace tenon::host {

namespace {

constexpr std::string_view kSave = ":save";

// Removes the number at the start of the text and returns it. Returns nothing if there is none or it is below `least`.
std::optional<int64_t> take_number(std::string_view& text, int64_t least) {
  int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || number < least) return std::nullopt;
  text.remove_prefix(static_cast<size_t>(end - text.data()));
  return number;
}

std::optional<KillAt> parse(std::string_view text) {
  KillAt kill;
  const auto step = take_number(text, 1);
  if (!step) return std::nullopt;
  kill.step = *step;
  if (text.empty()) return kill;
  if (!text.starts_with(':')) return std::nullopt;
  text.remove_prefix(1);
  const auto rank = take_number(text, 0);
  if (!rank || (!text.empty() && text != kSave)) return std::nullopt;
  kill.rank = *rank;
  if (text == kSave) kill.moment = KillAt::TimePoint::saved_step;
  return kill;
}

}  // namespace

std::string to_string(const KillAt& kill) {
  return std::to_string(kill.step) + ":" + std::to_string(kill.rank) +
         (kill.moment == KillAt::TimePoint::saved_step ? std::string(kSave) : "");
}

std::optional<KillAt> read_kill_at() {
  const char* const text = std::getenv(kKillAtVariable);
  if (!text || !*text) return std::nullopt;
  const auto kill = parse(text);
  if (!kill)
    throw support::Error(support::ErrorKind::configuration,
                         std::string("environment: ") + kKillAtVariable + " is \"" + text +
                             "\"; expected STEP, STEP:RANK or STEP:RANK:save, such as \"7:1\"; unset it unless you "
                             "want to kill a process");
  return kill;
}

bool KillObserver::subscribes(pipeline::Event event) const {
  return event ==
         (kill_.moment == KillAt::TimePoint::step_end ? pipeline::Event::step_end : pipeline::Event::checkpoint_after);
}

void KillObserver::on_event(pipeline::Event, const pipeline::RunState& state, pipeline::CallbackRequests&) {
  if (state.step == kill_.step && state.rank == kill_.rank) raise(SIGKILL);
}

}  // namespace tenon::host
