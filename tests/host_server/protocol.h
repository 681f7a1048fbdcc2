// What tests and the program bin/served/host send to host_server.cpp. Both run on one machine from one build.
#pragma once

#include <sys/socket.h>
#include <sys/types.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

namespace tenon::host_server {

struct Request {
  std::string folder;                    // the working directory
  std::array<int, 3> files;              // standard input, output and error
  std::vector<std::string> environment;  // "NAME=VALUE"
  std::vector<std::string> arguments;    // the first is the path of the program
};

inline bool send_bytes(int connection, const void* data, size_t size) {
  for (size_t sent = 0; sent < size;) {
    const ssize_t count = write(connection, static_cast<const char*>(data) + sent, size - sent);
    if (count <= 0) return false;
    sent += static_cast<size_t>(count);
  }
  return true;
}

inline bool receive_bytes(int connection, void* data, size_t size) {
  for (size_t received = 0; received < size;) {
    const ssize_t count = read(connection, static_cast<char*>(data) + received, size - received);
    if (count <= 0) return false;
    received += static_cast<size_t>(count);
  }
  return true;
}

// The descriptors travel with the number of texts.
inline bool send(int connection, const Request& request) {
  std::vector<std::string> texts{request.folder, std::to_string(request.environment.size())};
  texts.insert(texts.end(), request.environment.begin(), request.environment.end());
  texts.insert(texts.end(), request.arguments.begin(), request.arguments.end());
  uint64_t count = texts.size();
  iovec bytes{&count, sizeof count};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof request.files)] = {};
  msghdr message{};
  message.msg_iov = &bytes;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  cmsghdr* const header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof request.files);
  std::memcpy(CMSG_DATA(header), request.files.data(), sizeof request.files);
  if (sendmsg(connection, &message, 0) != sizeof count) return false;
  for (const std::string& text : texts) {
    const uint64_t size = text.size();
    if (!send_bytes(connection, &size, sizeof size) || !send_bytes(connection, text.data(), size)) return false;
  }
  return true;
}

inline bool receive(int connection, Request& request) {
  uint64_t count = 0;
  iovec bytes{&count, sizeof count};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof request.files)] = {};
  msghdr message{};
  message.msg_iov = &bytes;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  if (recvmsg(connection, &message, 0) != sizeof count) return false;
  const cmsghdr* const header = CMSG_FIRSTHDR(&message);
  if (!header || header->cmsg_len != CMSG_LEN(sizeof request.files)) return false;
  std::memcpy(request.files.data(), CMSG_DATA(header), sizeof request.files);
  std::vector<std::string> texts(count);
  for (std::string& text : texts) {
    uint64_t size = 0;
    if (!receive_bytes(connection, &size, sizeof size)) return false;
    text.resize(size);
    if (!receive_bytes(connection, text.data(), size)) return false;
  }
  if (texts.size() < 3) return false;
  request.folder = texts[0];
  const auto arguments = texts.begin() + 2 + std::stol(texts[1]);
  request.environment.assign(texts.begin() + 2, arguments);
  request.arguments.assign(arguments, texts.end());
  return true;
}

// Returns a connection to the server with the socket at `path`, or -1.
inline int connect_to(const char* path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, path, sizeof address.sun_path - 1);
  const int connection = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (connect(connection, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0) return connection;
  close(connection);
  return -1;
}

// The server answers with the process of the run, then with its wait status.
inline std::optional<int32_t> receive_number(int connection) {
  int32_t number = 0;
  return receive_bytes(connection, &number, sizeof number) ? std::optional(number) : std::nullopt;
}

}  // namespace tenon::host_server
