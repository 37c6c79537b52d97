// The name of the module libgeiger-http.so, and the functions that it exports.
#pragma once

#include "serve/http_server.h"

namespace geiger::serve {

inline constexpr const char* kHttpModule = "libgeiger-http.so";
inline constexpr const char* kMakeHttpServer = "geiger_make_http_server";
inline constexpr const char* kMakeHttpReceiver = "geiger_make_http_receiver";

}  // namespace geiger::serve

/// Makes a server, which the caller owns. Moves from `token` and `handler`.
extern "C" geiger::serve::HttpServer* geiger_make_http_server(std::string* token,
                                                              geiger::serve::Handler* handler);
extern "C" geiger::serve::HttpServer* geiger_make_http_receiver(geiger::serve::Receiver* receiver);
