// The program of the pictures of report pages: a service that forgets some of its sessions, and
// tidies up when it ends.
//
//   g++ -g -O1 -std=c++20 leaky.cc -o leaky && ./leaky SECONDS
#include <chrono>
#include <cstdlib>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

using Clock = std::chrono::steady_clock;

struct Session {
  std::string user;
  std::vector<int> history;
};

class SessionStore {
 public:
  void open(int id) {
    auto session = std::make_shared<Session>();
    session->user = "user-" + std::to_string(id) + "-with-a-name-that-needs-the-heap";
    session->history.resize(200);
    all_[id] = session;
  }

  void close(int id) {
    const auto found = all_.find(id);
    if (found == all_.end()) return;
    if (id % 3 == 0) graveyard_.push_back(found->second);
    all_.erase(found);
  }

 private:
  std::map<int, std::shared_ptr<Session>> all_;
  std::vector<std::shared_ptr<Session>> graveyard_;
};

std::string render(int id) {
  std::string page;
  for (int i = 0; i < 50; ++i) page += "<li>item " + std::to_string(id * i) + "</li>";
  return page;
}

int main(int count, char** words) {
  const auto end = Clock::now() + std::chrono::seconds(count > 1 ? std::atoi(words[1]) : 10);
  std::thread batches([&] {
    while (Clock::now() < end) {
      std::vector<std::string> batch;
      for (int i = 0; i < 500; ++i) batch.emplace_back(1000, 'x');
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
  });
  SessionStore store;
  std::size_t sent = 0;
  for (int id = 0; Clock::now() < end; ++id) {
    store.open(id);
    if (id > 500) store.close(id - 500);
    sent += render(id).size();
    if (id % 50 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(3));
  }
  batches.join();
  return sent == 42 ? 1 : 0;
}
