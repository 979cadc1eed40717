package s3_test

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"example.org/growthexport/internal/sink/s3"
	"example.org/growthexport/internal/sink/s3/s3test"
	"example.org/growthexport/internal/sink/servertest"
)

// shared is the server of all tests of the package, each with its own buckets.
var shared = servertest.NewShared(s3test.Variable, s3test.Launch)

func TestMain(m *testing.M) {
	code := m.Run()
	shared.Stop()
	os.Exit(code)
}

// server returns the shared server, or fails or skips the test.
func server(t testing.TB) *s3test.Server {
	t.Helper()
	return shared.Get(t)
}

// options returns the options of a store in a bucket of the shared server.
func options(t testing.TB, bucket, prefix string) s3.Options {
	t.Helper()
	return server(t).Options(t, bucket, prefix)
}

func open(t testing.TB, opts s3.Options) *s3.Store {
	t.Helper()
	store, err := s3.New(t.Context(), opts)
	require.NoError(t, err)
	return store
}
