package s3_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"example.org/growthexport/internal/sink/s3"
)

// TestInfo expects the URL for readers, and a DuckDB secret with the endpoint of the options.
func TestInfo(t *testing.T) {
	t.Parallel()
	store, err := s3.New(t.Context(), s3.Options{Bucket: "bucket", Region: "us-east-1"})
	require.NoError(t, err)
	require.Equal(t, "s3://bucket", store.Info().URL)
	require.Equal(t, "s3a://bucket", store.Info().HadoopURL)
	require.False(t, store.Info().Locks)
	require.Empty(t, store.Info().Conditions)

	store, err = s3.New(t.Context(), s3.Options{
		Bucket: "bucket", Prefix: "a/b", Endpoint: "http://127.0.0.1:7070/", Region: "eu-'1", PathStyle: true,
		AccessKeyID: "id", SecretAccessKey: "secret",
	})
	require.NoError(t, err)
	require.Equal(t, "s3://bucket/a/b", store.Info().URL)
	require.Equal(t, "INSTALL httpfs; LOAD httpfs; CREATE SECRET (TYPE s3, PROVIDER credential_chain, REGION 'eu-''1', "+
		"ENDPOINT '127.0.0.1:7070', USE_SSL false, URL_STYLE 'path');", store.Info().Session)
	require.Empty(t, store.Info().Conditions)

	require.Empty(t, store.Info().PlainEndpoint)
	store, err = s3.New(t.Context(), s3.Options{Bucket: "bucket", Endpoint: "http://192.0.2.1:9000", Region: "eu"})
	require.NoError(t, err)
	require.Equal(t, "http://192.0.2.1:9000", store.Info().PlainEndpoint)

	for _, endpoint := range []string{"https://storage.googleapis.com", "https://bucket.storage.googleapis.com/"} {
		store, err = s3.New(t.Context(), s3.Options{Bucket: "bucket", Prefix: "a", Endpoint: endpoint})
		require.NoError(t, err)
		require.Equal(t, "use --dest gs://bucket/a, because Google's S3-compatible interface has no conditional writes", store.Info().Conditions)
	}
}
