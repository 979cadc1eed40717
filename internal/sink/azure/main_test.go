package azure_test

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"example.org/growthexport/internal/sink/azure"
	"example.org/growthexport/internal/sink/azure/azuretest"
	"example.org/growthexport/internal/sink/servertest"
)

// shared is the server of all tests of the package, each with its own containers.
var shared = servertest.NewShared(azuretest.Variable, azuretest.Launch)

func TestMain(m *testing.M) {
	code := m.Run()
	shared.Stop()
	os.Exit(code)
}

// server returns the shared server, or fails or skips the test.
func server(t testing.TB) *azuretest.Server {
	t.Helper()
	return shared.Get(t)
}

// options returns the options of a store in a container of the shared server.
func options(t testing.TB, container, prefix string) azure.Options {
	t.Helper()
	return server(t).Options(t, container, prefix)
}

func open(t testing.TB, opts azure.Options) *azure.Store {
	t.Helper()
	store, err := azure.New(opts)
	require.NoError(t, err)
	return store
}
