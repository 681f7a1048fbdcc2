#include <doctest/doctest.h>

#include <fstream>
#include <sstream>

#include "framework/images/transforms/transform.h"
#include "tests/test_folder.h"

TEST_CASE("docs/reference/transforms.md lists the transforms as declared") {
  std::ifstream file(TENON_SOURCE_DIR "/docs/reference/transforms.md");
  std::stringstream written;
  written << file.rdbuf();
  const std::string made = images::describe_transforms();
  const std::string place = (tenon::test_folder() / "transforms.md").string();
  std::ofstream(place) << made;
  INFO("if the difference is intended, copy " << place << " over docs/reference/transforms.md");
  const bool is_current = written.str() == made;  // CHECK would print both texts
  CHECK(is_current);
}
