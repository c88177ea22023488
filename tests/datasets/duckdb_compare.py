"""Asks DuckDB the plans that datasets/examples/plans.rs writes, and compares the answers value by value.

    cargo run -p loom-datasets --example plans -- FOLDER SEED 200
    python tests/datasets/duckdb_compare.py FOLDER

What is asked in another way than the plan says, and why, is in differences.md.
"""

import datetime
import json
import sys
from decimal import Decimal, localcontext
from pathlib import Path

import duckdb

SIGNS = {"eq": "=", "ne": "<>", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}
SQL_TYPES = {"string": "VARCHAR", "bool": "BOOLEAN", "date": "DATE", "datetime": "TIMESTAMP", "time": "TIME"}
NUMBERS = ("number", "duration")
# Holds each place of a value in a condition; no column that is compared has numbers past 10^16.
WIDE = "DECIMAL(38, 21)"
LARGEST = Decimal(10) ** 16
INTEGER_MAX = 2**53
PERIODS = {
    "day": "CAST({0} AS DATE)",
    "month": "printf('%04d-%02d', year({0}), month({0}))",
    "year": "year({0})",
}
UNITS = "sum(CAST(CAST({0} AS DECIMAL(38, 9)) * 1000000000 AS HUGEINT))"


def average(value):
    """The average in whole multiples of 10^-9, half to even; the sign is set aside, as division cuts toward zero."""
    units, count = UNITS.format(value), f"count({value})"
    size = f"abs({units})"
    cut, rest = f"({size} // {count})", f"({size} % {count})"
    up = f"(2 * {rest} > {count} OR (2 * {rest} = {count} AND {cut} % 2 = 1))"
    return f"CASE WHEN {count} > 0 THEN sign({units}) * ({cut} + CASE WHEN {up} THEN 1 ELSE 0 END) END"


class Asked:
    """A case as a statement of SQL."""

    def __init__(self, case, folder):
        self.case, self.plan = case, case["plan"]
        self.parameters = []
        self.folder = folder
        self.in_units = set()

    def place(self, alias, column):
        dataset = self.plan["datasets"].index(alias) if alias else 0
        names = [known["name"] for known in self.case["columns"][dataset]]
        at = names.index(column)
        return dataset, f"d{dataset}.c{at}", self.case["columns"][dataset][at]["type"]

    def parameter(self, value, kind):
        if kind in NUMBERS:
            value = max(-LARGEST, min(LARGEST, Decimal(str(value))))
            with localcontext(prec=60):
                value, sql_type = format(value.quantize(Decimal(1).scaleb(-21)), "f"), WIDE
        else:
            sql_type = SQL_TYPES[kind]
            if kind == "datetime":
                value = value.removesuffix("Z")
        self.parameters.append(value)
        return f"CAST(${len(self.parameters)} AS {sql_type})"

    def condition(self, condition):
        _, value, kind = self.place(condition["dataset"], condition["column"])
        compared = f"CAST({value} AS {WIDE})" if kind in NUMBERS else value
        op = condition["op"]
        if op in SIGNS:
            return f"{compared} {SIGNS[op]} {self.parameter(condition['value'], kind)}"
        if op in ("in", "not_in"):
            if not condition["values"]:
                return "false" if op == "in" else f"{value} IS NOT NULL"
            values = ", ".join(self.parameter(one, kind) for one in condition["values"])
            return f"{compared} {'IN' if op == 'in' else 'NOT IN'} ({values})"
        if op in ("contains", "starts_with"):
            return f"{op}({value}, {self.parameter(condition['value'], kind)})"
        return f"{value} IS {'NULL' if op == 'is_null' else 'NOT NULL'}"

    def source(self, dataset):
        file = str(self.folder / self.case["files"][dataset]).replace("'", "''")
        return f"read_parquet('{file}') AS d{dataset}"

    def columns(self):
        """The expressions of the result, and those that are grouped by."""
        plan = self.plan
        groups = []
        for group in plan["group_by"]:
            value = self.place(group["dataset"], group["column"])[1]
            groups.append(PERIODS[group["by"]].format(value) if group.get("by") else value)
        columns = list(groups)
        for aggregate in plan["aggregates"]:
            function = aggregate["fn"]
            if aggregate.get("column") is None:
                columns.append("count(*)")
                continue
            value = self.place(aggregate["dataset"], aggregate["column"])[1]
            if function in ("sum", "avg"):
                self.in_units.add(len(columns))
                columns.append(UNITS.format(value) if function == "sum" else average(value))
            elif function == "count_distinct":
                columns.append(f"count(DISTINCT {value})")
            else:
                columns.append(f"{function}({value})")
        columns += [self.place(one["dataset"], one["column"])[1] for one in plan["select"]]
        if not columns:
            columns = [
                f"d{dataset}.c{at}" for dataset, known in enumerate(self.case["columns"]) for at in range(len(known))
            ]
        return columns, groups

    def names(self):
        plan = self.plan
        named = [one["as"] for one in plan["group_by"] + plan["aggregates"] + plan["select"]]
        if named:
            return named
        single = len(plan["datasets"]) == 1
        known = zip(plan["datasets"], self.case["columns"], strict=True)
        return [one["name"] if single else f"{alias}.{one['name']}" for alias, columns in known for one in columns]

    def statement(self):
        plan = self.plan
        columns, groups = self.columns()
        names = self.names()
        calculates = bool(plan["aggregates"])
        numbers = [] if calculates else [f"d{dataset}.row" for dataset in range(len(plan["datasets"]))]
        selected = [f"{column} AS r{at}" for at, column in enumerate(columns)]
        selected += [f"{number} AS n{at}" for at, number in enumerate(numbers)]
        sql = f"SELECT {', '.join(selected)} FROM {self.source(0)}"
        for join in plan["joins"]:
            dataset = plan["datasets"].index(join["dataset"])
            pairs = (
                f"{self.place(join['dataset'], on['column'])[1]} = {self.place(on['with_dataset'], on['with_column'])[1]}"
                for on in join["on"]
            )
            sql += f" JOIN {self.source(dataset)} ON {' AND '.join(pairs)}"
        where = [self.condition(condition) for condition in plan["where"]]
        if not plan["include_totals"]:
            where += [f"NOT d{dataset}.total" for dataset in range(len(plan["datasets"]))]
        if where:
            sql += f" WHERE {' AND '.join(where)}"
        if groups:
            sql += f" GROUP BY {', '.join(groups)}"
        order = [
            f"r{names.index(one['column'])} {'DESC' if one['descending'] else 'ASC'} NULLS LAST"
            for one in plan["order_by"]
        ]
        order += [f"r{at} ASC NULLS LAST" for at in range(len(groups))]
        order += [f"n{at}" for at in range(len(numbers))]
        if order:
            sql += f" ORDER BY {', '.join(order)}"
        return sql + f" LIMIT {plan['limit'] + 1}", len(columns)


