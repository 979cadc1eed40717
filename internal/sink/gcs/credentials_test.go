package gcs_test

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.org/growthexport/internal/sink"
	"example.org/growthexport/internal/sink/gcs"
	"example.org/growthexport/internal/sink/remote"
)

// credentialsFile writes the file of a service account whose tokens come from a URL. It also returns the account's
// private key.
func credentialsFile(t *testing.T, tokenURL string) (path, secret string) {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	require.NoError(t, err)
	der, err := x509.MarshalPKCS8PrivateKey(key)
	require.NoError(t, err)
	secret = string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}))
	text, err := json.Marshal(map[string]string{
		"type": "service_account", "client_email": "run@test.iam.gserviceaccount.com", "private_key_id": "1",
		"private_key": secret, "token_uri": tokenURL,
	})
	require.NoError(t, err)
	path = filepath.Join(t.TempDir(), "key.json")
	require.NoError(t, os.WriteFile(path, text, 0o600))
	return path, secret
}

// TestCredentials expects a token for the file of a service account, another one when the service rejects the first,
// and an error without secrets when the credentials are rejected.
func TestCredentials(t *testing.T) {
	var tokens, rejected atomic.Int64
	refuse := ""
	service := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		switch {
		case r.URL.Path == "/token" && refuse != "":
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusBadRequest)
			fmt.Fprint(w, refuse)
		case r.URL.Path == "/token":
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(w, `{"access_token": "token-%d", "expires_in": 3600, "token_type": "Bearer"}`, tokens.Add(1))
		case r.Header.Get("Authorization") != "Bearer token-2":
			rejected.Add(1)
			fail(w, http.StatusUnauthorized, "authError", "Invalid Credentials")
		default:
			fmt.Fprint(w, `{"items": []}`)
		}
	}))
	t.Cleanup(service.Close)
	file, secret := credentialsFile(t, service.URL+"/token")
	t.Setenv("GOOGLE_APPLICATION_CREDENTIALS", file)
	opts := gcs.Options{Bucket: "bucket", Endpoint: service.URL, Settings: remote.Settings{HTTPClient: service.Client(), Attempts: 2, MaxBackoff: time.Millisecond}}
	store := open(t, opts)
	require.Zero(t, tokens.Load(), "New sends no request")
	for range 2 {
		require.NoError(t, store.CheckReading(t.Context()))
	}
	require.EqualValues(t, 2, tokens.Load())
	require.EqualValues(t, 1, rejected.Load())

	// The third token is rejected, and so is the fourth.
	err := open(t, opts).Check(t.Context())
	require.ErrorContains(t, err, "credentials rejected at https://")
	require.ErrorContains(t, err, "Invalid Credentials): renew them")
	require.NotContains(t, err.Error(), "token-")

	refuse = `{"error": "invalid_grant", "error_description": "Invalid JWT Signature.", "echo": "` + "the-assertion" + `"}`
	err = open(t, opts).Check(t.Context())
	require.ErrorContains(t, err, "credentials rejected (invalid_grant: Invalid JWT Signature.): renew the service account's key")
	require.NotContains(t, err.Error(), "the-assertion")

	refuse = ""
	for name, text := range map[string]string{"damaged": secret, "no key": `{"type": "service_account", "private_key": "` + "hunter2" + `"}`} {
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
		err = open(t, opts).Check(t.Context())
		require.ErrorContains(t, err, "destination gs://bucket/: ", name)
		require.NotContains(t, err.Error(), "hunter2")
		require.NotContains(t, err.Error(), secret[100:150])
		require.NotContains(t, err.Error(), "\n")
	}
	t.Setenv("GOOGLE_APPLICATION_CREDENTIALS", filepath.Join(t.TempDir(), "none.json"))
	err = open(t, opts).Write(t.Context(), "document", nil, sink.Condition{})
	require.ErrorContains(t, err, "no usable Google credentials: set GOOGLE_APPLICATION_CREDENTIALS to the file of a service account")
}
