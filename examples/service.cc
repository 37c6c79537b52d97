// A service whose allocations carry labels: which request, for which tenant, in which
// phase. In the end it asks the profiler who holds how much, and compares with what it
// counted itself.
#include <cstdio>
#include <cstring>
#include <geiger/geiger.hpp>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace {

using Buffer = std::unique_ptr<char[]>;

Buffer buffer_of(std::size_t size) {
  Buffer buffer(new char[size]);
  std::memset(buffer.get(), 1, size);
  return buffer;
}

struct Tenant {
  std::string label;  // "tenant=acme"
  std::size_t response_bytes;
  std::vector<Buffer> cache;
  std::size_t cached_bytes = 0;
};

void handle(Tenant& tenant, int number) {
  static constinit geiger::Label request{"request"};
  static constinit geiger::Label parse{"phase=parse"};
  static constinit geiger::Label render{"phase=render"};
  const geiger::LabelScope in_request(request);
  const geiger::LabelScope for_tenant(tenant.label.c_str());
  {
    const geiger::LabelScope in_phase(parse);
    const Buffer scratch = buffer_of(2000);  // Gone with the phase.
  }
  const geiger::LabelScope in_phase(render);
  const std::size_t size = tenant.response_bytes + static_cast<std::size_t>(number) % 100;
  tenant.cache.push_back(buffer_of(size));
  tenant.cached_bytes += size;
}

bool has_label(const geiger_sample& sample, const std::string& text) {
  for (std::uint32_t i = 0; i < sample.label_count; ++i) {
    if (geiger::view(sample.labels[i]) == text) return true;
  }
  return false;
}

}  // namespace

int main() {
  // One sample per 16 KiB on average, as long as the token runs.
  const geiger::Token token(GEIGER_ALLOCATIONS, 16 << 10);
  Tenant tenants[] = {{"tenant=acme", 9000, {}}, {"tenant=globex", 3000, {}}};
  for (Tenant& tenant : tenants) {
    std::thread([&tenant] {
      for (int number = 0; number < 3000; ++number) handle(tenant, number);
    }).join();
  }

  const geiger::Profile live = geiger::Profile::snapshot();
  bool is_right = true;
  for (const Tenant& tenant : tenants) {
    // Five standard errors: wrong in one of two million runs.
    const geiger_estimate held = live.total_where(
        [&](const geiger_sample& sample) {
          return has_label(sample, tenant.label) && has_label(sample, "phase=render");
        },
        GEIGER_BYTES, 0.9999994);
    // The cache's own vector grew in there too: at most twice as many pointers as entries.
    const auto most = static_cast<double>(tenant.cached_bytes + tenant.cache.capacity() * 8);
    std::printf("%-14s holds %9zu bytes; geiger says %9.0f [%.0f, %.0f]\n", tenant.label.c_str(),
                tenant.cached_bytes, held.value, held.lowest, held.highest);
    is_right &= held.lowest <= most && static_cast<double>(tenant.cached_bytes) <= held.highest;
  }
  if (geiger_status status = token.status(); status != GEIGER_OK) {
    std::printf("not profiled: %s\n", geiger_status_message(status));
    return 1;
  }
  return is_right ? 0 : 1;
}
