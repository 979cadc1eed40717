package architecture

// module is the import path of this module; paths in the table are relative to it.
const module = "example.org/growthexport"

// rule lists what a package may import.
type rule struct {
	// ours and modules are all imports from this module and from other modules, in the package's files other than tests.
	ours, modules []string
	// not lists packages of the standard library that these files may not import, nor their subpackages.
	not []string
	// tests are packages of this module that only its tests may import.
	tests []string
	why   string
}

// rules returns the import graph.
func rules() map[string]rule {
	return map[string]rule{
		"schemas": {
			not:   []string{"net", "os", "time"},
			why:   "the tables are declared once and depend on nothing that uses them",
			tests: []string{"schemas/contract"},
		},
		"schemas/contract": {
			not: []string{"net", "os", "time"},
			why: "tables.csv as bytes: the declarations and the simulator share the file without importing each other",
		},
		"schemas/render": {
			ours:  []string{"schemas"},
			not:   []string{"net", "os", "time"},
			why:   "generated files depend only on the declarations",
			tests: []string{"schemas", "schemas/contract"},
		},
		"internal/rows": {
			ours: []string{"schemas"},
			not:  []string{"net", "os", "time"},
			why:  "rows go from transform to sink: they know tables, but neither JSON nor Parquet",
		},
		"internal/activity": {
			not: []string{"net", "os", "context"},
			why: "activity over time: stored in checkpoints and the manifest, read by the run and its report",
		},
		"internal/privacy": {
			not: []string{"net", "os", "time", "math/rand"},
			why: "pseudonyms depend only on key, kind and value",
		},
		"internal/transform": {
			ours: []string{"internal/privacy", "internal/rows", "schemas"},
			not:  []string{"net", "os", "sync", "context"},
			why:  "flattening is pure: no network, no disk, no goroutines",
		},
		"internal/extract": {
			ours:    []string{"internal/wording"},
			modules: []string{"github.com/klauspost/compress", "golang.org/x/oauth2", "golang.org/x/sync", "golang.org/x/time"},
			why:     "the client returns pages as bytes and does not know tables",
		},
		"internal/parquetfile": {
			ours:    []string{"internal/rows", "schemas"},
			modules: []string{"github.com/klauspost/compress", "github.com/parquet-go/parquet-go"},
			not:     []string{"net", "os", "time"},
			why:     "the file format does not know stores; without a clock, equal rows give equal bytes",
		},
		"internal/sink": {
			modules: []string{"golang.org/x/sync"},
			not:     []string{"net"},
			why:     "a store keeps files and documents without knowing their contents; golang.org/x/sys locks files on Windows",
			tests:   []string{"internal/sink/storetest"},
		},
		"internal/snapshot": {
			ours:  []string{"internal/activity", "internal/parquetfile", "internal/review", "internal/rows", "internal/sink", "internal/wording", "schemas"},
			not:   []string{"net"},
			why:   "the only package that reads and changes the runs at a destination; it does not know where rows come from",
			tests: []string{"internal/maintenance", "internal/sink/s3", "internal/sink/s3/s3test", "internal/sink/storetest", "internal/snapshot/snapshottest"},
		},
		"internal/snapshot/snapshottest": {
			ours: []string{
				"internal/maintenance", "internal/rows", "internal/sink", "internal/sink/storetest", "internal/snapshot", "schemas",
			},
			modules: []string{"github.com/stretchr/testify"},
			why:     "destinations, only for tests",
		},
		"internal/erase": {
			ours: []string{"internal/parquetfile", "internal/privacy", "internal/rows", "internal/snapshot", "internal/sink", "schemas"},
			not:  []string{"net", "os"},
			why:  "knows whose row it is, for runs and the history; reads through the catalog and changes nothing",
		},
		"internal/maintenance": {
			ours: []string{
				"internal/erase", "internal/history", "internal/parquetfile", "internal/privacy", "internal/rows", "internal/sink", "internal/snapshot",
				"internal/wording", "schemas",
			},
			modules: []string{"golang.org/x/sync", "golang.org/x/text"},
			not:     []string{"net", "os"},
			why:     "purge, prune, verify and clean change a destination only through its catalogue",
			tests: []string{
				"internal/deltalake", "internal/review", "internal/sink/s3", "internal/sink/s3/s3test", "internal/sink/storetest",
				"internal/snapshot/snapshottest",
			},
		},
		"internal/sink/remote": {
			ours: []string{"internal/sink"},
			why:  "what the stores in clouds share, whatever their protocols",
		},
		"internal/sink/azure": {
			ours: []string{"internal/sink", "internal/sink/remote", "internal/wording"},
			modules: []string{
				"github.com/Azure/azure-sdk-for-go/sdk/azcore", "github.com/Azure/azure-sdk-for-go/sdk/azidentity",
				"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob", "golang.org/x/sync",
			},
			why:   "the only importer of the Azure SDK; it implements the sink's Store",
			tests: []string{"internal/sink/azure/azuretest", "internal/sink/servertest", "internal/sink/storetest"},
		},
		"internal/sink/azure/azuretest": {
			ours:    []string{"internal/sink/azure", "internal/sink/remote", "internal/sink/servertest"},
			modules: []string{"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob"},
			why:     "an emulator of Azure Blob Storage, only for tests",
		},
		"internal/sink/gcs": {
			ours:    []string{"internal/sink", "internal/sink/remote", "internal/wording"},
			modules: []string{"golang.org/x/oauth2"},
			why:     "Google Cloud Storage by its JSON API; it implements the sink's Store",
			tests:   []string{"internal/sink/gcs/gcstest", "internal/sink/servertest", "internal/sink/storetest"},
		},
		"internal/sink/gcs/gcstest": {
			ours: []string{"internal/sink/gcs", "internal/sink/remote", "internal/sink/servertest"},
			why:  "an emulator of Google Cloud Storage, only for tests",
		},
		"internal/sink/s3": {
			ours: []string{"internal/sink", "internal/sink/remote", "internal/wording"},
			modules: []string{
				"github.com/aws/aws-sdk-go-v2", "github.com/aws/aws-sdk-go-v2/config",
				"github.com/aws/aws-sdk-go-v2/credentials", "github.com/aws/aws-sdk-go-v2/service/s3",
				"github.com/aws/smithy-go", "golang.org/x/sync",
			},
			why:   "the only importer of the AWS SDK; it implements the sink's Store",
			tests: []string{"internal/sink/s3/s3test", "internal/sink/servertest", "internal/sink/storetest"},
		},
		"internal/sink/s3/s3test": {
			ours: []string{"internal/sink/remote", "internal/sink/s3", "internal/sink/servertest"},
			modules: []string{
				"github.com/aws/aws-sdk-go-v2", "github.com/aws/aws-sdk-go-v2/credentials",
				"github.com/aws/aws-sdk-go-v2/service/s3",
			},
			why: "a real S3 server, only for tests",
		},
		"internal/sink/servertest": {
			why: "real servers and emulators as processes, only for tests",
		},
		"internal/sink/storetest": {
			ours:    []string{"internal/sink"},
			modules: []string{"github.com/stretchr/testify", "golang.org/x/sync"},
			why:     "one conformance suite for every store, only for tests",
		},
		"internal/wording": {
			not: []string{"net", "os", "context"},
			why: "numbers, names, settings and commands are worded the same in output, logs and reports",
		},
		"internal/review": {
			ours: []string{"internal/wording", "schemas"},
			not:  []string{"net", "os", "context"},
			why:  "checks and reasons as data: documents hold them, and every sentence about them is made in one place",
		},
		"internal/report": {
			ours:  []string{"internal/activity", "internal/review", "internal/snapshot", "internal/wording", "schemas", "schemas/render"},
			not:   []string{"net", "os", "context"},
			why:   "the report depends only on manifest and ledger",
			tests: []string{"internal/sink"},
		},
		"internal/norms": {
			ours:    []string{"schemas/render"},
			modules: []string{"github.com/parquet-go/parquet-go"},
			not:     []string{"net", "time"},
			why:     "checks a file of growth norms for sql; the norms themselves are read only by views",
		},
		"internal/pipeline": {
			ours: []string{
				"internal/activity", "internal/extract", "internal/fetch", "internal/history", "internal/privacy", "internal/report",
				"internal/review", "internal/rows", "internal/sink", "internal/snapshot", "internal/wording", "schemas",
			},
			modules: []string{"golang.org/x/sync"},
			not:     []string{"net/http"},
			why:     "runs: plan, tasks, checks and publishing; rows come from fetch",
			tests: []string{
				"internal/destination", "internal/maintenance", "internal/parquetfile", "internal/simulator", "internal/simulator/odd",
				"internal/simulator/oracle", "internal/transform",
			},
		},
		"internal/destination": {
			ours: []string{"internal/deltalake", "internal/history", "internal/pipeline", "internal/sink", "internal/snapshot", "internal/wording"},
			not:  []string{"net"},
			why:  "decides when recovery, pages, history and Delta logs are due around the work of a command",
		},
		"internal/fetch": {
			ours: []string{
				"internal/extract", "internal/privacy", "internal/review", "internal/rows", "internal/snapshot", "internal/transform", "internal/wording", "schemas",
			},
			modules: []string{"golang.org/x/sync"},
			not:     []string{"net"},
			why:     "one school's dataset as rows: it fills in the catalogue's ledger rows and counts, but has no store",
		},
		"internal/history": {
			ours: []string{
				"internal/erase", "internal/parquetfile", "internal/rows", "internal/sink", "internal/snapshot", "internal/transform",
				"internal/wording", "schemas",
			},
			not:   []string{"net", "os"},
			why:   "compares published snapshots and folds them into a history, which it publishes through the catalog",
			tests: []string{"internal/maintenance", "internal/sink/s3", "internal/sink/s3/s3test", "internal/snapshot/snapshottest"},
		},
		"internal/deltalake": {
			ours:    []string{"internal/parquetfile", "internal/sink", "internal/snapshot", "internal/wording", "schemas"},
			modules: []string{"github.com/parquet-go/parquet-go"},
			not:     []string{"net/http", "os"},
			why:     "writes Delta logs, and nothing else, from what the catalog says is published; checkpoints have nested columns",
			tests:   []string{"internal/history", "internal/maintenance", "internal/sink/s3", "internal/sink/s3/s3test", "internal/snapshot/snapshottest"},
		},
		"internal/doctor": {
			ours:  []string{"internal/extract", "internal/fetch", "internal/sink", "internal/snapshot", "internal/wording", "schemas"},
			why:   "checks what a run needs and returns findings; printing, settings and exit codes belong to the command",
			tests: []string{"internal/simulator", "internal/sink/s3", "internal/sink/s3/s3test"},
		},
		"internal/telemetry": {
			ours: []string{"internal/extract", "internal/pipeline", "internal/sink", "internal/snapshot"},
			modules: []string{
				"github.com/go-logr/logr", "go.opentelemetry.io/otel",
				"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetrichttp",
				"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp", "go.opentelemetry.io/otel/metric",
				"go.opentelemetry.io/otel/sdk", "go.opentelemetry.io/otel/sdk/metric", "go.opentelemetry.io/otel/trace",
			},
			not: []string{"net/http", "os"},
			why: "the only importer of OpenTelemetry: it observes the client and the pipeline",
		},
		"internal/simulator": {
			ours:  []string{"schemas/contract"},
			why:   "the simulated service depends only on the specification and tables.csv, so it cannot repeat the client's mistakes",
			tests: []string{"internal/simulator/odd", "internal/simulator/oracle"},
		},
		"internal/simulator/odd": {
			ours:  []string{"internal/simulator"},
			not:   []string{"net", "os"},
			why:   "odd records are derived from plain ones; linked only where they are wanted",
			tests: []string{"internal/simulator/oracle"},
		},
		"internal/simulator/oracle": {
			ours: []string{"internal/simulator"},
			not:  []string{"net", "os"},
			why:  "expected rows, only for tests",
		},
		"cmd/export": {
			ours: []string{
				"internal/deltalake", "internal/destination", "internal/doctor", "internal/extract", "internal/history", "internal/maintenance", "internal/norms", "internal/pipeline", "internal/privacy",
				"internal/report", "internal/review", "internal/simulator", "internal/simulator/odd", "internal/sink", "internal/sink/azure", "internal/sink/gcs", "internal/sink/remote", "internal/sink/s3", "internal/snapshot",
				"internal/telemetry", "internal/wording", "schemas", "schemas/render",
			},
			modules: []string{
				"github.com/spf13/cobra", "github.com/spf13/pflag", "go.yaml.in/yaml/v3", "golang.org/x/term",
			},
			why:   "flags, wiring and exit codes; it uses transform and files only through pipeline",
			tests: []string{"internal/simulator/oracle", "internal/sink/azure/azuretest", "internal/sink/gcs/gcstest", "internal/sink/s3/s3test", "internal/sink/servertest", "internal/snapshot/snapshottest"},
		},
		"examples/growthbygrade": {
			modules: []string{"github.com/parquet-go/parquet-go"},
			why:     "users copy examples, so these import nothing internal",
		},
		"internal/architecture": {
			why:   "these tests read packages with go list, and the declarations of documents",
			tests: []string{"internal/snapshot", "schemas"},
		},
		"internal/prose": {
			why: "this test reads the tree as text",
		},
	}
}

