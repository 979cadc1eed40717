package azure_test

import (
	"context"
	"encoding/base64"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"
	"github.com/stretchr/testify/require"

	"example.org/growthexport/internal/sink"
	"example.org/growthexport/internal/sink/azure"
	"example.org/growthexport/internal/sink/remote"
)

func TestParseURL(t *testing.T) {
	t.Parallel()
	const host = "account.dfs.core.windows.net"
	for text, want := range map[string]azure.Place{
		"abfss://rosters@account.dfs.core.windows.net":              {Container: "rosters", Host: host},
		"abfss://rosters@account.dfs.core.windows.net/":             {Container: "rosters", Host: host},
		"abfss://rosters@account.dfs.core.windows.net/a/b/":         {Container: "rosters", Host: host, Prefix: "a/b"},
		"abfss://rosters@account.dfs.core.windows.net/a%20b?c":      {Container: "rosters", Host: host, Prefix: "a%20b?c"},
		"abfss://rosters@account.dfs.core.usgovcloudapi.net/x":      {Container: "rosters", Host: "account.dfs.core.usgovcloudapi.net", Prefix: "x"},
		"abfss://Data@onelake.dfs.fabric.microsoft.com/l.x/Files/x": {Container: "Data", Host: "onelake.dfs.fabric.microsoft.com", Prefix: "l.x/Files/x"},
	} {
		place, err := azure.ParseURL(text)
		require.NoError(t, err, text)
		require.Equal(t, want, place, text)
		again, err := azure.ParseURL(place.String())
		require.NoError(t, err)
		require.Equal(t, want, again)
	}
	for _, text := range []string{
		"", "rosters", "abfss:rosters", "abfss://", "abfss://rosters", "abfss://rosters/x", "abfss://@account.dfs.core.windows.net",
		"abfss://rosters@", "abfss://rosters@account", "abfss://rosters@account.blob.core.windows.net/x", "abfss://rosters@.dfs.core.windows.net",
		"abfss://rosters:secret@account.dfs.core.windows.net", "abfss://rosters@account.dfs.core.windows.net:secret/x",
		"abfss://ro@account.dfs.core.windows.net", "abfss://rosters@account.dfs.core.windows.net//x",
		"abfss://rosters@account.dfs.core.windows.net/a/../b", "abfss://rosters@account.dfs.core.windows.net/a\x01",
	} {
		_, err := azure.ParseURL(text)
		require.Error(t, err, text)
	}
}

// TestCredentials checks where the first request goes, and with which credentials.
func TestCredentials(t *testing.T) {
	t.Parallel()
	key := base64.StdEncoding.EncodeToString([]byte("the secret of an account"))
	const sas = "sig=c2VjcmV0&sv=2026-02-06"
	for name, test := range map[string]struct {
		change                    func(*azure.Options)
		url, query, authorization string
	}{
		"key": {
			change: func(o *azure.Options) { o.Key = key },
			url:    "https://account.blob.core.windows.net/rosters/growth%2Fa", authorization: "SharedKey account:",
		},
		"signature": {
			change: func(o *azure.Options) { o.SASToken = "?" + sas },
			url:    "https://account.blob.core.windows.net/rosters/growth%2Fa", query: sas,
		},
		"connection string": {
			change: func(o *azure.Options) {
				o.ConnectionString = "DefaultEndpointsProtocol=https;AccountName=account;AccountKey=" + key + ";EndpointSuffix=core.chinacloudapi.cn"
				o.SASToken = sas
			},
			url: "https://account.blob.core.chinacloudapi.cn/rosters/growth%2Fa", authorization: "SharedKey account:",
		},
		"connection string with a signature": {
			change: func(o *azure.Options) {
				o.ConnectionString = "BlobEndpoint=https://private.example/;SharedAccessSignature=" + sas
			},
			url: "https://private.example/rosters/growth%2Fa", query: sas,
		},
		"endpoint": {
			change: func(o *azure.Options) {
				o.ConnectionString, o.Endpoint = "AccountKey="+key, "http://azurite:10000/account"
			},
			url: "http://azurite:10000/account/rosters/growth%2Fa", authorization: "SharedKey account:",
		},
		"token": {
			change: func(o *azure.Options) { o.Credential, o.Key = credential{token: "a-token"}, key },
			url:    "https://account.blob.core.windows.net/rosters/growth%2Fa", authorization: "Bearer a-token",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			opts := azure.Options{Place: azure.Place{Container: "rosters", Host: "account.dfs.core.windows.net", Prefix: "growth"}}
			var requests []*http.Request
			opts.HTTPClient = &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
				requests = append(requests, r)
				return &http.Response{StatusCode: http.StatusNotFound, Header: http.Header{"X-Ms-Error-Code": {"BlobNotFound"}}, Body: http.NoBody, Request: r}, nil
			})}
			test.change(&opts)
			_, _, err := open(t, opts).Read(t.Context(), "a")
			require.ErrorIs(t, err, sink.ErrNotFound)
			require.Len(t, requests, 1)
			sent := *requests[0].URL
			require.Equal(t, test.query, sent.RawQuery)
			sent.RawQuery = ""
			require.Equal(t, test.url, sent.String())
			authorization := requests[0].Header.Get("Authorization")
			require.Equal(t, test.authorization == "", authorization == "")
			require.True(t, strings.HasPrefix(authorization, test.authorization), authorization)
		})
	}
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// credential returns a token, or fails.
type credential struct {
	token string
	err   error
}

