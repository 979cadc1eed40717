//go:build unix

package main

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
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestRejectedGoogleCredentials expects that a service account whose key was revoked is reported as a mistake in the
// settings, with the remedy, and that no command prints the key or the request.
func TestRejectedGoogleCredentials(t *testing.T) {
	t.Parallel()
	var asked atomic.Int64
	tokens := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		sent, _ := io.ReadAll(r.Body)
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprintf(w, `{"error": "invalid_grant", "error_description": "Invalid JWT Signature.", "sent": %q}`, sent)
	}))
	t.Cleanup(tokens.Close)
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	require.NoError(t, err)
	der, err := x509.MarshalPKCS8PrivateKey(key)
	require.NoError(t, err)
	secret := string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}))
	account, err := json.Marshal(map[string]string{
		"type": "service_account", "client_email": "run@test.iam.gserviceaccount.com", "private_key": secret, "token_uri": tokens.URL,
	})
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), "account.json")
	require.NoError(t, os.WriteFile(file, account, 0o600))

	for _, command := range []string{"run", "status", "verify", "doctor"} {
		arguments := []string{command, "--dest", "gs://bucket/prefix"}
		if command == "run" || command == "doctor" {
			arguments = append(arguments, "--simulate")
		}
		if command == "run" {
			arguments = append(arguments, "--log-level", "debug")
		}
		cmd, stderr := commandProcess(t, arguments...)
		cmd.Env = append(cmd.Env, "GOOGLE_APPLICATION_CREDENTIALS="+file)
		var stdout strings.Builder
		cmd.Stdout = &stdout
		_ = cmd.Run() // The code is compared.
		said := stdout.String() + stderr.String()
		require.Equal(t, exitUsage, cmd.ProcessState.ExitCode(), said)
		require.Contains(t, said, "credentials rejected (invalid_grant: Invalid JWT Signature.): renew the service account's key", command)
		require.NotContains(t, said, "assertion", command)
		for _, line := range strings.Split(secret, "\n")[1:20] {
			require.NotContains(t, said, line, command)
		}
	}
	require.EqualValues(t, 4, asked.Load(), "a rejection is final")
}
