#include "analysis/naming/display_name.h"

#include "analysis/naming/spelling.h"

namespace geiger::naming {

std::string display_name(std::string_view demangled) { return spelled(demangled, {}); }

}  // namespace geiger::naming