func (c credential) GetToken(context.Context, policy.TokenRequestOptions) (azcore.AccessToken, error) {
	return azcore.AccessToken{Token: c.token, ExpiresOn: time.Now().Add(time.Hour)}, c.err
}

// TestTokens expects a token to be sent only over TLS, and a new one to be requested only when necessary.
func TestTokens(t *testing.T) {
	t.Parallel()
	var requests atomic.Int64
	listener := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		w.Header().Set("ETag", `"0x1"`)
		_, _ = io.WriteString(w, r.Header.Get("Authorization"))
	}))
	t.Cleanup(listener.Close)
	opts := azure.Options{
		Place:    azure.Place{Container: "rosters", Host: "account.dfs.core.windows.net"},
		Endpoint: listener.URL, Credential: credential{token: "a-token"},
		Settings: remote.Settings{HTTPClient: listener.Client()},
	}
	data, _, err := open(t, opts).Read(t.Context(), "a")
	require.NoError(t, err)
	require.Equal(t, "Bearer a-token", string(data))

	opts.Credential = credential{err: errors.New("DefaultAzureCredential: failed to acquire a token.\nAttempted credentials:\n\tEnvironmentCredential: missing")}
	_, _, err = open(t, opts).Read(t.Context(), "a")
	require.ErrorContains(t, err, "no Azure credentials found at https://127.0.0.1:")
	require.ErrorContains(t, err, "set AZURE_STORAGE_CONNECTION_STRING, AZURE_STORAGE_KEY or AZURE_STORAGE_SAS_TOKEN in the environment, "+
		"or AZURE_TENANT_ID, AZURE_CLIENT_ID and AZURE_CLIENT_SECRET of an application, run under a workload or managed identity, or sign in with az login")
	require.ErrorContains(t, err, "(EnvironmentCredential: missing)")
	require.NotContains(t, err.Error(), "\n")
	require.EqualValues(t, 1, requests.Load())

	failed := &azidentity.AuthenticationFailedError{RawResponse: &http.Response{Status: "401 Unauthorized", Body: io.NopCloser(strings.NewReader(
		`{"error": "invalid_client", "error_description": "AADSTS7000222: The client secret has expired. Trace ID: 1 Correlation ID: 2"}`))}}
	opts.Credential = credential{err: failed}
	_, _, err = open(t, opts).Read(t.Context(), "a")
	require.ErrorContains(t, err, "sign-in to Azure failed at https://127.0.0.1:")
	require.ErrorContains(t, err, "(AADSTS7000222: The client secret has expired.): check AZURE_TENANT_ID, AZURE_CLIENT_ID and AZURE_CLIENT_SECRET, or the federated credential")

	opts.Credential = credential{err: &azidentity.AuthenticationFailedError{RawResponse: &http.Response{
		Status: "403 Forbidden", StatusCode: http.StatusForbidden, Body: io.NopCloser(strings.NewReader("denied")),
		Request: httptest.NewRequestWithContext(t.Context(), http.MethodGet, "http://169.254.169.254/metadata/identity/oauth2/token", nil),
	}}}
	_, _, err = open(t, opts).Read(t.Context(), "a")
	require.ErrorContains(t, err, "this machine has no Azure identity that the process may use at https://127.0.0.1:")
	require.ErrorContains(t, err, "(the metadata service answered 403 Forbidden): set AZURE_STORAGE_CONNECTION_STRING, AZURE_STORAGE_KEY or "+
		"AZURE_STORAGE_SAS_TOKEN in the environment, or AZURE_TENANT_ID, AZURE_CLIENT_ID and AZURE_CLIENT_SECRET of an application, or assign a managed identity to the machine and let the process reach its metadata service")

	opts.HTTPClient = nil
	opts.Credential = credential{token: "a-token"}
	opts.Attempts = 2
	_, _, err = open(t, opts).Read(t.Context(), "a")
	require.ErrorContains(t, err, "certificate not trusted at https://127.0.0.1:")
	require.ErrorContains(t, err, "set SSL_CERT_FILE")
}

