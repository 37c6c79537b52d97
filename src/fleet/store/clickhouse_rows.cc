#include "fleet/store/clickhouse_rows.h"

#include <cstdint>

namespace geiger::fleet {

namespace {

using u8 = std::uint8_t;
using u32 = std::uint32_t;
using u64 = std::uint64_t;

TableRows locations_of(const std::vector<Location>& locations) {
  RowBinary rows;
  for (const Location& location : locations) {
    rows.number<u64>(location.id).number<u8>(static_cast<u8>(location.kind));
    rows.text(location.build_id).text(location.module).number<u64>(location.address);
  }
  return {"locations", "location_id, kind, build_id, module, address", rows.bytes()};
}

TableRows stacks_of(const std::vector<Stack>& stacks) {
  RowBinary rows;
  for (const Stack& stack : stacks) {
    rows.number<u64>(stack.id).number<u8>(stack.is_truncated ? 1 : 0);
    rows.array(stack.locations, [&](LocationId id) { rows.number<u64>(id); });
  }
  return {"stacks", "stack_id, truncated, locations", rows.bytes()};
}

TableRows counts_of(const Document& document) {
  const Window& window = document.window;
  RowBinary rows;
  for (const CountRow& row : document.counts) {
    rows.text(window.key.service).text(window.key.version);
    rows.number<u64>(row.stack).number<u64>(row.size).number<u64>(row.interval);
    rows.number<u32>(row.thinning).number<u8>(row.is_certain ? 1 : 0);
    rows.text(window.key.host).number<u64>(window.key.process);
    rows.number<u32>(static_cast<u32>(window.key.started)).number<u64>(window.recorded_ms);
    rows.number<u32>(static_cast<u32>(row.allocated)).number<u32>(static_cast<u32>(row.live));
  }
  return {"counts",
          "service, version, stack_id, size, step, thinning, certain, host, process, started, "
          "recorded_ms, allocated, live",
          rows.bytes()};
}

void put_facts(RowBinary& row, const Window& window) {
  row.number<u64>(window.recorded_ms).number<u64>(window.alive_ms);
  row.number<u8>(window.is_from_start ? 1 : 0).number<u8>(window.is_pure ? 1 : 0);
  row.number<u64>(window.interval).number<u32>(window.thinning).number<u64>(window.seed);
  row.number<u8>(window.exact_bytes ? 0 : 1);  // Whether it is NULL.
  if (window.exact_bytes) row.number<u64>(*window.exact_bytes);
  row.number<u64>(window.unsettled_bytes).number<u64>(window.rss_byte_seconds);
  row.number<u64>(window.trials).number<u64>(window.hits).number<u64>(window.dropped);
}

TableRows window_row_of(const Document& document, std::uint64_t content) {
  const Window& window = document.window;
  u64 samples = 0;
  for (const CountRow& count : document.counts) samples += count.allocated;
  RowBinary row;
  row.text(window.key.service).text(window.key.version).text(window.key.host);
  row.number<u64>(window.key.process).number<u32>(static_cast<u32>(window.key.started));
  put_facts(row, window);
  row.number<u64>(document.counts.size()).number<u64>(samples).number<u64>(window.sequence);
  row.number<std::int32_t>(window.skew_ms).text(window.executable).number<u64>(content);
  row.array(window.labels, [&](const auto& label) { row.text(label.first); });
  row.array(window.labels, [&](const auto& label) { row.text(label.second); });
  row.number<std::int64_t>(window.began_ms).number<u64>(window.unsettled_before);
  return {"windows",
          "service, version, host, process, started, recorded_ms, alive_ms, from_start, is_pure, "
          "step, thinning, seed, exact_bytes, unsettled_bytes, rss_byte_seconds, trials, hits, "
          "dropped, row_count, samples, sequence, skew_ms, executable, content, label_names, "
          "label_values, began_ms, unsettled_before",
          row.bytes()};
}

}  // namespace

TableRows frames_of(const std::vector<Location>& locations) {
  RowBinary rows;
  for (const Location& location : locations) {
    const auto& frames = location.frames;
    if (frames.empty()) continue;
    rows.number<u64>(location.id).number<u32>(static_cast<u32>(frames.size()));
    rows.array(frames, [&](const profile::Frame& frame) { rows.text(frame.function); });
    rows.array(frames, [&](const profile::Frame& frame) { rows.text(frame.system_name); });
    rows.array(frames, [&](const profile::Frame& frame) { rows.text(frame.file); });
    rows.array(frames, [&](const profile::Frame& frame) { rows.number<u32>(frame.line); });
  }
  return {"frames", "location_id, depth, function, system_name, file, line", rows.bytes()};
}

TableRows sites_of(const std::vector<SiteRow>& sites) {
  RowBinary rows;
  for (const SiteRow& site : sites) {
    rows.number<u64>(site.stack).text(site.function).text(site.module);
    rows.array(site.path, [&](const std::string& name) { rows.text(name); });
    rows.number<u8>(site.has_names ? 1 : 0);
  }
  return {"sites", "stack_id, function, module, path, has_names", rows.bytes()};
}

std::vector<TableRows> rows_of(const Document& document, std::uint64_t content) {
  return {locations_of(document.locations), frames_of(document.locations),
          stacks_of(document.stacks), counts_of(document), window_row_of(document, content)};
}

}  // namespace geiger::fleet
