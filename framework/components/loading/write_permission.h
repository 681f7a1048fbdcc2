// Whether another user could have written a file, or could replace it. A plugin runs with all rights of the user that
// starts the host. A user that can write the plugin can therefore act as that user.
//
// The rule, for the file and for its directory:
//  - The owner is the user that runs the host, or root. Any other owner can change the file at will. Root may also load
//    files of other users: in a container every user is root, and mounted files belong to a user outside.
//  - Others cannot write. This also holds for a directory with the sticky bit. That bit keeps others from replacing the
//    plugin, but not from adding libraries next to it that it would load ($ORIGIN). So plugins do not belong in /tmp.
//  - The group cannot write, unless it has no other members. Such groups are root's group and the group that most
//    distributions create for each user. These distributions set the umask to 002, so a developer's builds are writable
//    by that group. Refusing them would refuse most builds and protect no user. A shared group, such as `users` or the
//    group of a project, counts as others. With an access control list, the group's bits apply to all users on the
//    list, so they also count as others.
// Parent directories further up are not checked. Users that can rename them are trusted with their contents.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <optional>
#include <string>

#include <tenon/trusted_files.h>

namespace tenon::components {

// The user that runs the host, as far as the rule needs it.
struct CurrentUser {
  uid_t id;
  std::optional<gid_t> private_group;  // the user's main group, if it has the user's name and no other members
};
CurrentUser current_user();

// The owner and rights of a file or a directory.
struct WritePermission {
  uid_t owner;
  gid_t group;
  mode_t mode;
  bool has_access_list;
};
// Follows links. Throws std::invalid_argument with the reason if the path cannot be inspected.
WritePermission read_write_permission(const std::filesystem::path& path);

// Why `path` is not trusted, with the fix: "is writable by others, mode 0666; expected ...: chmod go-w path"; nothing
// if it is trusted.
std::optional<std::string> find_other_writer(const std::filesystem::path& path, const WritePermission& rights,
                                             const CurrentUser& user);

// Throws support::Error of the kind plugin, naming the file, the reason and the fix, unless the file and its directory
// are trusted. Throws std::invalid_argument if the file system does not report the rights.
void require_no_other_writer(const std::filesystem::path& file);

// The host's side of the extension TENON_TRUSTED_FILES: files with machine code that a plugin loads.
const tenon_trusted_files& trusted_files_extension();

}  // namespace tenon::components
