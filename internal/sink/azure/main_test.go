package azure_test

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.org/growthexport/internal/sink/azure"
	"example.org/growthexport/internal/sink/azure/azuretest"
)

// shared is the server of all tests of the package, each with its own containers; nil if it is not installed.
var shared *azuretest.Server

func TestMain(m *testing.M) {
	os.Exit(withServer(m.Run))
}

func withServer(run func() int) int {
	folder := os.Getenv("AZURITE")
	if folder == "" {
		return run()
	}
	var err error
	if shared, err = azuretest.Launch(context.Background(), folder); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer shared.Stop()
	return run()
}

// server returns the shared server, or fails or skips the test.
func server(t testing.TB) *azuretest.Server {
	t.Helper()
	if shared == nil {
		azuretest.Missing(t, os.Getenv)
	}
	return shared
}

// options returns the options of a store in a container of the shared server.
func options(t testing.TB, container, prefix string) azure.Options {
	t.Helper()
	server := server(t)
	return azure.Options{
		Place:    azure.Place{Container: container, Host: azuretest.Host, Prefix: prefix},
		Endpoint: server.Endpoint, Key: server.Key, Scratch: t.TempDir(), MaxBackoff: 20 * time.Millisecond,
	}
}

func open(t testing.TB, opts azure.Options) *azure.Store {
	t.Helper()
	store, err := azure.New(opts)
	require.NoError(t, err)
	return store
}
