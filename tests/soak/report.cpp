// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "soak/report.hpp"

#include <fstream>
#include <nlohmann/json.hpp>

namespace sparsecoll::soak {

bool Report::write(const std::string& path) const {
  const nlohmann::json all = {{"rank", rank},
                              {"verdict", verdict},
                              {"dies", dies},
                              {"excluded", excluded},
                              {"calls", calls},
                              {"faulty", faulty},
                              {"refused", refused},
                              {"failed", failed},
                              {"kills", kills},
                              {"lates", lates},
                              {"aborts", aborts},
                              {"shrinks", shrinks},
                              {"saves", saves},
                              {"dead_files", dead_files},
                              {"unplanned", unplanned},
                              {"first_unplanned", first_unplanned},
                              {"worst_over", worst_over},
                              {"worst_what", worst_what},
                              {"worst_own", worst_own},
                              {"worst_delay", worst_delay}};
  std::ofstream file(path);
  file << all << std::endl;
  return file.good();
}

}  // namespace sparsecoll::soak