def number(value):
    """A number as an answer has it."""
    with localcontext(prec=80):
        whole = value.to_integral_value()
        if value == whole:
            integer = int(whole)
            return integer if abs(integer) <= INTEGER_MAX else str(integer)
        return format(value.normalize(), "f")


def written(value, in_units):
    match value:
        case None | bool() | str():
            return value
        case int() if in_units:
            with localcontext(prec=80):
                return number(Decimal(value) / 10**9)
        case int():
            return value
        case Decimal():
            return number(value)
        case datetime.datetime():
            return trimmed(value.isoformat()) + "Z"
        case datetime.date():
            return value.isoformat()
        case datetime.time():
            return trimmed(value.isoformat())
    raise TypeError(f"{value!r} is of no type that an answer has")


def trimmed(text):
    return text.rstrip("0") if "." in text else text


def asked(connection, case, folder):
    question = Asked(case, folder)
    sql, width = question.statement()
    rows = connection.execute(sql, question.parameters).fetchall()
    limit = case["plan"]["limit"]
    answer = {
        "rows": [[written(value, at in question.in_units) for at, value in enumerate(row[:width])] for row in rows[:limit]],
        "row_ids": [] if case["plan"]["aggregates"] else [list(row[width:]) for row in rows[:limit]],
        "truncated": len(rows) > limit,
    }
    return sql, answer


def main():
    folder = Path(sys.argv[1])
    connection = duckdb.connect()
    cases = [json.loads(line) for line in (folder / "plans.jsonl").open()]
    values = differing = empty = 0
    for at, case in enumerate(cases):
        sql, answer = asked(connection, case, folder)
        for part, theirs in answer.items():
            # As JSON, so that 1 and true and "1" are three values.
            if json.dumps(theirs) != json.dumps(case[part]):
                differing += 1
                print(f"plan {at} differs in {part}: {sql}\n  DuckDB {json.dumps(theirs)}\n  Loom   {json.dumps(case[part])}")
        values += sum(map(len, answer["rows"]))
        empty += not answer["rows"]
    print(f"{len(cases)} plans, {values} values, {empty} answers without rows, {differing} differences from DuckDB {duckdb.__version__}")
    return 1 if differing or not cases or empty == len(cases) else 0


if __name__ == "__main__":
    sys.exit(main())
