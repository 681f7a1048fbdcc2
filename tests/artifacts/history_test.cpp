#include "framework/artifacts/run_folder/history.h"
#include "framework/artifacts/files/encode.h"

#include <doctest/doctest.h>
#include <malloc.h>

#include <bit>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <sstream>
#include <stdexcept>

#include "file_size_limit.h"
#include "scratch.h"

namespace tenon::artifacts {

using support::ErrorKind;

namespace {

using Row = std::map<std::string, std::string>;

std::vector<std::string> split_lines(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

std::vector<std::string> split_cells(const std::string& line) {
  std::vector<std::string> cells(1);
  bool quoted = false;
  for (size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '"' && quoted && i + 1 < line.size() && line[i + 1] == '"') {
      cells.back() += line[i++];
    } else if (line[i] == '"') {
      quoted = !quoted;
    } else if (line[i] == ',' && !quoted) {
      cells.emplace_back();
    } else {
      cells.back() += line[i];
    }
  }
  return cells;
}

std::vector<Row> read_csv(const std::filesystem::path& file) {
  const auto lines = split_lines(read_all(file));
  const auto columns = split_cells(lines.at(0));
  std::vector<Row> rows;
  for (size_t i = 1; i < lines.size(); ++i) {
    const auto cells = split_cells(lines[i]);
    REQUIRE(cells.size() == columns.size());
    Row& row = rows.emplace_back();
    for (size_t c = 0; c < cells.size(); ++c) {
      if (!cells[c].empty()) row[columns[c]] = cells[c];
    }
  }
  return rows;
}

std::vector<Row> read_jsonl(const std::filesystem::path& file) {
  std::vector<Row> rows;
  for (const auto& line : split_lines(read_all(file))) {
    Row& row = rows.emplace_back();
    const auto json = nlohmann::json::parse(line);
    for (const auto& [key, value] : json.items()) {
      const bool is_text = value.is_string();
      row[key] = is_text ? value.get<std::string>() : format_number(value.get<double>());
    }
  }
  return rows;
}

void write_example(History& history) {
  history.append({HistoryEvent::validation, 0, 0, 0.25, {{"validation/loss", 2.5}}});
  history.append({HistoryEvent::step, 1, 1, 0.5, {{"train/loss", 0.1}, {"train/lr", 1e-5}}});
  history.append({HistoryEvent::step, 1, 2, 0.75, {{"train/loss", std::nan("")}, {"train/lr", 1e300}}});
  history.append({HistoryEvent::validation, 1, 2, 1.0, {{"validation/accuracy", 0.97}, {"validation/loss", INFINITY}}});
  history.append({HistoryEvent::checkpoint, 1, 2, 1.25, {}});
  history.append({HistoryEvent::epoch, 1, 2, 1.5, {{"train/loss", -INFINITY}, {"mine/\"a\", b", 3}}});
}

}  // namespace

TEST_CASE("a line of the history is JSON with its keys in order") {
  const HistoryLine line{HistoryEvent::step, 1, 23, 4.2, {{"train/loss", 0.31}, {"train/accuracy", 1}}};
  CHECK(format_history_line(line) ==
        "{\"event\": \"step\", \"epoch\": 1, \"step\": 23, \"time_s\": 4.2, \"train/loss\": 0.31, \"train/accuracy\": "
        "1}\n");
}

TEST_CASE("every event is written and read by its name") {
  for (const HistoryEvent event : {HistoryEvent::step, HistoryEvent::epoch, HistoryEvent::validation,
                                   HistoryEvent::checkpoint, HistoryEvent::test}) {
    const std::string text = format_history_line({event, 1, 2, 3, {{"test/loss", 0.5}}});
    CHECK(text.starts_with("{\"event\": \"" + std::string(to_string(event)) + "\", "));
    CHECK(parse_history_line(text.substr(0, text.size() - 1)).event == event);
  }
}

TEST_CASE("a line with a step that is not a whole number is refused") {
  const auto parse_step = [](const std::string& step) {
    return parse_history_line(R"({"event": "step", "epoch": 1, "step": )" + step + R"(, "time_s": 0.5})").step;
  };
  CHECK(parse_step("9223372036854775807") == INT64_MAX);
  for (const char* step : {"9223372036854775808", "1e300", "1.5", "-1", "true", "\"1\"", "null"}) {
    CAPTURE(step);
    CHECK_THROWS_WITH_AS(parse_step(step), doctest::Contains("; expected a whole number from 0 to 2^63 - 1"),
                         std::invalid_argument);
  }
}

TEST_CASE("a line that is not one object with each key once and a number for each metric is refused") {
  const std::string begin = R"({"event": "step", "epoch": 1, "step": 2, "time_s": 0.5)";
  const auto check = [](const std::string& text, const char* message) {
    CAPTURE(text);
    CHECK_THROWS_WITH_AS(parse_history_line(text), doctest::Contains(message), std::invalid_argument);
  };
  check("3", "is a value; expected an object");
  check("[1]", "is a list; expected an object");
  check("{}", "has no event");
  check(begin, "parse error");
  check(begin + "} 1", "parse error");
  check(begin + R"(, "step": 2})", "has the key \"step\" twice");
  check(begin + R"(, "a": 1, "b": 2, "a": 1})", "has the key \"a\" twice");
  check(begin + R"(, "a": {"b": 1}})", "\"a\" is an object; expected a number");
  check(begin + R"(, "a": [1]})", "\"a\" is a list; expected a number");
  for (const char* value : {"true", "null", "\"nan\""})
    CHECK_THROWS_AS(parse_history_line(begin + ", \"a\": " + value + "}"), std::invalid_argument);
}

TEST_CASE("NaN is text that differs from a missing metric") {
  const HistoryLine line{HistoryEvent::epoch, 1, 2, 0.1234567, {{"a", NAN}, {"b", INFINITY}, {"c", -INFINITY}}};
  CHECK(format_history_line(line) ==
        "{\"event\": \"epoch\", \"epoch\": 1, \"step\": 2, \"time_s\": 0.123457, \"a\": \"NaN\", "
        "\"b\": \"Infinity\", \"c\": \"-Infinity\"}\n");
}

TEST_CASE("numbers are parsed to the same bits") {
  std::mt19937_64 random(3);
  const auto check = [](double number) {
    const double back = nlohmann::json::parse(format_json_number(number)).get<double>();
    CHECK(std::bit_cast<uint64_t>(back) == std::bit_cast<uint64_t>(number));
  };
  for (const double number : {0.0, -0.0, 0.1, 1e-320, 5e-324, 1.7976931348623157e308, 1.0 / 3, 123456789012345678.0})
    check(number);
  for (int i = 0; i < 2000; ++i) {
    const auto number = std::bit_cast<double>(random());
    if (std::isfinite(number)) check(number);
  }
  for (const double number : {INFINITY, -INFINITY}) CHECK(parse_not_finite(format_number(number)) == number);
  CHECK(std::isnan(parse_not_finite(format_number(NAN))));
  CHECK_THROWS_AS(parse_not_finite("nan"), std::invalid_argument);
}

TEST_CASE("the CSV has the values of the JSON lines, including metrics that appear later") {
  const Scratch scratch;
  History history(scratch / "h.jsonl", scratch / "h.csv");
  write_example(history);
  const auto rows = read_jsonl(scratch / "h.jsonl");
  REQUIRE(rows.size() == 6);
  CHECK(rows[2].at("train/loss") == "NaN");
  CHECK(read_csv(scratch / "h.csv") == rows);
  CHECK(split_lines(read_all(scratch / "h.csv")).front() ==
        "event,epoch,step,time_s,validation/loss,train/loss,train/lr,validation/accuracy,\"mine/\"\"a\"\", b\"");
  CHECK(list_names(scratch.path()) == std::set<std::string>{"h.csv", "h.jsonl"});
}

TEST_CASE("both files are complete after every line") {
  const Scratch scratch;
  History history(scratch / "h.jsonl", scratch / "h.csv");
  CHECK(read_all(scratch / "h.csv") == "event,epoch,step,time_s\n");
  for (int64_t step = 1; step < 20; ++step) {
    history.append({HistoryEvent::step, 1, step, 0, {{"train/metric_" + std::to_string(step % 3), 1.5}}});
    CHECK(read_jsonl(scratch / "h.jsonl").size() == static_cast<size_t>(step));
    CHECK(read_csv(scratch / "h.csv") == read_jsonl(scratch / "h.jsonl"));
    CHECK(read_all(scratch / "h.jsonl").ends_with("}\n"));
  }
}

TEST_CASE("a new column keeps thousands of earlier rows unchanged") {
  const Scratch scratch;
  History history(scratch / "h.jsonl", scratch / "h.csv");
  history.append({HistoryEvent::step, 1, 1, 0, {{"of two\nlines", 1.0 / 3}}});
  for (int64_t step = 2; step <= 3000; ++step)
    history.append({HistoryEvent::step, 1, step, 0.001 * static_cast<double>(step), {{"train/loss", 1.0 / 3}}});
  const std::string before = read_all(scratch / "h.csv");
  CHECK(before.size() > 100'000);
  history.append({HistoryEvent::epoch, 1, 3000, 4, {{"late", 1}, {"later", 2}}});

  std::string expected = "event,epoch,step,time_s,\"of two\nlines\",train/loss,late,later\n";
  std::istringstream rows(before.substr(before.find("train/loss\n") + 11));
  for (std::string row; std::getline(rows, row);) expected += row + ",,\n";
  CHECK((read_all(scratch / "h.csv") == expected + "epoch,1,3000,4,,,1,2\n"));
  CHECK(list_names(scratch.path()) == std::set<std::string>{"h.csv", "h.jsonl"});
}

TEST_CASE("the memory of a history does not depend on its length") {
  const Scratch scratch;
  History history(scratch / "h.jsonl", scratch / "h.csv");
  const auto append_many = [&] {
    for (int64_t step = 0; step < 5000; ++step)
      history.append({HistoryEvent::step, 1, step, 0.25, {{"train/loss", 1.0 / 3}, {"train/learning_rate", 0.001}}});
  };
  append_many();
  const size_t before = ::mallinfo2().uordblks;
  append_many();
  CHECK(::mallinfo2().uordblks < before + 100'000);
}

TEST_CASE("a history continues without a CSV that cannot be written") {
  const Scratch scratch;
  History history(scratch / "h.jsonl", scratch / "h.csv");
  std::filesystem::remove(scratch / "h.csv");
  for (int64_t step : {1, 2}) history.append({HistoryEvent::step, 1, step, 0, {{"a", 1}}});
  CHECK(list_names(scratch.path()) == std::set<std::string>{"h.jsonl"});
  CHECK(contains(read_all(scratch / "h.jsonl"), "\"step\": 2"));
}

TEST_CASE("a history has no CSV if there is a folder in its place") {
  const Scratch scratch;
  std::filesystem::create_directories(scratch / "h.csv" / "in_the_way");
  {
    History history(scratch / "h.jsonl", scratch / "h.csv");
    history.append({HistoryEvent::step, 1, 1, 0, {{"a", 1}}});
  }
  History resumed = History::resume(scratch / "h.jsonl", 1, scratch / "resumed.jsonl", scratch / "h.csv");
  resumed.append({HistoryEvent::step, 1, 2, 0, {{"a", 1}, {"b", 1}}});
  CHECK(list_names(scratch.path()) == std::set<std::string>{"h.csv", "h.jsonl", "resumed.jsonl"});
  CHECK(contains(read_all(scratch / "resumed.jsonl"), "\"step\": 2"));
}

TEST_CASE("equal lines make equal files") {
  const Scratch scratch;
  for (const std::string name : {"a", "b"}) {
    History history(scratch / (name + ".jsonl"), scratch / (name + ".csv"));
    write_example(history);
  }
  CHECK(read_all(scratch / "a.jsonl") == read_all(scratch / "b.jsonl"));
  CHECK(read_all(scratch / "a.csv") == read_all(scratch / "b.csv"));
}

TEST_CASE("a partial line is undone") {
  const Scratch scratch;
  History history(scratch / "h.jsonl", scratch / "h.csv");
  write_example(history);
  const std::string before = read_all(scratch / "h.jsonl");
  std::string message;
  {
    const FileSizeLimit limit(before.size() + 10);
    message = find_error(ErrorKind::system, [&] {
      history.append({HistoryEvent::step, 1, 3, 0, {{"train/loss", 1}}});
    });
  }
  CHECK(contains(message, "h.jsonl: cannot be written: File too large"));
  CHECK(read_all(scratch / "h.jsonl") == before);
}

TEST_CASE("a metric that would duplicate a key is refused and nothing is written") {
  const Scratch scratch;
  History history(scratch / "h.jsonl", scratch / "h.csv");
  for (const NamedMetrics& metrics : {NamedMetrics{{"a", 1}, {"a", 2}}, NamedMetrics{{"step", 1}}}) {
    const auto append = [&] { history.append({HistoryEvent::step, 1, 1, 0, metrics}); };
    CHECK(contains(find_error(ErrorKind::internal, append), "occurs twice or has the name of a fixed column"));
  }
  CHECK(read_all(scratch / "h.jsonl").empty());
}

TEST_CASE("a history that lost lines is not resumed") {
  const Scratch scratch;
  const auto resume = [&](int64_t lines) {
    History::resume(scratch / "h.jsonl", lines, scratch / "resumed.jsonl", scratch / "resumed.csv");
  };
  CHECK(contains(find_error(ErrorKind::checkpoint, [&] { resume(1); }),
                 "h.jsonl: cannot be read: No such file or directory; expected a run's history"));
  {
    History history(scratch / "h.jsonl", scratch / "h.csv");
    for (int64_t step : {1, 2}) history.append({HistoryEvent::step, 1, step, 0.5, {}});
  }
  CHECK(contains(find_error(ErrorKind::checkpoint, [&] { resume(3); }),
                 "h.jsonl: has 2 lines; the checkpoint expects 3 or more"));
  CHECK_FALSE(std::filesystem::exists(scratch / "resumed.jsonl"));
  resume(1);
  CHECK(read_all(scratch / "resumed.jsonl").find("\"step\": 2") == std::string::npos);
}

TEST_CASE("a history never writes to existing files") {
  const Scratch scratch;
  write_all(scratch / "h.jsonl", "{}\n");
  const auto open = [&] { History history(scratch / "h.jsonl", scratch / "h.csv"); };
  CHECK(contains(find_error(ErrorKind::system, open), "h.jsonl: cannot be opened: File exists"));
  CHECK(read_all(scratch / "h.jsonl") == "{}\n");
}

TEST_CASE("a cell of a CSV file is quoted and has no control characters") {
  CHECK(quote_for_csv("train/loss") == "train/loss");
  CHECK(quote_for_csv("a,\"b\"\nc") == "\"a,\"\"b\"\"\nc\"");
  CHECK(quote_for_csv("\x1b[31m\xC2\x9B\xE2\x80\xAE\xFF") == "\\u001b[31m\\u009b\\u202e\\xff");
}

}  // namespace tenon::artifacts
