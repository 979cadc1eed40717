"""Exports with requests, polars' JSON reader and pyarrow's writer."""

import io

import exporter
import polars as pl
import pyarrow as pa

KINDS = {
    exporter.STRING: pl.String, exporter.INT: pl.Int32, exporter.LONG: pl.Int64, exporter.DOUBLE: pl.Float64,
    exporter.BOOL: pl.Boolean, exporter.TIME: pl.String,
}


def struct(columns):
    """Returns the type of a record with these columns."""
    members = {}
    for _, path, kind in columns:
        first, _, second = path.partition(".")
        if second:
            members.setdefault(first, {})[second] = KINDS[kind]
        else:
            members[first] = KINDS[kind]
    return pl.Struct({name: pl.Struct(kind) if isinstance(kind, dict) else kind for name, kind in members.items()})


def fields(columns):
    """Returns the columns of a frame of records."""
    selected = []
    for name, path, kind in columns:
        first, _, second = path.partition(".")
        column = pl.col(first).struct.field(second) if second else pl.col(first)
        if pa.types.is_timestamp(kind):
            column = column.str.to_datetime("%Y-%m-%dT%H:%M:%S%.fZ", time_unit="us", time_zone="UTC")
        selected.append(column.alias(name))
    return selected


RECORD = pl.Struct({
    **{field.name: field.dtype for field in struct(exporter.RESULTS).fields},
    **{each: pl.List(struct(columns)) for each, columns in exporter.CHILDREN.values()},
})
PAGE = {"testResults": pl.List(RECORD), "pagination": pl.Struct({"hasNextPage": pl.Boolean, "nextPage": pl.String})}


def parse(school, body):
    page = pl.read_json(io.BytesIO(body), schema=PAGE)
    results = page.select(pl.col("testResults").explode()).unnest("testResults")
    bid = pl.lit(school).alias("requested_school_bid")
    rows = {"test_results": results.select(bid, *fields(exporter.RESULTS))}
    for table, (each, columns) in exporter.CHILDREN.items():
        rows[table] = (
            results.select(
                pl.col("testResultBid").alias("test_result_bid"), pl.col(each),
                pl.int_ranges(0, pl.col(each).list.len(), dtype=pl.Int32).alias("ordinal"))
            .explode(each, "ordinal")
            .unnest(each)
            .select(bid, "test_result_bid", "ordinal", *fields(columns)))
    pagination = page["pagination"][0]
    return {table: frame.to_arrow() for table, frame in rows.items()}, pagination["hasNextPage"] and pagination["nextPage"]


exporter.export(parse)
