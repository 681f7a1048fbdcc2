#include "framework/distributed/launch/world.h"

#include <doctest/doctest.h>

namespace tenon::distributed {
namespace {

std::string first(const std::string& list) { return first_node(list).value_or("none"); }

using Tasks = std::vector<int64_t>;

}  // namespace

TEST_CASE("the first node of a list is found") {
  CHECK(first("gpu3") == "gpu3");
  CHECK(first("node1,node2") == "node1");
  CHECK(first("node[01-04,7],gpu3") == "node01");
  CHECK(first("gpu3,node[01-04,7]") == "gpu3");
  CHECK(first("node[7,01-04]") == "node7");
  CHECK(first("a-b[0099-0100].cluster.example") == "a-b0099.cluster.example");
  CHECK(first("rack[2-3]node[5,6]") == "rack2node5");
}

TEST_CASE("an invalid list of nodes has no first node") {
  for (const char* list : {"", ",", "node[", "node[]", "node[a]", "node]", "node[-3]", "node 1", "node[1"}) {
    CAPTURE(list);
    CHECK_FALSE(first_node(list));
  }
}

TEST_CASE("tasks per node are expanded") {
  CHECK(parse_tasks_per_node("4") == Tasks{4});
  CHECK(parse_tasks_per_node("2(x3),1") == Tasks{2, 2, 2, 1});
  CHECK(parse_tasks_per_node("1,2(x2)") == Tasks{1, 2, 2});
}

TEST_CASE("an invalid number of tasks is refused") {
  for (const char* text : {"", ",", "2,", "x", "2(", "2(x", "2(x3", "2(3)", "-1", "2 ", "2(x999999999)",
                           "99999999999999999999", "1(x9999999999999999999)"}) {
    CAPTURE(text);
    CHECK_FALSE(parse_tasks_per_node(text));
  }
}

}  // namespace tenon::distributed
