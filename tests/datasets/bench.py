"""How fast plans are answered beside DuckDB, on the same Parquet files, each warm and on as many threads.

    cargo build --release -p loom-datasets --example speed
    python tests/datasets/bench.py target/release/examples/speed FOLDER [ROWS] [THREADS]
"""

import json
import statistics
import subprocess
import sys
import time
from decimal import Decimal
from pathlib import Path

import duckdb

ROUNDS = 15
# The columns by their places: c1 customer, c2 region, c4 amount, c5 quantity, c6 price, c9 day.
STATEMENTS = {
    "group": "SELECT c2, sum(c4), count(*) FROM {sales} WHERE c5 >= 3 AND c2 <> 'region 7' GROUP BY c2 ORDER BY c2",
    "months": "SELECT strftime(c9, '%Y-%m') AS m, c2, sum(c4), max(c6) FROM {sales} GROUP BY m, c2 ORDER BY m, c2",
    "join": "SELECT c.c1, sum(s.c4), count(*) FROM {sales} s JOIN {customers} c ON c.c0 = s.c1 GROUP BY c.c1 ORDER BY c.c1",
}


def same(ours, theirs):
    def value(one):
        try:
            return Decimal(str(one))
        except ArithmeticError:
            return one

    return [[value(one) for one in row] for row in ours] == [[value(one) for one in row] for row in theirs]


def main():
    speed, folder = sys.argv[1], Path(sys.argv[2])
    rows, threads = (sys.argv[3:] + ["1000000", "2"][len(sys.argv) - 3 :])[:2]
    process = subprocess.Popen([speed, str(folder), rows, threads], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    sizes = json.loads(process.stdout.readline())["sizes"]
    print(f"{rows} rows of 12 columns, {sizes[0]} bytes of Parquet, {threads} threads, {ROUNDS} rounds")

    def ours(name):
        process.stdin.write(name + "\n")
        process.stdin.flush()
        answer = json.loads(process.stdout.readline())
        return answer["seconds"], answer["rows"]

    connection = duckdb.connect(config={"threads": threads})
    files = {name: f"read_parquet('{folder / name}.parquet')" for name in ("sales", "customers")}
    for name, file in files.items():
        connection.execute(f"CREATE TABLE {name} AS SELECT * FROM {file}")

    def theirs(name, sources):
        began = time.perf_counter()
        found = connection.execute(STATEMENTS[name].format(**sources)).fetchall()
        return time.perf_counter() - began, found

    is_same = True
    print("plan     first ms   median ms   DuckDB, Parquet   DuckDB, its tables   ratio to Parquet")
    for name in STATEMENTS:
        first, _ = ours(name)
        theirs(name, files)
        taken, of_files, of_tables = [], [], []
        for _ in range(ROUNDS):
            seconds, answer = ours(name)
            taken.append(seconds)
            seconds, found = theirs(name, files)
            of_files.append(seconds)
            of_tables.append(theirs(name, {"sales": "sales", "customers": "customers"})[0])
            is_same &= same(answer, found)
        taken, of_files, of_tables = (1000 * statistics.median(one) for one in (taken, of_files, of_tables))
        print(f"{name:8}{1000 * first:9.1f}{taken:12.1f}{of_files:18.1f}{of_tables:21.1f}{taken / of_files:19.2f}")
    process.stdin.close()
    peak = [line for line in Path(f"/proc/{process.pid}/status").read_text().splitlines() if line.startswith("VmHWM")]
    process.wait()
    print("answers are the same" if is_same else "answers differ", *peak)
    return 0 if is_same else 1


if __name__ == "__main__":
    sys.exit(main())
