#include "framework/components/loading/write_permission.h"

#include <doctest/doctest.h>
#include <sys/stat.h>

#include <fstream>

#include "tests/test_folder.h"

using tenon::components::CurrentUser;
using tenon::components::find_other_writer;
using tenon::components::WritePermission;

namespace {

constexpr CurrentUser kUser{1000, 1001};  // with a private group

std::string found(const WritePermission& rights, const CurrentUser& user = kUser) {
  return find_other_writer("a.so", rights, user).value_or("");
}

}  // namespace

TEST_CASE("a file that only the user and root can write is trusted") {
  CHECK(found({1000, 1001, 0755, false}).empty());
  CHECK(found({1000, 50, 0755, false}).empty());
  CHECK(found({0, 0, 0755, false}).empty());
  CHECK(found({1000, 1001, 0755, true}).empty());  // an access control list without write permissions
}

TEST_CASE("a file that the user's private group can write is trusted, as with a umask of 002") {
  CHECK(found({1000, 1001, 0775, false}).empty());
  CHECK(found({1000, 0, 0775, false}).empty());  // root's group
  CHECK(found({0, 1001, 0775, false}).empty());
}

TEST_CASE("a file that a shared group can write is refused with the group and the fix") {
  CHECK(found({1000, 100, 0664, false}) ==
        "is writable by its group (gid 100, which is not yours alone), mode 0664; expected that only you and root can "
        "write it: chmod go-w a.so");
  const CurrentUser without_group{1000, std::nullopt};
  CHECK(found({1000, 1001, 0775, false}, without_group).find("is writable by its group (gid 1001") == 0);
}

TEST_CASE("with an access control list, the group's bits apply to all users on the list") {
  CHECK(found({1000, 1001, 0775, true}).find("is writable by those on its access control list, mode 0775") == 0);
}

TEST_CASE("a file that others can write is refused, also in a sticky directory") {
  CHECK(found({1000, 1001, 0757, false}).find("is writable by others, mode 0757") == 0);
  CHECK(found({0, 0, 01777, false}).find("is writable by others, mode 1777") == 0);
}

TEST_CASE("a file of another user is refused with any mode, unless root owns it or runs the host") {
  CHECK(found({1002, 1001, 0555, false}) ==
        "belongs to another user (uid 1002, you are 1000); expected that only you and root can write it: copy it to "
        "a file that you own");
  CHECK(found({1000, 1000, 0755, false}, {0, 0}).empty());
}

TEST_CASE("the rights of a file are read from the file system") {
  const auto file = tenon::test_folder() / "rights";
  std::ofstream(file) << "x";
  REQUIRE(chmod(file.c_str(), 0640) == 0);
  const WritePermission rights = tenon::components::read_write_permission(file);
  CHECK(rights.owner == tenon::components::current_user().id);
  CHECK((rights.mode & 07777) == 0640);
  CHECK_THROWS_AS(tenon::components::read_write_permission("no/such/file"), std::invalid_argument);
}
