#include "framework/callbacks/progress.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <sstream>
#include <vector>

#include "framework/support/text/terminal.h"
#include "tests/messages.h"

using namespace tenon::callbacks;
using namespace tenon::pipeline;
using tenon::contains;

namespace {

// The other end of a terminal with the given width, with the output that a user would see.
class Terminal {
 public:
  explicit Terminal(unsigned short columns) : far_end_(posix_openpt(O_RDWR | O_NOCTTY)) {
    REQUIRE(far_end_ >= 0);
    REQUIRE(grantpt(far_end_) == 0);
    REQUIRE(unlockpt(far_end_) == 0);
    const int near_end = open(ptsname(far_end_), O_RDWR | O_NOCTTY);
    REQUIRE(near_end >= 0);
    const winsize size{24, columns, 0, 0};
    REQUIRE(ioctl(near_end, TIOCSWINSZ, &size) == 0);
    stream_ = fdopen(near_end, "w");
    REQUIRE(stream_);
    setenv("NO_COLOR", "1", 1);
  }
  ~Terminal() {
    std::fclose(stream_);
    close(far_end_);
  }
  Terminal(const Terminal&) = delete;

  std::FILE* stream() { return stream_; }

  // Returns everything that was written since the last call.
  std::string read_all() {
    std::fflush(stream_);
    REQUIRE(fcntl(far_end_, F_SETFL, O_NONBLOCK) == 0);
    std::string text;
    char part[4096];
    for (ssize_t count; (count = read(far_end_, part, sizeof part)) > 0;) text.append(part, static_cast<size_t>(count));
    return text;
  }

 private:
  int far_end_;
  std::FILE* stream_;
};

RunState middle_of_training() {
  RunState state;
  state.epoch = 2;
  state.step = 15;
  state.total_epochs = 3;
  state.total_steps = 30;
  state.steps_per_epoch = 10;
  state.step_in_epoch = 5;
  state.samples_in_epoch = 320;
  state.time_s = 30;
  state.learning_rate = 0.001;
  state.metrics = {{"train/loss", 0.5}, {"validation/accuracy", 0.975}};
  state.validated_step = 15;
  state.read_epoch_loss = [] { return 0.25; };
  return state;
}

void send(Progress& progress, Event event, const RunState& state) {
  CallbackRequests requests{};
  if (progress.subscribes(event)) progress.on_event(event, state, requests);
}

// The progress of a run in the middle of its training, on a terminal.
struct Shown {
  explicit Shown(unsigned short columns, const std::string& monitor = "", bool higher_is_better = false)
      : terminal(columns), progress(terminal.stream()) {
    if (!monitor.empty()) progress.set_monitor(monitor, higher_is_better);
  }

  // Returns what the event writes.
  std::string show(Event event) {
    send(progress, event, state);
    return terminal.read_all();
  }

  Terminal terminal;
  Progress progress;
  RunState state = middle_of_training();
};

// Returns the file's text and closes it.
std::string take_text(std::FILE* file) {
  std::rewind(file);
  std::string text(2000, '\0');
  text.resize(std::fread(text.data(), 1, text.size(), file));
  std::fclose(file);
  return text;
}

// The columns that a line takes. Escape sequences and continuation bytes of UTF-8 take none.
size_t width_of(const std::string& drawn) {
  size_t width = 0;
  for (size_t i = 0; i < drawn.size(); ++i) {
    if (drawn[i] == '\033') {
      i = drawn.find_first_of("ABCDHJKm", i);
    } else if (drawn[i] != '\r' && (static_cast<unsigned char>(drawn[i]) & 0xC0) != 0x80) {
      ++width;
    }
  }
  return width;
}

// Whether half of a bar between the texts is full. Its length depends on the length of the memory use.
bool has_half_bar(const std::string& drawn, const std::string& before, const std::string& full,
                  const std::string& empty, const std::string& after) {
  for (size_t length = 25; length <= 30; ++length) {
    std::string bar = before;
    for (size_t i = 0; i < length; ++i) bar += i < length / 2 ? full : empty;
    if (contains(drawn, bar + after)) return true;
  }
  return false;
}

}  // namespace

TEST_CASE("a terminal shows a bar with step, loss, speed, memory and time left") {
  setenv("LC_ALL", "C.UTF-8", 1);
  Shown shown(100);
  shown.state.epoch_start_s = 25;
  shown.state.epoch_validation_s = 3;
  shown.state.time_s = 30;
  const std::string drawn = shown.show(Event::step_end);
  CAPTURE(drawn);
  CHECK(has_half_bar(drawn, "epoch 2/3 ", "█", "░", " 5/10"));
  CHECK(contains(drawn, "5/10  train/loss 0.25  160 samples/s  "));
  CHECK(drawn.ends_with("iB  0:30 left"));
  CHECK_FALSE(contains(drawn, "\n"));
}

TEST_CASE("a terminal without UTF-8 gets a bar of ASCII") {
  setenv("LC_ALL", "C", 1);
  CHECK(has_half_bar(Shown(100).show(Event::step_end), " ", "#", ".", " 5/10"));
}