// linked returns the modules in the command, each with its purpose. A name that ends in "/..." covers all modules below
// it.
func linked() map[string]string {
	return map[string]string{
		"cloud.google.com/go/compute/metadata":                       "golang.org/x/oauth2: credentials of machines, pods and jobs at Google",
		"github.com/Azure/azure-sdk-for-go/sdk/...":                  "the Azure store",
		"github.com/AzureAD/microsoft-authentication-library-for-go": "the Azure store: identities",
		"github.com/golang-jwt/jwt/v5":                               "the Azure store: client certificates",
		"github.com/kylelemons/godebug":                              "the Azure store: identities, unused",
		"github.com/pkg/browser":                                     "the Azure store: signing in in a browser, unused",
		"golang.org/x/crypto":                                        "the Azure store: client certificates",
		"github.com/andybalholm/brotli":                              "parquet-go: reading",
		"github.com/aws/aws-sdk-go-v2/...":                           "the S3 store",
		"github.com/aws/smithy-go":                                   "the AWS SDK: its errors",
		"github.com/cenkalti/backoff/v5":                             "OpenTelemetry: retries of exports",
		"github.com/cespare/xxhash/v2":                               "OpenTelemetry: attribute sets",
		"github.com/go-logr/logr":                                    "OpenTelemetry: its log messages",
		"github.com/go-logr/stdr":                                    "OpenTelemetry: its logger before ours is set",
		"github.com/google/uuid":                                     "OpenTelemetry: a process id; parquet-go: a type, unused",
		"github.com/grpc-ecosystem/grpc-gateway/v2":                  "OpenTelemetry: generated code of its messages",
		"github.com/klauspost/compress":                              "zstd in data files, gzip of responses",
		"github.com/parquet-go/bitpack":                              "parquet-go: encodings",
		"github.com/parquet-go/jsonlite":                             "parquet-go: a type, unused",
		"github.com/parquet-go/parquet-go":                           "format, encodings and reading of data files",
		"github.com/pierrec/lz4/v4":                                  "parquet-go: reading",
		"github.com/spf13/cobra":                                     "commands and help",
		"github.com/spf13/pflag":                                     "flags",
		"github.com/twpayne/go-geom":                                 "parquet-go: a type, unused",
		"go.opentelemetry.io/auto/sdk":                               "OpenTelemetry: unused",
		"go.opentelemetry.io/otel/...":                               "metrics and traces",
		"go.opentelemetry.io/proto/otlp":                             "OpenTelemetry: its messages",
		"go.yaml.in/yaml/v3":                                         "the configuration file",
		"golang.org/x/net":                                           "OpenTelemetry: gRPC code, unused",
		"golang.org/x/oauth2":                                        "requests the token, and those of Google Cloud Storage",
		"golang.org/x/sync":                                          "errgroup, semaphore",
		"golang.org/x/sys":                                           "locks on Windows; term: terminals",
		"golang.org/x/term":                                          "terminal detection and width",
		"golang.org/x/text":                                          "Unicode normal forms, to compare names; OpenTelemetry: gRPC code, unused",
		"golang.org/x/time":                                          "the rate limit",
		"google.golang.org/genproto/googleapis/...":                  "OpenTelemetry: gRPC code, unused",
		"google.golang.org/grpc":                                     "OpenTelemetry: generated code of its messages; we use HTTP",
		"google.golang.org/protobuf":                                 "OpenTelemetry: encoding of its messages; parquet-go: a type, unused",
	}
}
