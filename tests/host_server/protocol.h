// What a test sends to host_server.cpp. Both run on one machine from one build.
#pragma once

#include <sys/types.h>
#include <unistd.h>

#include <cstdint>
#include <string>
#include <vector>

namespace tenon::host_server {

struct Request {
  std::string folder;  // the working directory
  std::string output;  // files for standard output and standard error, relative to `folder`
  std::string errors;
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

inline bool send(int connection, const Request& request) {
  std::vector<std::string> texts{request.folder, request.output, request.errors,
                                 std::to_string(request.environment.size())};
  texts.insert(texts.end(), request.environment.begin(), request.environment.end());
  texts.insert(texts.end(), request.arguments.begin(), request.arguments.end());
  const uint64_t count = texts.size();
  if (!send_bytes(connection, &count, sizeof count)) return false;
  for (const std::string& text : texts) {
    const uint64_t size = text.size();
    if (!send_bytes(connection, &size, sizeof size) || !send_bytes(connection, text.data(), size)) return false;
  }
  return true;
}

inline bool receive(int connection, Request& request) {
  uint64_t count = 0;
  if (!receive_bytes(connection, &count, sizeof count)) return false;
  std::vector<std::string> texts(count);
  for (std::string& text : texts) {
    uint64_t size = 0;
    if (!receive_bytes(connection, &size, sizeof size)) return false;
    text.resize(size);
    if (!receive_bytes(connection, text.data(), size)) return false;
  }
  if (texts.size() < 5) return false;
  request.folder = texts[0];
  request.output = texts[1];
  request.errors = texts[2];
  const auto arguments = texts.begin() + 4 + std::stol(texts[3]);
  request.environment.assign(texts.begin() + 4, arguments);
  request.arguments.assign(arguments, texts.end());
  return true;
}

}  // namespace tenon::host_server
