package architecture

// module is the import path that the table's paths are below.
const module = "example.org/growthexport"

// rule says what a package imports beside the standard library.
type rule struct {
	// ours and modules are what its own files import: packages of this module
	// (below its path) and modules of others.
	ours, modules []string
	// not are the roots of the standard library that its own files leave alone.
	not []string
	// tests are packages of this module that only its tests may import.
	tests []string
	why   string
}

// rules is the import graph.
func rules() map[string]rule {
	return map[string]rule{
		"schemas": {
			not:   []string{"net", "os", "time"},
			why:   "the tables are declared once and depend on nothing that uses them",
			tests: []string{"schemas/contract"},
		},
		"schemas/contract": {
			not: []string{"net", "os", "time"},
			why: "tables.csv as bytes: declarations and simulator are held to the same file without knowing each other",
		},
		"schemas/render": {
			ours:  []string{"schemas"},
			not:   []string{"net", "os", "time"},
			why:   "what follows from the declarations is written from them alone",
			tests: []string{"schemas"},
		},
		"internal/rows": {
			ours: []string{"schemas"},
			not:  []string{"net", "os", "time"},
			why:  "rows are what transform hands to sink: they know tables, neither JSON nor Parquet",
		},
		"internal/activity": {
			not: []string{"net", "os", "context"},
			why: "figures of what was done over time: journals and the manifest keep them, the run and its report read them",
		},
		"internal/transform": {
			ours: []string{"internal/rows", "schemas"},
			not:  []string{"net", "os", "sync", "context"},
			why:  "flattening is pure: no network, no disk, no goroutines",
		},
		"internal/extract": {
			modules: []string{"golang.org/x/oauth2", "golang.org/x/time"},
			why:     "the client hands out pages as bytes and knows no tables",
		},
		"internal/sink/parquetfile": {
			ours:    []string{"internal/rows", "schemas"},
			modules: []string{"github.com/klauspost/compress", "github.com/parquet-go/parquet-go"},
			not:     []string{"net", "os", "time"},
			why:     "the file format knows no stores; bytes that depend on a clock could not be compared",
		},
		"internal/sink": {
			ours:    []string{"internal/activity", "internal/rows", "internal/sink/parquetfile", "schemas"},
			modules: []string{"golang.org/x/sync"},
			not:     []string{"net"},
			why:     "the sink makes files visible and knows neither the service nor its pages; Parquet it writes and reads through parquetfile; on Windows golang.org/x/sys locks files",
			tests:   []string{"internal/sink/storetest"},
		},
		"internal/sink/s3": {
			ours: []string{"internal/sink"},
			modules: []string{
				"github.com/aws/aws-sdk-go-v2", "github.com/aws/aws-sdk-go-v2/config",
				"github.com/aws/aws-sdk-go-v2/credentials", "github.com/aws/aws-sdk-go-v2/service/s3",
				"github.com/aws/smithy-go", "golang.org/x/sync",
			},
			why:   "the only importer of the AWS SDK; of the sink it knows the store's contract",
			tests: []string{"internal/rows", "internal/sink/s3/s3test", "internal/sink/storetest", "schemas"},
		},
		"internal/sink/s3/s3test": {
			modules: []string{
				"github.com/aws/aws-sdk-go-v2", "github.com/aws/aws-sdk-go-v2/credentials",
				"github.com/aws/aws-sdk-go-v2/service/s3",
			},
			why: "a real S3 server for tests, linked into them alone",
		},
		"internal/sink/storetest": {
			ours:    []string{"internal/sink"},
			modules: []string{"github.com/stretchr/testify", "golang.org/x/sync"},
			why:     "one conformance suite for every store, linked into tests alone",
		},
		"internal/wording": {
			not: []string{"net", "os", "time", "context"},
			why: "figures, names and advice read the same in the command's output, in logs and on the page of a run",
		},
		"internal/report": {
			ours:    []string{"internal/activity", "internal/sink", "internal/wording", "schemas"},
			modules: []string{"gonum.org/v1/plot"},
			not:     []string{"net", "os", "context"},
			why:     "the page of a run is drawn from what manifest and ledger say, and from nothing else",
		},
		"internal/pipeline": {
			ours: []string{
				"internal/activity", "internal/extract", "internal/report", "internal/rows", "internal/sink", "internal/transform",
				"internal/wording", "schemas",
			},
			modules: []string{"golang.org/x/sync"},
			not:     []string{"net/http"},
			why:     "the only place where the stages meet; what it says to the service goes through extract",
			tests:   []string{"internal/simulator", "internal/sink/parquetfile"},
		},
		"internal/telemetry": {
			ours: []string{"internal/extract", "internal/pipeline", "internal/sink"},
			modules: []string{
				"github.com/go-logr/logr", "go.opentelemetry.io/otel",
				"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetrichttp",
				"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp", "go.opentelemetry.io/otel/metric",
				"go.opentelemetry.io/otel/sdk", "go.opentelemetry.io/otel/sdk/metric", "go.opentelemetry.io/otel/trace",
			},
			not: []string{"net/http", "os"},
			why: "the only importer of OpenTelemetry: it is told what a run does by the client's observer and the pipeline's watcher",
		},
		"internal/simulator": {
			ours: []string{"schemas/contract"},
			why: "the simulated service is written from the specification and tables.csv alone: it cannot repeat the client's " +
				"misunderstandings",
		},
		"cmd/export": {
			ours: []string{
				"internal/extract", "internal/pipeline", "internal/simulator", "internal/sink", "internal/sink/s3",
				"internal/telemetry", "internal/wording", "schemas", "schemas/render",
			},
			modules: []string{
				"github.com/spf13/cobra", "github.com/spf13/pflag", "go.yaml.in/yaml/v3", "golang.org/x/term",
			},
			why:   "flags, wiring and exit codes; flattening and files are reached through pipeline",
			tests: []string{"internal/sink/s3/s3test"},
		},
		"examples/ritbygrade": {
			modules: []string{"github.com/parquet-go/parquet-go"},
			why:     "an example is what a user may copy: nothing internal is in it",
		},
		"internal/architecture": {
			why: "this test looks at packages from outside",
		},
		"internal/prose": {
			why: "this test reads the tree as text",
		},
	}
}

