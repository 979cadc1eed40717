package s3_test

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.org/growthexport/internal/sink/s3"
	"example.org/growthexport/internal/sink/s3/s3test"
)

// shared is the server of all tests of the package, each with its own buckets; nil without a binary.
var shared *s3test.Server

func TestMain(m *testing.M) {
	os.Exit(withServer(m.Run))
}

func withServer(run func() int) int {
	binary := os.Getenv("VERSITYGW")
	if binary == "" {
		return run()
	}
	folder, err := os.MkdirTemp("", "growth-export-s3-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() { _ = os.RemoveAll(folder) }() // The system cleans up what is left.
	shared, err = s3test.Launch(context.Background(), binary, folder)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer shared.Stop()
	return run()
}

// server returns the shared server, or fails or skips the test.
func server(t testing.TB) *s3test.Server {
	t.Helper()
	if shared == nil {
		s3test.Missing(t, os.Getenv)
	}
	return shared
}

// options returns the options of a store in a bucket of the shared server.
func options(t testing.TB, bucket, prefix string) s3.Options {
	t.Helper()
	server := server(t)
	return s3.Options{
		Bucket: bucket, Prefix: prefix, Endpoint: server.Endpoint, PathStyle: true,
		AccessKeyID: server.AccessKeyID, SecretAccessKey: server.SecretAccessKey,
		HTTPClient: server.HTTPClient, Scratch: t.TempDir(), MaxBackoff: 20 * time.Millisecond,
	}
}

func open(t testing.TB, opts s3.Options) *s3.Store {
	t.Helper()
	store, err := s3.New(t.Context(), opts)
	require.NoError(t, err)
	return store
}
