package gcs_test

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"example.org/growthexport/internal/sink/gcs"
	"example.org/growthexport/internal/sink/gcs/gcstest"
	"example.org/growthexport/internal/sink/servertest"
)

// shared is the server of all tests of the package, each with its own buckets.
var shared = servertest.NewShared(gcstest.Variable, gcstest.Launch)

func TestMain(m *testing.M) {
	code := m.Run()
	shared.Stop()
	os.Exit(code)
}

// server returns the shared server, or fails or skips the test.
func server(t testing.TB) *gcstest.Server {
	t.Helper()
	return shared.Get(t)
}

// options returns the options of a store in a bucket of the shared server.
func options(t testing.TB, bucket, prefix string) gcs.Options {
	t.Helper()
	return server(t).Options(t, bucket, prefix)
}

func open(t testing.TB, opts gcs.Options) *gcs.Store {
	t.Helper()
	store, err := gcs.New(t.Context(), opts)
	require.NoError(t, err)
	return store
}
