// Tests the queue of the callback mlflow and the file of what was sent.
#include "plugins/callbacks/mlflow/queue.h"

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <tenon/error.hpp>

#include "tests/artifacts/file_size_limit.h"
#include "tests/test_folder.h"

namespace fs = std::filesystem;
using namespace mlflow;

namespace {

fs::path queue_file() { return tenon::test_folder() / "mlflow/queue.jsonl"; }
std::string folder() { return tenon::test_folder().string(); }

std::vector<std::string> texts(const std::vector<Queue::Line>& lines) {
  std::vector<std::string> found;
  for (const Queue::Line& line : lines) found.push_back(line.text);
  return found;
}

std::string refusal_of_second() {
  try {
    const Queue second(folder());
  } catch (const tenon::Error& error) {
    return error.what();
  }
  return "opened";
}

}  // namespace

TEST_CASE("a queue returns its lines from any of them on, also after it was opened again") {
  {
    Queue queue(folder());
    CHECK(queue.read(0, 100).empty());
    CHECK(queue.append("one"));
    CHECK(queue.append("two"));
    CHECK(queue.size() == 8);
  }
  Queue queue(folder());
  CHECK(queue.append("three"));
  const auto lines = queue.read(0, 100);
  CHECK(texts(lines) == std::vector<std::string>{"one", "two", "three"});
  CHECK(texts(queue.read(lines[0].end, 100)) == std::vector<std::string>{"two", "three"});
  CHECK(queue.read(lines[2].end, 100).empty());
}

TEST_CASE("a queue reads in parts, and a line that is longer than the part at once") {
  Queue queue(folder());
  const std::string longest(1000, 'x');
  for (const std::string& line : {std::string("a"), std::string("b"), longest, std::string("c")})
    REQUIRE(queue.append(line));
  CHECK(texts(queue.read(0, 3)) == std::vector<std::string>{"a"});
  CHECK(texts(queue.read(0, 4)) == std::vector<std::string>{"a", "b"});
  CHECK(texts(queue.read(4, 3)).front() == longest);
}

TEST_CASE("a torn last line is removed") {
  fs::create_directory(queue_file().parent_path());
  for (const std::string& torn : {std::string("{\"kind\""), std::string(200'000, 'x'), std::string(10, '\0')}) {
    std::ofstream(queue_file(), std::ios::binary) << "complete\n" << torn;
    Queue queue(folder());
    CHECK(queue.size() == 9);
    CHECK(queue.append("next"));
    CHECK(texts(queue.read(0, 100)) == std::vector<std::string>{"complete", "next"});
  }
  std::ofstream(queue_file(), std::ios::binary) << "only torn";
  CHECK(Queue(folder()).size() == 0);
}

TEST_CASE("a line that does not fit on the disk is not there at all") {
  Queue queue(folder());
  REQUIRE(queue.append("first"));
  {
    const tenon::artifacts::FileSizeLimit limit(10);
    CHECK_FALSE(queue.append("a line of more bytes than are left"));
  }
  CHECK(fs::file_size(queue_file()) == 6);
  CHECK(queue.append("second"));
  CHECK(texts(queue.read(0, 100)) == std::vector<std::string>{"first", "second"});
}

TEST_CASE("a queue has one owner") {
  const Queue queue(folder());
  CHECK(refusal_of_second() == queue_file().string() +
                                   ": another process or callback sends it; expected one callback mlflow, and one "
                                   "process, per run");
}

TEST_CASE("what was sent is read back for the same server only, and a damaged file reads as nothing") {
  fs::create_directory(queue_file().parent_path());
  const Sent sent{"http://a", "1", "run", "mlflow-artifacts:/1/run/artifacts", 1234};
  REQUIRE(sent.write(folder()));
  const Sent read = Sent::read(folder(), "http://a");
  CHECK(read.run_id == "run");
  CHECK(read.offset == 1234);
  CHECK(Sent::read(folder(), "http://b").run_id.empty());
  CHECK(Sent::read(folder(), "http://b").offset == 0);
  std::ofstream(tenon::test_folder() / "mlflow/sent.json") << "{\"tracking_uri\": \"http://a\"";
  CHECK(Sent::read(folder(), "http://a").offset == 0);
  fs::remove(tenon::test_folder() / "mlflow/sent.json");
  CHECK(Sent::read(folder(), "http://a").run_id.empty());
}
