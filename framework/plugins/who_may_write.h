// Whether somebody else could have written a file, or could replace it. A plugin runs with all rights of the user who
// starts the host, so whoever can write one can act as that user.
//
// The rule, for the file and for the directory that it is in:
//  - the owner is the user who runs the host, or root. Any other owner can change the file at will. Root itself may
//    load what another user owns: in a container everybody is root, and what is mounted belongs to somebody outside.
//  - others cannot write. In a directory this holds with the sticky bit too: that bit keeps others from replacing the
//    plugin, but not from putting libraries beside it that it would load ($ORIGIN), so /tmp is no place for plugins.
//  - the group cannot write, unless nobody else is in it: root's group, and the group that most distributions make for
//    each user. They set the umask to 002 because that group is the user's alone, so that what a developer builds is
//    writable by it; to refuse that would refuse most people's own builds and protect nobody. A group that is shared,
//    such as `users` or a project's, is others by another name. With an access control list the group's bits are the
//    list's, for whomever it names, so then they count as others too.
// Directories further up are not looked at: whoever may rename those is taken to be trusted with what is in them.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <optional>
#include <string>

namespace tenon::plugins {

// Who runs the host, as far as the rule asks.
struct CurrentUser {
  uid_t id;
  std::optional<gid_t> private_group;  // a group of the user's name, the user's main one, without other members
};
CurrentUser current_user();

// What the file system says of a file or a directory.
struct WriteRights {
  uid_t owner;
  gid_t group;
  mode_t mode;
  bool has_access_list;
};
// Follows links. Throws std::invalid_argument saying why it cannot be asked.
WriteRights read_write_rights(const std::filesystem::path& path);

// Why `path` is not to be trusted, with what mends it: "is writable by others (mode 0666); expected ...: chmod go-w
// path"; nothing if it is.
std::optional<std::string> find_other_writer(const std::filesystem::path& path, const WriteRights& rights,
                                             const CurrentUser& user);

}  // namespace tenon::plugins
