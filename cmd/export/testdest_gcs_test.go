//go:build unix

package main

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"example.org/growthexport/internal/sink"
	"example.org/growthexport/internal/sink/gcs"
	"example.org/growthexport/internal/sink/gcs/gcstest"
)

// googleCloud is a bucket of fake-gcs-server.
type googleCloud struct {
	t      *testing.T
	server *gcstest.Server
	bucket string
	client *http.Client // of all stores, which would keep connections open
}

func newGoogleCloud(t *testing.T) testCloud {
	t.Helper()
	server := gcstest.Start(t)
	return &googleCloud{t, server, server.Bucket(t), &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}}}
}

func (*googleCloud) String() string { return "Google" }

func (c *googleCloud) dest(prefix string) string { return gcs.Scheme + c.bucket + "/" + prefix }

func (c *googleCloud) flags() []string { return []string{"--gcs-endpoint", c.server.Endpoint} }

func (*googleCloud) env() []string { return nil }

func (c *googleCloud) open(prefix string) sink.Store {
	opts := c.server.Options(c.t, c.bucket, prefix)
	opts.HTTPClient = c.client
	store, err := gcs.New(c.t.Context(), opts)
	require.NoError(c.t, err)
	return store
}

func (c *googleCloud) staged(t *testing.T, prefix string) []string {
	t.Helper()
	return c.server.Objects(t, c.bucket, prefix+"/"+sink.StagingPrefix)
}
