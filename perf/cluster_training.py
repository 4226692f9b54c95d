# SPDX-FileCopyrightText: 2026 The sparsecoll authors
# SPDX-License-Identifier: Apache-2.0
"""The training part of cluster_report.py: rows of train_digits on slow networks."""

GOALS = (0.80, 0.90)  # accuracies for which the time is reported
NONE = "-"


class Training:
    """Times and bytes of one job, each a mean over the steps."""

    def __init__(self, rows):
        self.rows = sorted(rows, key=lambda row: row["step"])
        self.last = self.rows[-1]
        self.mode = self.last["mode"]
        self.epochs = self.last["epoch"]
        self.step = self.last["elapsed"] / self.last["step"]
        self.epoch = self.last["elapsed"] / self.epochs
        self.sent = self.last["bytes_sent"] / self.last["step"]

    def part(self, key):
        """Returns the seconds of a step, a mean over ranks."""
        return sum(row[key] for row in self.rows) / self.last["step"]

    def own_core(self):
        """Returns the time of a step that would result if no rank waited for a core."""
        return self.step - self.part("compute_seconds") + self.part("compute_cpu_seconds")

    def time_to(self, accuracy):
        """Returns the seconds of training until a row reached the accuracy, or None."""
        return next((row["elapsed"] for row in self.rows if row["accuracy"] >= accuracy), None)


def milliseconds(seconds):
    return f"{1e3 * seconds:.0f}"


def line(training, dense, line_ms):
    compute, calls = training.part("compute_seconds"), training.part("call_seconds")
    select, wait = training.part("select_seconds"), training.part("wait_seconds")
    times = [training.time_to(goal) for goal in GOALS]
    return [
        training.mode, f"{training.epoch:.1f}", f"{dense.epoch / training.epoch:.2f}" if dense else NONE,
        milliseconds(training.step),
        *map(milliseconds, (compute, select, wait, calls - select - wait)),
        milliseconds(training.part("compute_cpu_seconds")), milliseconds(training.own_core()),
        f"{dense.own_core() / training.own_core():.2f}" if dense else NONE,
        f"{training.sent / 1e6:.3g}", f"{line_ms(training.sent):.0f}",
        *(f"{seconds:.1f}" if seconds else NONE for seconds in times),
        f"{100 * training.last['accuracy']:.1f} after {training.last['step']}",
    ]


def allreduces(jobs, rate, count):
    """Returns the rows of dense allreduces of as many values, by algorithm."""
    return {row["algorithm"]: row for job in jobs.values() if job.entry["rate"] == rate
            for row in job.rows
            if row.get("program") == "sparse_allreduce_perf" and row.get("count") == count}


def report(jobs, table):
    """Prints a table for each network by `table`, which takes titles and lines."""
    networks = {}
    for job in jobs.values():
        rows = [row for row in job.rows if row.get("program") == "train_digits"]
        if rows:
            networks.setdefault(job.entry["rate"], []).append((job, Training(rows)))
    if not networks:
        return
    last = next(iter(networks.values()))[0][1].last
    print("## Training\n")
    print(f"train_digits, {last['count']:,} parameters, {last['ranks']} ranks with {last['batch']} images "
          f"each a step, {round(last['step'] / last['epoch'])} steps an epoch, density "
          f"{min(row['density'] for found in networks.values() for _, t in found for row in t.rows):g} "
          "where entries are left out. Seconds of an epoch are those of its steps, judging left out, by "
          "the steps that were made; faster: than dense. Times of a step in ms, of the slowest rank; its "
          "parts are means over ranks: computing, and in sparsecoll's calls selection, waiting for "
          "messages and the rest. CPU: what computing took of a core. Own cores: the step less what "
          "computing waited for a core; the calls still share theirs. Sent: by the busiest rank, MB a "
          "step, and what this takes at line rate, in ms. To 80%, 90%: seconds of training until a row "
          "had this accuracy.\n")
    for rate, found in networks.items():
        dense = next((training for _, training in found if training.mode == "dense"), None)
        print(f"### Links of {rate}\n")
        table(["mode", "epoch (s)", "faster", "step", "compute", "select", "wait", "rest", "CPU",
               "own cores", "faster", "sent", "at line rate",
               *(f"to {goal:.0%} (s)" for goal in GOALS), "accuracy %, steps"],
              [line(training, dense, job.line_ms) for job, training in found])
        alone = [f"{algorithm} {row['time_min_us'] / 1e3:.0f} / {row['time_median_us'] / 1e3:.0f}"
                 for algorithm, row in allreduces(jobs, rate, last["count"]).items()]
        if alone:
            print(f"A dense allreduce of as many values, alone, min / median in ms: {', '.join(alone)}.\n")
