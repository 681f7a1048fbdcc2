#include "framework/artifacts/run_folder/tensorboard_events.h"

#include <doctest/doctest.h>

#include <cmath>
#include <sstream>

#include "scratch.h"

namespace tenon::artifacts {

namespace fs = std::filesystem;

namespace {

const TimePoint kTimePoint{std::chrono::milliseconds(1763721005250)};

std::string to_hexadecimal(std::string_view bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (const char byte : bytes) {
    text += kDigits[static_cast<uint8_t>(byte) >> 4];
    text += kDigits[byte & 0xF];
  }
  return text;
}

// Returns the data of the records of the only events file in a folder. Fails the test if the file does not end with a
// record.
std::vector<std::string> read_records(const fs::path& folder) {
  std::ifstream stream(find_events_file(folder).value(), std::ios::binary);
  std::vector<std::string> records;
  while (stream.peek() != EOF) {
    const auto framed = read_framed_record(stream);
    REQUIRE(framed.has_value());
    records.emplace_back(record_data(*framed));
  }
  return records;
}

HistoryLine step_line(int64_t step) { return {HistoryEvent::step, 1, step, 0.5, {{"train/loss", 0.25}}}; }

}  // namespace

TEST_CASE("events have the bytes of the messages and the writer of TensorBoard") {
  const Hyperparameters values{{"a.off", false},
                               {"a.on", true},
                               {"loss[0].use", std::string("cross_entropy")},
                               {"optimizer.lr", 1e-3},
                               {"run.seed", 0.0}};
  const std::vector<ProtobufMessage> events{
      make_version_event(kTimePoint),
      make_session_start_event(kTimePoint),
      make_text_event(kTimePoint, 0, "plan", "# A plan\n\nof two lines, and of \u00fc\n"),
      make_text_event(kTimePoint, 300, "plan", std::string(200, 'x')),
      make_hyperparameters_event(kTimePoint, values),
      make_outcome_event(kTimePoint, RunStatus::finished),
      make_outcome_event(kTimePoint, RunStatus::failed),
      make_scalars_event(kTimePoint, 1, {{"train/loss", 2.5}}),
      make_scalars_event(
          kTimePoint, int64_t{1} << 40,
          {{"train/loss", 0.1}, {"train/learning_rate", 1e-300}, {"a", INFINITY}, {"b", -INFINITY}, {"zero", 0}}),
      make_histograms_event(
          kTimePoint, 7,
          {{"weights/a", {-1, 3, 4.5, 12.25, {0, 1.5, 3}, {2, 0, 1}}}, {"gradients/a", {2, 2, 4, 8, {2}, {2}}}}),
      make_picture_event(kTimePoint, 7, "validation/worst/1/image", {"image", 2, 200, {std::byte{137}, std::byte{0}}})};
  std::istringstream reference(
      read_all(fs::path(TENON_SOURCE_DIR) / "tests/artifacts/reference/tensorboard_events.hex"));
  for (const ProtobufMessage& event : events) {
    std::string expected;
    REQUIRE(std::getline(reference, expected));
    CHECK(to_hexadecimal(frame_record(event.bytes())) == expected);
  }
  std::string more;
  CHECK_FALSE(std::getline(reference, more));
}

TEST_CASE("a record is read back, and a truncated or damaged one is rejected") {
  const std::string framed = frame_record("some data");
  std::istringstream whole(framed + frame_record(""));
  CHECK(record_data(read_framed_record(whole).value()) == "some data");
  CHECK(record_data(read_framed_record(whole).value()).empty());
  CHECK_FALSE(read_framed_record(whole));
  for (size_t length = 0; length < framed.size(); ++length) {
    std::istringstream cut(framed.substr(0, length));
    CHECK_FALSE(read_framed_record(cut));
  }
  for (size_t byte = 0; byte < framed.size(); ++byte) {
    std::string damaged = framed;
    damaged[byte] = static_cast<char>(damaged[byte] ^ 0x10);
    std::istringstream stream(damaged);
    CHECK_FALSE(read_framed_record(stream));
  }
}

TEST_CASE("every line with metrics is one record, available immediately") {
  const Scratch scratch;
  TensorboardEvents events(scratch.path(), kTimePoint);
  events.append(step_line(1), {}, kTimePoint);
  CHECK(read_records(scratch.path()).size() == 3);
  events.append({HistoryEvent::checkpoint, 1, 1, 0.5, {}}, {}, kTimePoint);
  events.append(step_line(2), {}, kTimePoint);
  const auto records = read_records(scratch.path());
  REQUIRE(records.size() == 4);
  CHECK(events.records() == 4);
  CHECK(records[0] == make_version_event(kTimePoint).bytes());
  CHECK(records[1] == make_session_start_event(kTimePoint).bytes());
  CHECK(records[3] == make_scalars_event(kTimePoint, 2, {{"train/loss", 0.25}}).bytes());
  CHECK(find_events_file(scratch.path()).value().filename().string().starts_with("events.out.tfevents.1763721005."));
}

TEST_CASE("the loss of an epoch has a different curve from that of the steps, other metrics have one curve") {
  const Scratch scratch;
  TensorboardEvents events(scratch.path(), kTimePoint);
  const NamedMetrics metrics{{"train/loss", 1}, {"train/mse", 2},           {"train/mse.bias", 3}, {"train/msex", 4},
                             {"mse", 5},        {"train/learning_rate", 6}, {"validation/mse", 7}};
  const NamedMetrics tagged{
      {"train/loss_epoch", 1},    {"train/mse_epoch", 2}, {"train/mse.bias_epoch", 3}, {"train/msex", 4}, {"mse", 5},
      {"train/learning_rate", 6}, {"validation/mse", 7}};
  for (const HistoryEvent event : {HistoryEvent::epoch, HistoryEvent::step, HistoryEvent::validation}) {
    events.append({event, 1, 9, 0.5, metrics}, {"mse"}, kTimePoint);
    const bool is_epoch = event == HistoryEvent::epoch;
    CHECK(read_records(scratch.path()).back() ==
          make_scalars_event(kTimePoint, 9, is_epoch ? tagged : metrics).bytes());
  }
}

TEST_CASE("a resumed run has the earlier records in one file with a later name") {
  const Scratch scratch;
  TensorboardEvents earlier(scratch.path(), kTimePoint);
  for (int64_t step = 1; step <= 3000; ++step) earlier.append(step_line(step), {}, kTimePoint);
  const auto before = read_records(scratch.path());
  const fs::path first = find_events_file(scratch.path()).value();
  auto later = TensorboardEvents::resume(scratch.path(), 2900, scratch.path(), kTimePoint);
  REQUIRE(later.has_value());
  later->append(step_line(7), {}, kTimePoint);
  CHECK(later->records() == 2901);
  const auto after = read_records(scratch.path());
  REQUIRE(after.size() == 2901);
  CHECK(std::equal(after.begin(), after.end() - 1, before.begin()));
  CHECK(list_names(scratch.path()).size() == 1);
  CHECK(find_events_file(scratch.path()).value() > first);
}

TEST_CASE("a run that resumes in another folder leaves the events of the first one") {
  const Scratch from, to;
  TensorboardEvents earlier(from.path(), kTimePoint);
  earlier.append(step_line(1), {}, kTimePoint);
  CHECK(TensorboardEvents::resume(from.path(), 3, to.path(), kTimePoint).has_value());
  CHECK(read_all(find_events_file(to.path()).value()) == read_all(find_events_file(from.path()).value()));
}

TEST_CASE("missing or damaged earlier events create no file") {
  const Scratch from, to;
  CHECK_FALSE(TensorboardEvents::resume(from.path(), 1, to.path(), kTimePoint));
  TensorboardEvents earlier(from.path(), kTimePoint);
  for (int64_t step = 1; step <= 8; ++step) earlier.append(step_line(step), {}, kTimePoint);
  CHECK_FALSE(TensorboardEvents::resume(from.path(), 11, to.path(), kTimePoint));
  CHECK_FALSE(TensorboardEvents::resume(from.path(), 0, to.path(), kTimePoint));
  const fs::path file = find_events_file(from.path()).value();
  std::string bytes = read_all(file);
  bytes[bytes.size() / 2] ^= 1;
  write_all(file, bytes);
  CHECK_FALSE(TensorboardEvents::resume(from.path(), 10, to.path(), kTimePoint));
  CHECK_FALSE(find_events_file(to.path()));
  CHECK(TensorboardEvents::resume(from.path(), 3, to.path(), kTimePoint).has_value());
  CHECK(list_names(to.path()).size() == 1);
}

}  // namespace tenon::artifacts