// TestIncompleteApplication expects the error to contain the missing variable. The store learns it from the SDK, which
// reads the environment itself.
func TestIncompleteApplication(t *testing.T) {
	for name, missing := range map[string]string{"tenant": "AZURE_CLIENT_ID", "tenant and client": "AZURE_CLIENT_SECRET"} {
		t.Run(name, func(t *testing.T) {
			for _, variable := range []string{"AZURE_CLIENT_ID", "AZURE_CLIENT_SECRET", "AZURE_CLIENT_CERTIFICATE_PATH", "AZURE_USERNAME"} {
				t.Setenv(variable, "")
			}
			t.Setenv("AZURE_TENANT_ID", "tenant")
			if missing != "AZURE_CLIENT_ID" {
				t.Setenv("AZURE_CLIENT_ID", "client")
			}
			_, sdk := azidentity.NewEnvironmentCredential(nil)
			require.Error(t, sdk)
			opts := azure.Options{
				Place:      azure.Place{Container: "rosters", Host: "account.dfs.core.windows.net"},
				Credential: credential{err: errors.New("DefaultAzureCredential: failed to acquire a token.\nAttempted credentials:\n\tEnvironmentCredential: " + sdk.Error())},
			}
			_, _, err := open(t, opts).Read(t.Context(), "a")
			require.ErrorContains(t, err, "no Azure credentials found (EnvironmentCredential: ")
			require.ErrorContains(t, err, ": AZURE_TENANT_ID is set, so set "+missing+" too, or set AZURE_STORAGE_CONNECTION_STRING, ")
		})
	}
}

// TestOptionsThatCannotBeMeant expects an error that does not contain a secret.
func TestOptionsThatCannotBeMeant(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		change func(*azure.Options)
		want   string
	}{
		"no container":       {func(o *azure.Options) { o.Container = "" }, "has no container and account"},
		"a prefix that dots": {func(o *azure.Options) { o.Prefix = "../x" }, "is not a valid prefix"},
		"an endpoint with a signature": {
			func(o *azure.Options) { o.Endpoint = "https://account.blob.core.windows.net?sig=c2VjcmV0" }, "Azure endpoint: not a URL",
		},
		"a key that is wrong": {func(o *azure.Options) { o.Key = "c2VjcmV0!" }, "AZURE_STORAGE_KEY is not in base64: copy the whole key again"},
		"a key in a connection string that is wrong": {
			func(o *azure.Options) { o.ConnectionString = "AccountName=account;AccountKey=c2VjcmV0!" }, "AccountKey in AZURE_STORAGE_CONNECTION_STRING is not in base64",
		},
		"a signature that is not": {
			func(o *azure.Options) { o.Key, o.SASToken = "", "c2VjcmV0" },
			"AZURE_STORAGE_SAS_TOKEN is not a shared access signature, because it has no sig=: set the whole signature, in quotes because it contains &",
		},
		"a signature in a connection string that is not": {
			func(o *azure.Options) { o.ConnectionString = "SharedAccessSignature=c2VjcmV0" },
			"SharedAccessSignature in AZURE_STORAGE_CONNECTION_STRING is not a shared access signature",
		},
		"a connection string without credentials": {
			func(o *azure.Options) { o.ConnectionString = "AccountName=account;c2VjcmV0" }, "AZURE_STORAGE_CONNECTION_STRING: it has neither AccountKey nor SharedAccessSignature: set the whole string, in quotes",
		},
		"another account": {
			func(o *azure.Options) { o.ConnectionString = "AccountName=other;AccountKey=c2VjcmV0" }, "it belongs to the account other, but the destination belongs to account",
		},
		"a signature without TLS": {
			func(o *azure.Options) {
				o.Key, o.SASToken, o.Endpoint = "", "sig=c2VjcmV0", "http://azurite:10000/account"
			}, "use https, or set AZURE_STORAGE_KEY",
		},
		"a token without TLS": {func(o *azure.Options) { o.Key, o.Endpoint = "", "http://azurite:10000/account" }, "use https"},
		"negative uploads":    {func(o *azure.Options) { o.Uploads = -1 }, "must not be negative"},
	} {
		opts := azure.Options{Place: azure.Place{Container: "rosters", Host: "account.dfs.core.windows.net"}, Key: "a2V5"}
		test.change(&opts)
		_, err := azure.New(opts)
		require.ErrorContains(t, err, test.want, name)
		require.NotContains(t, err.Error(), "c2VjcmV0", name)
	}
}

