"""A tracker of tenon-log that appends the metrics of a run to metrics.csv."""
import csv


class Tracker:
    def start(self, run, run_id):
        """run has name, folder, params and start. run_id: what an earlier call returned for this run, or None."""
        self.file = open("metrics.csv", "a", newline="")
        return run_id or f"{run.name} {run.folder.name}"

    def metrics(self, lines):
        """A line has a step, a time in seconds since 1970, and values by name."""
        for line in lines:
            csv.writer(self.file).writerows((line.step, line.time, *value) for value in line.values.items())
        self.file.flush()

    def finish(self, end):
        """end has the status FINISHED, KILLED or FAILED, a time, tags, and files relative to run.folder."""
        self.file.close()
