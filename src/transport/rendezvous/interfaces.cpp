// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "transport/rendezvous/interfaces.hpp"

#include <ifaddrs.h>
#include <net/if.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string_view>

#include "core/error.hpp"

namespace sparsecoll {

namespace {

/// Returns whether an interface leads only to this machine, its containers or its virtual machines.
bool is_internal(const Interface& each) {
  return each.loopback || each.name.starts_with("docker") || each.name.starts_with("virbr") ||
         each.name.starts_with("veth") || each.name.starts_with("br-");
}

/// The value of SPARSECOLL_SOCKET_IFNAME.
class Filter {
 public:
  explicit Filter(std::string_view value) {
    avoids_ = value.starts_with('^');
    if (avoids_) value.remove_prefix(1);
    whole_ = value.starts_with('=');
    if (whole_) value.remove_prefix(1);
    while (!value.empty()) {
      const size_t end = std::min(value.find(','), value.size());
      if (end > 0) names_.emplace_back(value.substr(0, end));
      value.remove_prefix(std::min(end + 1, value.size()));
    }
  }
  bool admits(const Interface& each) const {
    const bool matches = std::ranges::any_of(names_, [&](const std::string& name) {
      return whole_ ? each.name == name : each.name.starts_with(name);
    });
    return matches != avoids_;
  }
  bool avoids() const { return avoids_; }

 private:
  bool avoids_ = false;
  bool whole_ = false;
  std::vector<std::string> names_;
};

}  // namespace

std::vector<Interface> interfaces_of_system() {
  ifaddrs* first = nullptr;
  if (getifaddrs(&first) != 0) fail(sparsecollSystemError, "getifaddrs: ", std::strerror(errno));
  std::vector<Interface> found;
  for (const ifaddrs* each = first; each; each = each->ifa_next) {
    if (!each->ifa_addr || (each->ifa_flags & IFF_UP) == 0) continue;
    const bool loopback = (each->ifa_flags & IFF_LOOPBACK) != 0;
    if (each->ifa_addr->sa_family == AF_INET) {
      const auto& v4 = reinterpret_cast<const sockaddr_in&>(*each->ifa_addr);
      found.push_back({each->ifa_name, SocketAddress::make(AF_INET, &v4.sin_addr, 0), loopback});
    } else if (each->ifa_addr->sa_family == AF_INET6) {
      const auto& v6 = reinterpret_cast<const sockaddr_in6&>(*each->ifa_addr);
      if (IN6_IS_ADDR_LINKLOCAL(&v6.sin6_addr)) continue;
      found.push_back({each->ifa_name, SocketAddress::make(AF_INET6, &v6.sin6_addr, 0), loopback});
    }
  }
  freeifaddrs(first);
  return found;
}

SocketAddress choose_address(const std::vector<Interface>& interfaces, const std::string& wanted) {
  const Filter filter(wanted);
  const bool by_name = !wanted.empty() && !filter.avoids();
  const Interface* best = nullptr;
  int best_rank = 0;
  std::string names;
  for (const Interface& each : interfaces) {
    if (names.find(each.name) == std::string::npos)
      names += (names.empty() ? "" : ", ") + each.name;
    if (!wanted.empty() && !filter.admits(each)) continue;
    const bool v4 = each.address.storage.ss_family == AF_INET;
    const int rank =
        1 + (v4 ? 1 : 0) + (by_name || !is_internal(each) ? 4 : 0) + (!each.loopback ? 2 : 0);
    if (rank <= best_rank) continue;
    best = &each;
    best_rank = rank;
  }
  if (best) return best->address;
  if (!wanted.empty())
    fail(sparsecollInvalidArgument, "SPARSECOLL_SOCKET_IFNAME: expected a name of ", names,
         "; got '", wanted, "'");
  fail(sparsecollSystemError, "no network interface is up");
}

}  // namespace sparsecoll
