#include "api/test_capture.h"

#include <cstdlib>
#include <utility>

namespace geiger::api::test {

Capture fake;
std::atomic<const capture::Listener*> listener{nullptr};

namespace {

/// Calls it once: it may call the same function.
void tell(std::function<void()>& told) {
  if (const auto call = std::exchange(told, nullptr)) call();
}

capture::Status status() {
  tell(fake.at_status);
  return fake.status;
}

capture::Naming* naming() {
  thread_local capture::Naming own{};
  return &own;
}

capture::NameId define_name(trace::NameKind kind, std::uint32_t, const char* text,
                            std::size_t bytes) {
  if (!fake.can_name) return 0;
  fake.names.emplace_back(text, bytes);
  fake.kinds.push_back(kind);
  return static_cast<capture::NameId>(fake.names.size());
}

capture::NamedThing name_at(capture::NameId name) {
  if (name == 0 || name > fake.names.size()) return {};
  const std::string& text = fake.names[name - 1];
  return {fake.kinds[name - 1], 0, text.data(), text.size()};
}

bool write_mark(const char*, std::size_t) { return fake.can_write_marks; }

bool set_interval(std::uint64_t interval) {
  if (fake.can_set_interval) fake.status.interval = interval;
  return fake.can_set_interval;
}

capture::Rate current_rate() {
  tell(fake.at_rate);
  return fake.rate;
}

capture::Rate rate_of_interval(std::uint64_t interval) {
  capture::Rate rate = fake.rate;
  rate.interval = interval;
  return rate;
}

void* allocate(std::size_t bytes) {
  tell(fake.at_allocate);
  return fake.has_memory ? std::calloc(1, bytes) : nullptr;
}

capture::ThreadLocal* thread() {
  static capture::ThreadLocal data{};
  return &data;
}

void for_each_live(capture::LiveVisitor visit, void* context) {
  tell(fake.at_live);
  for (const auto& [key, sample] : fake.live) visit(context, key, fake.status.image, sample);
}

bool hold_trace(std::uint32_t number, capture::TraceView& view) {
  if (number != fake.status.image) return false;
  view = {reinterpret_cast<const char*>(fake.status.header), fake.mapped, fake.status.header,
          number};
  return true;
}

}  // namespace
}  // namespace geiger::api::test

using namespace geiger::api::test;  // NOLINT: the C name below lives outside.
namespace capture = geiger::capture;

extern "C" constinit const capture::Interface geiger_capture_v1{
    .version = GEIGER_VERSION,
    .status = status,
    .naming = naming,
    .define_name = define_name,
    .name_at = name_at,
    .write_mark = write_mark,
    .set_interval = set_interval,
    .set_own_interval = [](std::uint64_t) {},
    .largest_interval_in_use = [] { return geiger::Bytes{kInterval}; },
    .forget_intervals = [] { fake.status.largest_interval = fake.status.interval; },
    .hold = [](bool is_held) { fake.held.push_back(is_held); },
    .record_free_stacks = [](bool) {},
    .current_rate = current_rate,
    .rate_of_interval = rate_of_interval,
    .report_sample =
        [](const capture::Report& report) {
          fake.reported.push_back(report);
          return capture::Reported::kYes;
        },
    .report_free =
        [](capture::NameId, std::uint64_t address, const geiger::unwind::Registers&) {
          fake.freed.push_back(address);
          return capture::Reported::kYes;
        },
    .hold_trace = hold_trace,
    .release_trace = [](std::uint32_t) {},
    .for_each_live = for_each_live,
    .listener = &listener,
    .thread = thread,
    .bytes_of_thread =
        [](std::uint64_t& bytes) {
          bytes = fake.thread_bytes;
          return fake.counted;
        },
    .bytes_of_process =
        [](capture::ProcessBytes& found) {
          found = fake.process_bytes;
          return fake.counted;
        },
    .allocate = allocate,
};
