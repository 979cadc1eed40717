package gcs_test

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.org/growthexport/internal/sink/gcs"
	"example.org/growthexport/internal/sink/gcs/gcstest"
)

// shared is the server of all tests of the package, each with its own buckets; nil without a binary.
var shared *gcstest.Server

func TestMain(m *testing.M) {
	os.Exit(withServer(m.Run))
}

func withServer(run func() int) int {
	binary := os.Getenv("FAKE_GCS_SERVER")
	if binary == "" {
		return run()
	}
	var err error
	shared, err = gcstest.Launch(context.Background(), binary)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer shared.Stop()
	return run()
}

// server returns the shared server, or fails or skips the test.
func server(t testing.TB) *gcstest.Server {
	t.Helper()
	if shared == nil {
		gcstest.Missing(t, os.Getenv)
	}
	return shared
}

// options returns the options of a store in a bucket of the shared server.
func options(t testing.TB, bucket, prefix string) gcs.Options {
	t.Helper()
	return gcs.Options{
		Bucket: bucket, Prefix: prefix, Endpoint: server(t).Endpoint, Scratch: t.TempDir(), MaxBackoff: 20 * time.Millisecond,
	}
}

func open(t testing.TB, opts gcs.Options) *gcs.Store {
	t.Helper()
	store, err := gcs.New(t.Context(), opts)
	require.NoError(t, err)
	return store
}