TEST_CASE("a narrow terminal shows the loss and the time left next to a short bar") {
  setenv("LC_ALL", "C", 1);
  CHECK(Shown(60, "validation/accuracy", true).show(Event::step_end) ==
        "\r\033[Kepoch 2/3 #######....... 5/10  train/loss 0.25  0:30 left");
}

TEST_CASE("a wide terminal also shows the monitored metric and the wait for data") {
  Shown shown(160, "validation/accuracy", true);
  shown.state.data_wait_s = 15;
  const std::string drawn = shown.show(Event::step_end);
  CAPTURE(drawn);
  CHECK(contains(drawn, "train/loss 0.25  validation/accuracy 0.975  train/learning_rate 0.001"));
  CHECK(contains(drawn, "samples/s  data 50 %"));
}

TEST_CASE("the bar never takes more than the terminal's width") {
  setenv("LC_ALL", "C.UTF-8", 1);
  for (const unsigned short columns : {5, 20, 40, 60, 79, 80, 81, 100, 200}) {
    CAPTURE(columns);
    const std::string drawn = Shown(columns).show(Event::step_end);
    CHECK(width_of(drawn) > 0);
    CHECK(width_of(drawn) + std::string("^C").size() < columns);
  }
}

TEST_CASE("the line of an epoch replaces the bar") {
  Shown shown(120);
  shown.show(Event::step_end);
  const std::string drawn = shown.show(Event::epoch_end);
  CAPTURE(drawn);
  CHECK(
      drawn.starts_with("\r\033[Kepoch  train/loss  validation/accuracy  train/learning_rate  samples/s     time\r\n"));
  CHECK(contains(drawn, "\n2/3           0.5                0.975                0.001"));
  CHECK(drawn.ends_with("\n"));
}

TEST_CASE("a narrow terminal shows the most important columns and names the metrics that it leaves out") {
  for (const unsigned short columns : {20, 30, 40, 60, 80, 140}) {
    CAPTURE(columns);
    Shown shown(columns, "validation/accuracy", true);
    shown.state.metrics["validation/loss"] = 0.3;
    shown.state.metrics["validation/precision_recall_f1.f1"] = 0.9;
    std::istringstream lines(shown.show(Event::epoch_end));
    for (std::string line; std::getline(lines, line);) CHECK(width_of(line) < columns);
  }
  Shown shown(60, "validation/accuracy", true);
  CHECK(shown.show(Event::epoch_end) ==
        "epoch  train/loss  validation/accuracy       time\r\n"
        "2/3           0.5                0.975 *   30.0 s\r\n");
  shown.state.metrics["validation/loss"] = 0.3;
  CHECK(shown.show(Event::epoch_end) ==
        "(too narrow for validation/loss)\r\n"
        "epoch  train/loss  validation/accuracy       time\r\n"
        "2/3           0.5                0.975     30.0 s\r\n");
}

TEST_CASE("with the metrics of a classifier, a terminal of 80 columns begins with the names of the columns") {
  Shown shown(80, "validation/loss");
  shown.state.metrics["validation/loss"] = 0.3;
  CHECK(shown.show(Event::epoch_end)
            .starts_with("epoch  train/loss  validation/accuracy  validation/loss    samples/s     time\r\n"));
}

TEST_CASE("the column names are repeated after twenty rows, and when the columns change") {
  Shown shown(120);
  const auto count_names = [&](int epochs) {
    for (int epoch = 0; epoch < epochs; ++epoch) send(shown.progress, Event::epoch_end, shown.state);
    return tenon::count_parts(shown.terminal.read_all(), "epoch  ");
  };
  CHECK(count_names(20) == 1);
  CHECK(count_names(1) == 1);
  CHECK(count_names(1) == 0);
  shown.state.metrics["validation/loss"] = 0.3;
  CHECK(count_names(1) == 1);
}

TEST_CASE("the best values of the monitored metric are marked, and of no other") {
  std::FILE* const file = std::tmpfile();
  Progress progress(file);
  progress.set_monitor("validation/loss", false);
  RunState state = middle_of_training();
  progress.add_earlier({{"validation/accuracy", 0.1}, {"validation/loss", 0.3}});
  const std::vector<std::pair<double, double>> epochs = {
      {0.4, 0.9}, {0.2, 0.8}, {0.2, 0.8}, {0.1, 0.8}, {std::numeric_limits<double>::quiet_NaN(), 0.95}};
  for (const auto& [loss, accuracy] : epochs) {
    state.metrics["validation/loss"] = loss;
    state.metrics["validation/accuracy"] = accuracy;
    send(progress, Event::epoch_end, state);
  }
  const std::string text = take_text(file);
  CAPTURE(text);
  CHECK(contains(text, "accuracy 0.9  validation/loss 0.4  train/learning_rate"));
  CHECK(contains(text, "accuracy 0.8  validation/loss 0.2 *  train/learning_rate"));
  CHECK(contains(text, "accuracy 0.8  validation/loss 0.2  train/learning_rate"));
  CHECK(contains(text, "accuracy 0.8  validation/loss 0.1 *  train/learning_rate"));
  CHECK(contains(text, "accuracy 0.95  validation/loss nan  train/learning_rate"));
}

