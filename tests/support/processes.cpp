// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "support/processes.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <stdexcept>

namespace sparsecoll::test {

namespace {

struct Pipe {
  Pipe() {
    if (pipe(ends) != 0) throw std::runtime_error("pipe");
  }
  void close_end(int which) {
    if (ends[which] >= 0) close(ends[which]);
    ends[which] = -1;
  }
  int ends[2] = {-1, -1};
};

void write_all(int fd, const void* data, std::size_t bytes) {
  const char* at = static_cast<const char*>(data);
  while (bytes > 0) {
    const ssize_t written = write(fd, at, bytes);
    if (written <= 0) return;
    at += written;
    bytes -= static_cast<std::size_t>(written);
  }
}

bool read_all(int fd, void* data, std::size_t bytes) {
  char* at = static_cast<char*>(data);
  while (bytes > 0) {
    const ssize_t got = read(fd, at, bytes);
    if (got <= 0) return false;
    at += got;
    bytes -= static_cast<std::size_t>(got);
  }
  return true;
}

std::string read_text(int fd) {
  std::string text;
  char some[512];
  for (ssize_t got = 0; (got = read(fd, some, sizeof some)) > 0;)
    text.append(some, static_cast<std::size_t>(got));
  return text;
}

}  // namespace

std::vector<ProcessVerdict> run_processes(
    int P, int seconds,
    const std::function<std::string(int rank, const sparsecollUniqueId& id)>& body, int stopped) {
  std::fflush(nullptr);
  Pipe id_from_first;
  std::vector<Pipe> ids(static_cast<std::size_t>(P)), texts(static_cast<std::size_t>(P));
  std::vector<pid_t> children;
  for (int rank = 0; rank < P; ++rank) {
    const auto r = static_cast<std::size_t>(rank);
    const pid_t child = fork();
    if (child < 0) throw std::runtime_error("fork");
    if (child > 0) {
      children.push_back(child);
      continue;
    }
    alarm(static_cast<unsigned>(seconds));
    sparsecollUniqueId id{};
    std::string verdict;
    if (rank == 0) {
      if (sparsecollGetUniqueId(&id) != sparsecollSuccess)
        verdict = sparsecollGetLastError(nullptr);
      write_all(id_from_first.ends[1], &id, sizeof id);
    } else if (!read_all(ids[r].ends[0], &id, sizeof id)) {
      verdict = "no id";
    }
    if (verdict.empty()) {
      try {
        verdict = body(rank, id);
      } catch (const std::exception& error) {
        verdict = error.what();
      }
    }
    write_all(texts[r].ends[1], verdict.data(), verdict.size());
    _exit(0);
  }
  sparsecollUniqueId id{};
  id_from_first.close_end(1);
  if (read_all(id_from_first.ends[0], &id, sizeof id))
    for (std::size_t r = 1; r < ids.size(); ++r) write_all(ids[r].ends[1], &id, sizeof id);
  std::vector<ProcessVerdict> verdicts(children.size());
  for (std::size_t r = 0; r < children.size(); ++r) {
    texts[r].close_end(1);
    ids[r].close_end(1);
  }
  const auto wait_for = [&](std::size_t r) {
    int status = 0;
    waitpid(children[r], &status, 0);
    verdicts[r].signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  };
  for (std::size_t r = 0; r < children.size(); ++r)
    if (static_cast<int>(r) != stopped) wait_for(r);
  if (stopped >= 0) {
    kill(children[static_cast<std::size_t>(stopped)], SIGKILL);
    wait_for(static_cast<std::size_t>(stopped));
  }
  for (std::size_t r = 0; r < children.size(); ++r) {
    verdicts[r].text = read_text(texts[r].ends[0]);
    for (const int which : {0, 1}) {
      texts[r].close_end(which);
      ids[r].close_end(which);
    }
  }
  id_from_first.close_end(0);
  return verdicts;
}

std::string joined(const std::vector<ProcessVerdict>& verdicts, int victim) {
  std::string all;
  for (std::size_t r = 0; r < verdicts.size(); ++r) {
    if (static_cast<int>(r) == victim) continue;
    const ProcessVerdict& each = verdicts[r];
    const std::string name = "\n  rank " + std::to_string(r) + ": ";
    if (each.signal != 0) all += name + "killed by signal " + std::to_string(each.signal);
    if (!each.text.empty()) all += name + each.text;
  }
  return all;
}

}  // namespace sparsecoll::test
