package azure

import (
	"context"
	"fmt"
	"io"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blockblob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"

	"example.org/growthexport/internal/sink"
	"example.org/growthexport/internal/sink/remote"
)

// Store is a destination on Azure.
type Store struct {
	remote.NoLocks

	opts     Options
	prefix   string // empty, or ends in a slash
	endpoint string // for messages; empty unless Options.Endpoint is set
	access   access
	client   *container.Client
	// uploading holds a token for each block that is being uploaded.
	uploading chan struct{}
	// own maps ids to paths, for the files that this Store has begun to stage and has neither committed nor dropped.
	own sync.Map
	// lost is set once a staged file is found to be lost, because further files may be lost too. See Intact.
	lost atomic.Bool
	// listing records whether the service lists blobs that have only uncommitted blocks.
	listing remote.Answer
}

var (
	_ sink.Store      = (*Store)(nil)
	_ sink.PathLister = (*Store)(nil)
	_ sink.Encrypter  = (*Store)(nil)
)

// New returns the store that the options describe. It does not send a request to the service.
func New(opts Options) (*Store, error) {
	opts.Prefix = strings.TrimSuffix(opts.Prefix, "/")
	if err := opts.check(); err != nil {
		return nil, err
	}
	s := &Store{opts: opts, uploading: opts.Limit()}
	if opts.Prefix != "" {
		s.prefix = opts.Prefix + "/"
	}
	if err := s.connect(); err != nil {
		return nil, fmt.Errorf("open destination %s: %w", s, err)
	}
	remote.WarnIfPlain(opts.Log, s.endpoint)
	return s, nil
}

// String returns the destination's URL in the form that ParseURL parses.
func (s *Store) String() string { return s.opts.String() }

// Info describes how readers access the container, and the permissions that a run needs. DuckDB can use an endpoint
// other than the default only with az:// and a connection string. In that string, the user has to replace the
// placeholder with the key or the signature.
func (s *Store) Info() sink.Info {
	info := sink.Info{URL: s.String(), HadoopURL: s.String(), Permissions: roles, PlainEndpoint: remote.Plain(s.endpoint)}
	account := s.opts.account()
	credential, place := "AccountKey=KEY", "EndpointSuffix="+strings.TrimPrefix(s.opts.Host, account+".dfs.")
	if s.access.sas != "" {
		credential = "SharedAccessSignature=SIGNATURE"
	}
	own := s.access.endpoint == "https://"+strings.Replace(s.opts.Host, ".dfs.", ".blob.", 1)
	if !own {
		info.URL = strings.TrimSuffix("az://"+s.opts.Container+"/"+s.opts.Prefix, "/")
		place = "BlobEndpoint=" + strings.ReplaceAll(s.access.endpoint, "'", "''")
	}
	secret := "PROVIDER credential_chain, ACCOUNT_NAME '" + account + "'"
	if !own || s.access.key != "" || s.access.sas != "" {
		secret = "CONNECTION_STRING 'AccountName=" + account + ";" + credential + ";" + place + "'"
	}
	info.Session = "INSTALL azure; LOAD azure; CREATE SECRET (TYPE azure, " + secret + ");"
	return info
}

// roles describes the permissions that the user needs.
const roles = "the role Storage Blob Data Contributor on the container, or with a shared access signature " +
	"read, add, create, write, delete and list"

// Draft starts a file in the scratch folder. Stage uploads the file as uncommitted blocks.
func (s *Store) Draft(ctx context.Context, _ /* owner */, path string) (sink.Draft, error) {
	if err := remote.Ready(ctx, path); err != nil {
		return nil, err
	}
	return remote.NewDraft(s.opts.Scratch, path, func(ctx context.Context, file io.ReaderAt, size int64) ([]byte, error) {
		return s.upload(ctx, path, file, size)
	})
}

// CheckCommit does nothing, because blocks are committed at the path to which they were uploaded.
func (s *Store) CheckCommit(ctx context.Context, _ string, _ []string) error { return ctx.Err() }

// blob returns the client of the blob at a path.
func (s *Store) blob(path string) *blockblob.Client {
	return s.client.NewBlockBlobClient(s.prefix + path)
}
