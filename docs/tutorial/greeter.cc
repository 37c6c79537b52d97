// A service in small, for docs/guide/tutorial.md: it answers requests with pages made of templates,
// and it leaks. No part of it knows of geiger.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <thread>

struct Request {
  std::string page;
  std::string session;
};

struct Template {
  char text[900];
};

Template* compile(const char* page) {
  auto* made = new Template;
  std::snprintf(made->text, sizeof made->text, "<h1>%s</h1><p>Good morning, %%s!</p>", page);
  return made;
}

class TemplateCache {
 public:
  const Template& find(const Request& request) {
    const std::string key = request.page + request.session;
    Template*& found = templates_[key];
    if (found == nullptr) found = compile(request.page.c_str());
    return *found;
  }

 private:
  std::map<std::string, Template*> templates_;
};

std::size_t answer(const Template& page, const char* visitor) {
  constexpr std::size_t kMost = 2000;
  char* text = static_cast<char*>(std::malloc(kMost));
  const int bytes = std::snprintf(text, kMost, page.text, visitor);
  std::free(text);  // Sent.
  return static_cast<std::size_t>(bytes);
}

int main(int argc, char** argv) {
  const int requests = argc > 1 ? std::atoi(argv[1]) : 100000;
  auto& cache = *new TemplateCache;  // As long as the service lives: nothing tears it down.
  std::size_t sent = 0;
  for (int i = 0; i < requests; ++i) {
    // Requests come in groups, a hundred groups a second.
    if (i % 1000 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(10));
    const Request request{"home", "/visitor-" + std::to_string(i)};
    sent += answer(cache.find(request), request.session.c_str());
  }
  std::printf("%d requests, %zu bytes sent\n", requests, sent);
}
