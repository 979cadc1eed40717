package azuretest

import (
	"context"
	"encoding/base64"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/sas"

	"example.org/growthexport/internal/sink/azure"
	"example.org/growthexport/internal/sink/remote"
	"example.org/growthexport/internal/sink/servertest"
)

// Account is the name of the storage account.
const Account = "districtdata"

// Host is the host of the account in the URL of a destination.
const Host = Account + ".dfs.core.windows.net"

// Variable is the environment variable with the path of the emulator's folder.
const Variable = "AZURITE"

// Server is a running Azurite, which keeps its data in memory.
type Server struct {
	// Endpoint is the root of the account.
	Endpoint string
	// Key is the key of the account, in base64.
	Key string

	address    string // host and port
	transport  *http.Transport
	process    *servertest.Process
	containers atomic.Int64
}

// Launch starts the server that is installed in a folder. The caller must call Stop.
func Launch(ctx context.Context, folder string) (*Server, error) {
	s := &Server{
		Key:       base64.StdEncoding.EncodeToString([]byte("key-of-tests")),
		transport: &http.Transport{MaxIdleConnsPerHost: 32, DisableCompression: true},
	}
	var err error
	s.process, err = servertest.Launch(ctx, filepath.Join(folder, "node"), func(address string) (args, env []string) {
		_, port, _ := strings.Cut(address, ":")
		return []string{
			filepath.Join(folder, "node_modules/azurite/dist/src/blob/main.js"),
			"--blobPort", port, "--inMemoryPersistence", "--silent", "--disableTelemetry", "--skipApiVersionCheck",
		}, []string{"AZURITE_ACCOUNTS=" + Account + ":" + s.Key}
	})
	if err != nil {
		return nil, err
	}
	s.address = s.process.Address
	s.Endpoint = "http://" + s.address + "/" + Account
	return s, nil
}

// Stop ends the server.
func (s *Server) Stop() { s.process.Stop() }

// Options returns the options of a store in a container.
func (s *Server) Options(t testing.TB, name, prefix string) azure.Options {
	t.Helper()
	return azure.Options{
		Place:    azure.Place{Container: name, Host: Host, Prefix: prefix},
		Endpoint: s.Endpoint, Key: s.Key,
		Settings: remote.Settings{Scratch: t.TempDir(), MaxBackoff: 20 * time.Millisecond},
	}
}

// ConnectionString returns a value for AZURE_STORAGE_CONNECTION_STRING.
func (s *Server) ConnectionString() string {
	return "DefaultEndpointsProtocol=http;AccountName=" + Account + ";AccountKey=" + s.Key + ";BlobEndpoint=" + s.Endpoint + ";"
}

// Client returns a client for a container, with which tests make changes behind a store's back.
func (s *Server) Client(t testing.TB, name string) *container.Client {
	t.Helper()
	key, err := blob.NewSharedKeyCredential(Account, s.Key)
	if err != nil {
		t.Fatal(err)
	}
	client, err := container.NewClientWithSharedKeyCredential(s.Endpoint+"/"+name, key, nil)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// Container creates a container and returns its name.
func (s *Server) Container(t testing.TB) string {
	t.Helper()
	name := fmt.Sprintf("container-%d", s.containers.Add(1))
	if _, err := s.Client(t, name).Create(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	return name
}

// Staged returns the names of the blobs in a container that have uncommitted blocks, except for dropped blocks. The
// size of a dropped block differs from the size in its id.
func (s *Server) Staged(t testing.TB, name string) []string {
	t.Helper()
	client := s.Client(t, name)
	var names []string
	pages := client.NewListBlobsFlatPager(&container.ListBlobsFlatOptions{Include: container.ListBlobsInclude{UncommittedBlobs: true}})
	for pages.More() {
		page, err := pages.NextPage(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, item := range page.Segment.BlobItems {
			list, err := client.NewBlockBlobClient(*item.Name).GetBlockList(t.Context(), "uncommitted", nil)
			if err != nil {
				t.Fatal(err)
			}
			for _, block := range list.UncommittedBlocks {
				id, err := base64.StdEncoding.DecodeString(*block.Name)
				if err != nil {
					t.Fatal(err)
				}
				if strings.HasSuffix(string(id), fmt.Sprintf(".%010d", *block.Size)) { // The block was not dropped.
					names = append(names, *item.Name)
					break
				}
			}
		}
	}
	return names
}

// Expire removes the uncommitted blocks of a blob, as the service does after a week. Put Blob removes them too in the
// service, but not in the emulator.
func (s *Server) Expire(t testing.TB, name, path string) {
	t.Helper()
	client := s.Client(t, name).NewBlockBlobClient(path)
	if _, err := client.CommitBlockList(t.Context(), nil, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := client.Delete(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
}

// Env returns the environment of a process that uses the server.
func (s *Server) Env() []string {
	return []string{"AZURE_STORAGE_CONNECTION_STRING=" + s.ConnectionString()}
}

// Signature returns a shared access signature for a container. The signature expires at the given time.
func (s *Server) Signature(t testing.TB, name string, expiry time.Time) string {
	t.Helper()
	key, err := blob.NewSharedKeyCredential(Account, s.Key)
	if err != nil {
		t.Fatal(err)
	}
	permissions := sas.ContainerPermissions{Read: true, Add: true, Create: true, Write: true, Delete: true, List: true}
	signed, err := sas.BlobSignatureValues{
		ContainerName: name, Permissions: permissions.String(), StartTime: expiry.Add(-time.Hour), ExpiryTime: expiry,
	}.SignWithSharedKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return signed.Encode()
}