TEST_CASE("the line of an epoch has its duration") {
  Shown shown(120);
  shown.state.epoch_start_s = 20;
  shown.state.time_s = 85;
  CHECK(shown.show(Event::epoch_end).ends_with("1:05\r\n"));
}

TEST_CASE("a terminal with colours has bold names and a green best value, of the same width") {
  tenon::support::set_colours(tenon::support::Colours::always);
  Shown shown(60, "validation/accuracy", true);
  tenon::support::set_colours(tenon::support::Colours::automatic);
  CHECK(shown.show(Event::epoch_end) ==
        "\033[1mepoch  train/loss  validation/accuracy       time\033[m\r\n"
        "2/3           0.5  \033[32m              0.975 *\033[m   30.0 s\r\n");
  const std::string drawn = shown.show(Event::step_end);
  CHECK(contains(drawn, "\033[32m"));
  CHECK(width_of(drawn) < 60);
}

TEST_CASE("control characters in the names of metrics are escaped") {
  Shown shown(200);
  shown.state.metrics["validation/\033[31m"] = 1;
  const std::string text = shown.show(Event::epoch_end);
  CHECK(contains(text, "validation/\\u001b[31m"));
  CHECK_FALSE(contains(text, "\033"));
}

TEST_CASE("a stream that is not a terminal gets whole lines without escape sequences") {
  std::FILE* const file = std::tmpfile();
  REQUIRE(file);
  Progress progress(file);
  CHECK_FALSE(progress.subscribes(Event::step_end));
  const RunState state = middle_of_training();
  for (const Event event : {Event::step_end, Event::log, Event::epoch_end}) send(progress, event, state);
  const std::string text = take_text(file);
  CAPTURE(text);
  CHECK(text.find("step 15/30  epoch 2/3  train/loss 0.5") == 0);
  CHECK(contains(text, "\nepoch 2/3  train/loss 0.5  validation/accuracy 0.975"));
  CHECK_FALSE(contains(text, "\033"));
  CHECK(std::count(text.begin(), text.end(), '\n') == 2);
}

TEST_CASE("one sample per second is in the singular") {
  setenv("LC_ALL", "C", 1);
  Shown shown(100);
  shown.state.samples_in_epoch = 30;  // in 30 seconds
  CHECK(shown.show(Event::step_end).find("  1 sample/s  ") != std::string::npos);
  std::FILE* const file = std::tmpfile();
  Progress lines(file);
  send(lines, Event::log, shown.state);
  send(lines, Event::epoch_end, shown.state);
  const std::string text = take_text(file);
  CAPTURE(text);
  CHECK(contains(text, "train/loss 0.5  1 sample/s\n"));
  CHECK(contains(text, "  1 sample/s  time "));
}

TEST_CASE("metrics of an older validation are not shown for this epoch") {
  Shown shown(120);
  shown.state.validated_step = 10;
  CHECK(shown.show(Event::epoch_end).find("validation/") == std::string::npos);
}

TEST_CASE("durations and metric values are short") {
  CHECK(format_duration(0) == "0:00");
  CHECK(format_duration(67.4) == "1:07");
  CHECK(format_duration(3 * 3600 + 5 * 60) == "3:05:00");
  CHECK(format_duration(std::numeric_limits<double>::quiet_NaN()) == "0:00");
  CHECK(format_elapsed(0.0421) == "0.042 s");
  CHECK(format_elapsed(0) == "0 s");
  CHECK(format_elapsed(0.08) == "0.080 s");
  CHECK(format_elapsed(0.65) == "0.650 s");
  CHECK(format_elapsed(4.9) == "4.90 s");
  CHECK(format_elapsed(7.312) == "7.31 s");
  CHECK(format_elapsed(20.04) == "20.0 s");
  CHECK(format_elapsed(67.4) == "1:07");
  CHECK(format_elapsed(std::numeric_limits<double>::quiet_NaN()) == "0:00");
  CHECK(format_metric(0.312149) == "0.3121");
  CHECK(format_metric(97.5) == "97.5");
  CHECK(format_metric(1.2344e-5) == "1.234e-05");
}

TEST_CASE("a terminal shows some of many epochs, and a file all") {
  Shown shown(100);
  shown.state.total_epochs = 400;
  std::string text;
  std::FILE* const file = std::tmpfile();
  REQUIRE(file);
  Progress progress(file);
  size_t in_file = 0;
  for (shown.state.epoch = 1; shown.state.epoch <= 400; ++shown.state.epoch) {
    text += shown.show(Event::epoch_end);
    send(progress, Event::epoch_end, shown.state);
    ++in_file;
  }
  CHECK(contains(text, "one of 8 epochs is shown; history.csv has all 400"));
  CHECK(tenon::count_parts(text, "/400 ") == 50);
  CHECK(contains(text, "400/400"));
  std::rewind(file);
  size_t lines = 0;
  for (int letter = std::fgetc(file); letter != EOF; letter = std::fgetc(file)) lines += letter == '\n';
  std::fclose(file);
  CHECK(lines == in_file);
}