// linked are the modules in the command, each with what it is there for. The
// name of a family, which comes in many modules, ends in "/...".
func linked() map[string]string {
	return map[string]string{
		"codeberg.org/go-fonts/liberation":          "of gonum/plot: its default font, which we do not use",
		"codeberg.org/go-latex/latex":               "of gonum/plot: formulas, which we do not use",
		"codeberg.org/go-pdf/fpdf":                  "of gonum/plot: a format we do not use",
		"git.sr.ht/~sbinet/gg":                      "of gonum/plot: a format we do not use",
		"github.com/ajstarks/svgo":                  "of gonum/plot: a way to write SVG that we do not use",
		"github.com/golang/freetype":                "of gonum/plot: a format we do not use",
		"golang.org/x/image":                        "of gonum/plot: fonts",
		"gonum.org/v1/plot":                         "lays out the plots of a run's report",
		"github.com/andybalholm/brotli":             "of parquet-go: reading back",
		"github.com/aws/aws-sdk-go-v2/...":          "the S3 store",
		"github.com/aws/smithy-go":                  "of the AWS SDK: its errors",
		"github.com/cenkalti/backoff/v5":            "of OpenTelemetry: retries of what is sent",
		"github.com/cespare/xxhash/v2":              "of OpenTelemetry: sets of attributes",
		"github.com/go-logr/logr":                   "of OpenTelemetry: what it has to say",
		"github.com/go-logr/stdr":                   "of OpenTelemetry: its logger until it gets ours",
		"github.com/google/uuid":                    "of OpenTelemetry: an id of the process; of parquet-go: a type we do not use",
		"github.com/grpc-ecosystem/grpc-gateway/v2": "of OpenTelemetry: in the generated code of its messages",
		"github.com/klauspost/compress":             "zstd of data files",
		"github.com/parquet-go/bitpack":             "of parquet-go: encodings",
		"github.com/parquet-go/jsonlite":            "of parquet-go: a type we do not use",
		"github.com/parquet-go/parquet-go":          "format, encodings and reading back of data files",
		"github.com/pierrec/lz4/v4":                 "of parquet-go: reading back",
		"github.com/spf13/cobra":                    "commands and help",
		"github.com/spf13/pflag":                    "flags",
		"github.com/twpayne/go-geom":                "of parquet-go: a type we do not use",
		"go.opentelemetry.io/auto/sdk":              "of OpenTelemetry: we do not use it",
		"go.opentelemetry.io/otel/...":              "metrics and traces",
		"go.opentelemetry.io/proto/otlp":            "of OpenTelemetry: its messages",
		"go.yaml.in/yaml/v3":                        "the configuration file",
		"golang.org/x/net":                          "of OpenTelemetry, by gRPC's code: we do not use it",
		"golang.org/x/oauth2":                       "the token's type and expiry",
		"golang.org/x/sync":                         "errgroup",
		"golang.org/x/sys":                          "locks on Windows; of term: terminals",
		"golang.org/x/term":                         "whether stderr is a terminal, and how wide",
		"golang.org/x/text":                         "of gonum/plot: fonts; of OpenTelemetry, by gRPC's code: we do not use it",
		"golang.org/x/time":                         "the rate limit",
		"google.golang.org/genproto/googleapis/...": "of OpenTelemetry, by gRPC's code: we do not use it",
		"google.golang.org/grpc":                    "of OpenTelemetry: in the generated code of its messages, we send by HTTP",
		"google.golang.org/protobuf":                "of OpenTelemetry: encoding of its messages; of parquet-go: a type we do not use",
	}
}
