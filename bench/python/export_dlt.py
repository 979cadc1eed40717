"""Exports with dlt's REST API source to Parquet files, tuned: threads, processes, batch sizes, zstd, types declared."""

import os

import exporter

TUNING = {
    "RUNTIME__DLTHUB_TELEMETRY": "false",
    "RUNTIME__LOG_LEVEL": "ERROR",
    "NORMALIZE__WORKERS": "2",
    "LOAD__WORKERS": "4",
    "DATA_WRITER__BUFFER_MAX_ITEMS": "50000",
    "DATA_WRITER__FILE_MAX_ITEMS": "50000",
    "EXTRACT__DATA_WRITER__DISABLE_COMPRESSION": "true",
    "NORMALIZE__DATA_WRITER__DISABLE_COMPRESSION": "true",
    "DATA_WRITER__COMPRESSION": "zstd",
    "DATA_WRITER__ROW_GROUP_SIZE": str(exporter.ROW_GROUP),
}


def main():
    args = exporter.arguments()
    os.environ.update(TUNING, EXTRACT__WORKERS=str(args.threads), EXTRACT__MAX_PARALLEL_ITEMS=str(2 * args.threads))

    import dlt
    from dlt.sources.rest_api import rest_api_source

    kinds = {exporter.STRING: "text", exporter.INT: "bigint", exporter.LONG: "bigint", exporter.DOUBLE: "double",
             exporter.BOOL: "bool", exporter.TIME: "timestamp"}
    source = rest_api_source({
        "client": {
            "base_url": args.url,
            "auth": {"type": "bearer", "token": exporter.token(args.url)},
            "headers": {"apikey": exporter.KEY},
        },
        "resources": [
            {"name": "schools", "selected": False,
             "endpoint": {"path": "organizations/v1/schools", "paginator": "single_page"}},
            {"name": "test_results", "include_from_parent": ["schoolBid"], "parallelized": True,
             "columns": {path: {"data_type": kinds[kind]} for _, path, kind in exporter.RESULTS if "." not in path},
             "endpoint": {
                 "path": "test-results/v1/growth",
                 "params": {"school-bid": "{resources.schools.schoolBid}"},
                 "data_selector": "testResults",
                 "paginator": {"type": "cursor", "cursor_path": "pagination.nextPage", "cursor_param": "next-page"},
             }},
        ],
    })
    pipeline = dlt.pipeline(
        "bench", pipelines_dir=os.path.join(args.dest, "_work"), dataset_name="pages",
        destination=dlt.destinations.filesystem(bucket_url="file://" + args.dest))
    pipeline.run(source, loader_file_format="parquet").raise_on_failed_jobs()


if __name__ == "__main__":
    main()
