package s3_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"example.org/growthexport/internal/sink"
	"example.org/growthexport/internal/sink/s3/s3test"
	"example.org/growthexport/internal/sink/storetest"
)

// TestStore runs the suite with a prefix and checksums, and without, and on stores that differ from S3 in their answers.
func TestStore(t *testing.T) {
	t.Parallel()
	server := server(t)
	for _, variant := range []struct {
		name, prefix, checksums string
		mode                    s3test.Mode
	}{
		{"under a prefix", "some/where 100%", "", nil},
		{"whole bucket, no checksums", "", "when-required", nil},
		{"other names for missing uploads", "pre", "", s3test.OtherMissing},
		{"missing uploads without parts", "pre", "", s3test.EmptyParts},
		{"checksums refused", "pre", "", s3test.RefusedChecksums},
	} {
		t.Run(variant.name, func(t *testing.T) {
			t.Parallel()
			storetest.Run(t, func(t *testing.T) storetest.Destination {
				t.Helper()
				bucket := server.Bucket(t)
				opts := options(t, bucket, variant.prefix)
				opts.Checksums = variant.checksums
				if variant.mode != nil {
					opts.Endpoint = server.Proxy(t, nil, variant.mode).Endpoint
				}
				return storetest.Destination{
					Open: func(t *testing.T) sink.Store {
						t.Helper()
						return open(t, opts)
					},
					Lose: func(t *testing.T, run string, file sink.File) {
						t.Helper()
						require.NoError(t, open(t, opts).Abort(t.Context(), run, file))
					},
					Leftovers: func(t *testing.T) []string {
						t.Helper()
						return append(storetest.FilesIn(t, opts.Scratch), server.Uploads(t, bucket)...)
					},
					LargeFile: 20 << 20,
				}
			})
		})
	}
}
