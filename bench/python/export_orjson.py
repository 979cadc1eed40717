"""Exports with requests, orjson and pyarrow."""

import operator

import exporter
import orjson
import pyarrow as pa


def getter(path):
    """Returns a function that reads the member at a path of a record."""
    first, _, second = path.partition(".")
    if second:
        return lambda record: record.get(first, {}).get(second)
    return operator.methodcaller("get", first)


def compiled(columns):
    return [(name, getter(path), kind) for name, path, kind in columns]


RESULTS = compiled(exporter.RESULTS)
CHILDREN = {table: (each, compiled(columns)) for table, (each, columns) in exporter.CHILDREN.items()}


def array(values, kind):
    if pa.types.is_timestamp(kind):
        return pa.array(values, pa.string()).cast(kind)
    return pa.array(values, kind)


def batch(columns, records):
    return {name: array([get(record) for record in records], kind) for name, get, kind in columns}


def parse(school, body):
    page = orjson.loads(body)
    results = page["testResults"]

    def table(columns, length):
        return pa.table({"requested_school_bid": pa.array([school] * length, pa.string()), **columns})

    rows = {"test_results": table(batch(RESULTS, results), len(results))}
    for name, (each, columns) in CHILDREN.items():
        children, parents, ordinals = [], [], []
        for result in results:
            elements = result.get(each, ())
            children.extend(elements)
            parents.extend([result["testResultBid"]] * len(elements))
            ordinals.extend(range(len(elements)))
        keys = {"test_result_bid": pa.array(parents, pa.string()), "ordinal": pa.array(ordinals, pa.int32())}
        rows[name] = table(keys | batch(columns, children), len(children))
    return rows, page["pagination"]["hasNextPage"] and page["pagination"]["nextPage"]


exporter.export(parse)