// TestInfo expects URLs that DuckDB, Spark, Databricks and Fabric can read, and no secrets in statements.
func TestInfo(t *testing.T) {
	t.Parallel()
	place, err := azure.ParseURL("abfss://rosters@account.dfs.core.windows.net/growth")
	require.NoError(t, err)
	store := open(t, azure.Options{Place: place, Key: "c2VjcmV0"})
	info := store.Info()
	require.Equal(t, "abfss://rosters@account.dfs.core.windows.net/growth", store.String())
	require.Equal(t, store.String(), info.URL)
	require.Equal(t, store.String(), info.HadoopURL)
	const secret = "INSTALL azure; LOAD azure; CREATE SECRET (TYPE azure, "
	require.Equal(t, secret+"CONNECTION_STRING 'AccountName=account;AccountKey=KEY;EndpointSuffix=core.windows.net');", info.Session)
	require.False(t, info.Locks)
	require.Equal(t, secret+"CONNECTION_STRING 'AccountName=account;SharedAccessSignature=SIGNATURE;EndpointSuffix=core.windows.net');",
		open(t, azure.Options{Place: place, SASToken: "sig=c2VjcmV0"}).Info().Session)
	require.Equal(t, secret+"PROVIDER credential_chain, ACCOUNT_NAME 'account');",
		open(t, azure.Options{Place: place, Credential: credential{token: "a-token"}}).Info().Session)
	named := open(t, azure.Options{Place: place, ConnectionString: "AccountName=account;AccountKey=a2V5;BlobEndpoint=http://127.0.0.1:10000/account"})
	require.Equal(t, "az://rosters/growth", named.Info().URL)

	store = open(t, azure.Options{Place: place, Key: "c2VjcmV0", Endpoint: "http://127.0.0.1:10000/account"})
	emulated := store.Info()
	require.Equal(t, "az://rosters/growth", emulated.URL)
	require.Equal(t, store.String(), emulated.HadoopURL)
	require.Equal(t, secret+"CONNECTION_STRING "+
		"'AccountName=account;AccountKey=KEY;BlobEndpoint=http://127.0.0.1:10000/account');", emulated.Session)
	require.Empty(t, info.PlainEndpoint+emulated.PlainEndpoint)
	plain := open(t, azure.Options{Place: place, Key: "c2VjcmV0", Endpoint: "http://192.0.2.1:10000/account"})
	require.Equal(t, "http://192.0.2.1:10000", plain.Info().PlainEndpoint)
	require.Contains(t, info.Permissions, "Storage Blob Data Contributor")
}

// TestEncryption expects the encryption at rest that the service reports.
func TestEncryption(t *testing.T) {
	t.Parallel()
	store := open(t, options(t, server(t).Container(t), ""))
	require.NoError(t, store.Write(t.Context(), "a", nil, sink.Condition{}))
	kind, err := store.Encryption(t.Context(), "a")
	require.NoError(t, err)
	require.Equal(t, "AES256", kind)
}
