//go:build unix

package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.org/growthexport/internal/sink"
	"example.org/growthexport/internal/sink/azure"
	"example.org/growthexport/internal/sink/azure/azuretest"
)

// azureCloud is a container of Azurite.
type azureCloud struct {
	t         *testing.T
	server    *azuretest.Server
	container string
}

func newAzureCloud(t *testing.T) testCloud {
	t.Helper()
	long(t)
	server := azurite.Get(t)
	return &azureCloud{t, server, server.Container(t)}
}

func (*azureCloud) String() string { return "Azure" }

func (c *azureCloud) dest(prefix string) string { return c.place(prefix).String() }

func (c *azureCloud) flags() []string { return []string{"--azure-endpoint", c.server.Endpoint} }

func (c *azureCloud) env() []string { return c.server.Env() }

func (c *azureCloud) open(prefix string) sink.Store {
	store, err := azure.New(c.server.Options(c.t, c.container, prefix))
	require.NoError(c.t, err)
	return store
}

func (c *azureCloud) staged(t *testing.T, prefix string) []string {
	t.Helper()
	var paths []string
	for _, name := range c.server.Staged(t, c.container) {
		if path, under := strings.CutPrefix(name, prefix+"/"); under {
			paths = append(paths, path)
		}
	}
	return paths
}

func (c *azureCloud) place(prefix string) azure.Place {
	return azure.Place{Container: c.container, Host: azuretest.Host, Prefix: prefix}
}
