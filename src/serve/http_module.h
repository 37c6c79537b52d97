// The name of the module libgeiger-http.so, and the functions that it exports.
#pragma once

#include <string>

#include "serve/http_server.h"

namespace geiger::serve {

// The token that requests must carry.

/// A token that cannot be guessed: 128 random bits in hexadecimal. Empty where the system gives no
/// random numbers.
[[nodiscard]] std::string random_token();
/// Whether it is valid in a path without escaping and too long to be guessed: 8 to 128 of letters,
/// digits, '-' and '_'.
[[nodiscard]] bool is_token(const std::string& text);

inline constexpr const char* kHttpModule = "libgeiger-http.so";
inline constexpr const char* kMakeHttpServer = "geiger_make_http_server";
inline constexpr const char* kMakeHttpReceiver = "geiger_make_http_receiver";

}  // namespace geiger::serve

/// Makes a server, which the caller owns. Moves from `token` and `handler`.
extern "C" geiger::serve::HttpServer* geiger_make_http_server(std::string* token,
                                                              geiger::serve::Handler* handler);
extern "C" geiger::serve::HttpServer* geiger_make_http_receiver(geiger::serve::Receiver* receiver);
