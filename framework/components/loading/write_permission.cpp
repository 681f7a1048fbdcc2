#include "framework/components/loading/write_permission.h"

#include <grp.h>
#include <pwd.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <exception>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "framework/components/calls/guard.h"
#include "framework/components/calls/host_table.h"
#include "framework/support/diagnostics/error.h"
#include "framework/support/files/files.h"
#include "framework/support/text/format.h"

namespace tenon::components {
namespace {

constexpr uid_t kRoot = 0;
constexpr gid_t kRootsGroup = 0;
constexpr size_t kLargestEntry = 1 << 24;  // for a group with many members

// Calls getpwuid_r or getgrgid_r with a buffer that is large enough. The entry points into `buffer`.
template <class Entry, class Id>
std::optional<Entry> find_entry(int (*look_up)(Id, Entry*, char*, size_t, Entry**), Id id, std::vector<char>& buffer) {
  Entry entry{};
  Entry* found = nullptr;
  for (buffer.resize(4096); buffer.size() <= kLargestEntry; buffer.resize(2 * buffer.size())) {
    const int failure = look_up(id, &entry, buffer.data(), buffer.size(), &found);
    if (failure == 0 && found) return entry;
    if (failure != ERANGE) break;
  }
  return std::nullopt;
}

std::optional<gid_t> find_private_group(uid_t id) {
  std::vector<char> user_buffer;
  std::vector<char> group_buffer;
  const auto user = find_entry<passwd, uid_t>(getpwuid_r, id, user_buffer);
  if (!user) return std::nullopt;
  const auto group = find_entry<struct group, gid_t>(getgrgid_r, user->pw_gid, group_buffer);
  if (!group || std::string_view(group->gr_name) != user->pw_name) return std::nullopt;
  for (char** member = group->gr_mem; member && *member; ++member)
    if (std::string_view(*member) != user->pw_name) return std::nullopt;
  return user->pw_gid;
}

tenon_status check(tenon_string path) {
  try {
    require_no_other_writer(to_string(path));
    return TENON_OK;
  } catch (const std::exception& error) {
    return fail(TENON_INVALID_ARGUMENT, error.what());
  }
}

constexpr tenon_trusted_files kTrustedFiles{sizeof(tenon_trusted_files), check};

}  // namespace

CurrentUser current_user() { return {geteuid(), find_private_group(geteuid())}; }

WritePermission read_write_permission(const std::filesystem::path& path) {
  struct stat status {};
  if (stat(path.c_str(), &status) != 0)
    throw std::invalid_argument(std::string("cannot be inspected: ") + std::strerror(errno));
  const bool has_access_list = getxattr(path.c_str(), "system.posix_acl_access", nullptr, 0) > 0;
  return {status.st_uid, status.st_gid, status.st_mode, has_access_list};
}

std::optional<std::string> find_other_writer(const std::filesystem::path& path, const WritePermission& rights,
                                             const CurrentUser& user) {
  const std::string expected = "; expected that only you and root can write it: ";
  if (rights.owner != user.id && rights.owner != kRoot && user.id != kRoot)
    return fmt::format("belongs to another user (uid {}, you are {}){}copy it to a file that you own", rights.owner,
                       user.id, expected);
  const bool is_private = !rights.has_access_list &&
                          (rights.group == kRootsGroup || (user.private_group && rights.group == *user.private_group));
  const bool group_writes = (rights.mode & S_IWGRP) != 0 && !is_private;
  const bool others_write = (rights.mode & S_IWOTH) != 0;
  if (!group_writes && !others_write) return std::nullopt;
  const std::string writers = others_write ? "others"
                              : rights.has_access_list
                                  ? "those on its access control list"
                                  : "its group (gid " + std::to_string(rights.group) + ", which is not yours alone)";
  return fmt::format("is writable by {}, mode {:04o}{}chmod go-w {}", writers, rights.mode & 07777, expected,
                     path.string());
}

void require_no_other_writer(const std::filesystem::path& file) {
  static const CurrentUser user = current_user();  // reads /etc/passwd and /etc/group
  if (const auto found = find_other_writer(file, read_write_permission(file), user))
    throw support::Error(support::ErrorKind::plugin, file.string() + ": " + *found);
  const std::filesystem::path directory = support::make_absolute(file).parent_path();
  if (const auto found = find_other_writer(directory, read_write_permission(directory), user))
    throw support::Error(support::ErrorKind::plugin,
                         file.string() + ": its directory " + directory.string() + " " + *found);
}

const tenon_trusted_files& trusted_files_extension() { return kTrustedFiles; }

}  // namespace tenon::components
