package azuretest

import (
	"bufio"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/sas"
)

// Account is the name of the storage account.
const Account = "districtdata"

// Host is the account's in the URL of a destination.
const Host = Account + ".dfs.core.windows.net"

// patience is how long the server may take to start, on a busy machine.
const patience = time.Minute

// Server is a running Azurite, with its data in memory.
type Server struct {
	// Endpoint is the root of the account.
	Endpoint string
	// Key is the key of the account, in base64.
	Key string

	address    string // host and port
	transport  *http.Transport
	command    *exec.Cmd
	exited     chan struct{}
	containers atomic.Int64
}

// Missing fails a test that has no server, because AZURITE is not in the environment, if CI is set; else it skips it.
func Missing(t testing.TB, getenv func(string) string) {
	t.Helper()
	const message = "AZURITE is not set: make check installs Azurite and sets it"
	if getenv("CI") != "" {
		t.Fatal(message)
	}
	t.Skip(message)
}

// Launch starts the server that is installed in a folder. Stop ends it.
func Launch(ctx context.Context, folder string) (*Server, error) {
	s := &Server{
		Key:       base64.StdEncoding.EncodeToString([]byte("key-of-tests")),
		transport: &http.Transport{MaxIdleConnsPerHost: 32, DisableCompression: true},
	}
	// Stop ends it, not the context.
	s.command = exec.CommandContext(context.WithoutCancel(ctx), filepath.Join(folder, "node"), //nolint:gosec // The Makefile installed it.
		filepath.Join(folder, "node_modules/azurite/dist/src/blob/main.js"),
		"--blobPort", "0", "--inMemoryPersistence", "--silent", "--disableTelemetry", "--skipApiVersionCheck")
	s.command.Env = []string{"AZURITE_ACCOUNTS=" + Account + ":" + s.Key}
	stdout, err := s.command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	var stderr strings.Builder
	s.command.Stderr = &stderr
	if err := s.command.Start(); err != nil {
		return nil, fmt.Errorf("start Azurite: %w", err)
	}
	s.exited = make(chan struct{})
	addresses := make(chan string, 1)
	go func() {
		lines := bufio.NewScanner(stdout)
		for lines.Scan() {
			if _, address, found := strings.Cut(lines.Text(), " listens on http://"); found {
				addresses <- address
				break
			}
		}
		_, _ = io.Copy(io.Discard, stdout) // It says nothing more.
		_ = s.command.Wait()               // Stop kills it.
		close(s.exited)
	}()
	select {
	case s.address = <-addresses:
		s.Endpoint = "http://" + s.address + "/" + Account
		return s, nil
	case <-s.exited:
		return nil, fmt.Errorf("start Azurite: the process ended: %s", strings.TrimSpace(stderr.String()))
	case <-ctx.Done():
		err = ctx.Err()
	case <-time.After(patience):
		err = errors.New("it does not listen")
	}
	s.Stop()
	return nil, fmt.Errorf("start Azurite: %w", err)
}

// Stop ends the server.
func (s *Server) Stop() {
	_ = s.command.Process.Kill() // It may have ended.
	<-s.exited
}

// ConnectionString returns a value for AZURE_STORAGE_CONNECTION_STRING.
func (s *Server) ConnectionString() string {
	return "DefaultEndpointsProtocol=http;AccountName=" + Account + ";AccountKey=" + s.Key + ";BlobEndpoint=" + s.Endpoint + ";"
}

// Client returns a client of a container, for changes that a store does not know of.
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

// Staged returns the names of the blobs of a container that hold uncommitted blocks of more than the byte or two that
// replace the content of a dropped block.
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
				if strings.HasSuffix(string(id), fmt.Sprintf(".%010d", *block.Size)) { // It was not dropped.
					names = append(names, *item.Name)
					break
				}
			}
		}
	}
	return names
}

// Expire removes the uncommitted blocks of a blob, as the service does after a week. Put Blob would do so too, but the
// emulator keeps them then.
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

// Signature returns a shared access signature for a container that ends at a time.
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
