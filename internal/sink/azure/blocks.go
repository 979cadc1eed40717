package azure

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc64"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/streaming"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blockblob"
	"golang.org/x/sync/errgroup"

	"example.org/growthexport/internal/sink"
	"example.org/growthexport/internal/sink/remote"
)

const (
	// minBlock is the size of a file's blocks in bytes, unless the file would then have more than maxBlocks blocks, the
	// limit of the service. Sizes above minBlock are multiples of blockStep.
	minBlock  = 8 << 20
	maxBlocks = 50_000
	blockStep = 1 << 20
)

// stagedBlocks is the File.Staged of a Store: the blocks of a staged file.
type stagedBlocks struct {
	// ID is part of the id of every block, and is in the metadata of the blob once the blocks are committed.
	ID        string `json:"id"`
	Begun     int64  `json:"begun"` // Unix time in seconds
	Bytes     int64  `json:"bytes"`
	BlockSize int64  `json:"block_size"`
}

// decodeStaged decodes file.Staged. It returns the zero value if file.Staged is nil, and sink.ErrDamaged if it is not
// valid.
func decodeStaged(file sink.File) (token stagedBlocks, err error) {
	if file.Staged == nil {
		return token, nil
	}
	if err := json.Unmarshal(file.Staged, &token); err != nil {
		return token, fmt.Errorf("read the blocks of %s: %w: %w", file.Path, sink.ErrDamaged, err)
	}
	if token.ID == "" || token.Bytes < 0 || token.BlockSize <= 0 {
		return token, fmt.Errorf("read the blocks of %s: %w", file.Path, sink.ErrDamaged)
	}
	return token, nil
}

// blockSizeOf returns the size of the blocks of a file. The last block may be smaller.
func blockSizeOf(size int64) int64 {
	needed := (size + maxBlocks - 1) / maxBlocks
	return max(minBlock, (needed+blockStep-1)/blockStep*blockStep)
}

// blocks returns the blocks of the file in order. An empty file is staged as a block of one byte, which is not
// committed.
func (t *stagedBlocks) blocks() []block {
	blocks := make([]block, max(1, (t.Bytes+t.BlockSize-1)/t.BlockSize))
	for i := range blocks {
		blocks[i] = block{t.ID, t.Begun, i, max(1, min(t.BlockSize, t.Bytes-int64(i)*t.BlockSize))}
	}
	return blocks
}

// block identifies a block. Its fields are the parts of the block's id.
type block struct {
	upload string
	begun  int64
	number int
	size   int64
}

// blockFormat is the format of a block's id. All ids have the same length, which the service requires for the blocks of
// a path.
const blockFormat = "%s.%010d.%05d.%010d"

// id returns the id of the block.
func (b block) id() string {
	return base64.StdEncoding.EncodeToString(fmt.Appendf(nil, blockFormat, b.upload, b.begun, b.number, b.size))
}

// parseBlock parses the id of a block. It returns false if another program made the id.
func parseBlock(id string) (b block, ok bool) {
	text, err := base64.StdEncoding.DecodeString(id)
	parts := strings.Split(string(text), ".")
	if err != nil || len(parts) != 4 {
		return b, false
	}
	b.upload = parts[0]
	b.begun, err = strconv.ParseInt(parts[1], 10, 64)
	number, err2 := strconv.Atoi(parts[2])
	size, err3 := strconv.ParseInt(parts[3], 10, 64)
	b.number, b.size = number, size
	return b, errors.Join(err, err2, err3) == nil && b.id() == id
}

// crcTable is the table of the variant of CRC-64 that the service uses.
var crcTable = crc64.MakeTable(0x9A6C9329AC4BC9B5)

// upload uploads the blocks of a file and returns File.Staged. If it fails or is cancelled, it drops the blocks.
func (s *Store) upload(ctx context.Context, path string, file io.ReaderAt, size int64) (_ []byte, err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	token := stagedBlocks{ID: rand.Text(), Begun: time.Now().Unix(), Bytes: size, BlockSize: blockSizeOf(size)}
	s.own.Store(token.ID, path)
	defer func() {
		if err != nil {
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), remote.CleanUpPatience)
			defer cancel()
			_ = s.drop(ctx, path, token.ID) // If this fails too, the next Sweep drops the blocks.
		}
	}()
	if err := s.uploadBlocks(ctx, path, file, &token); err != nil {
		return nil, s.failed("upload", path, err)
	}
	text, err := json.Marshal(token)
	if err != nil {
		return nil, fmt.Errorf("encode the blocks of %s: %w", path, err)
	}
	return text, nil
}

// uploadBlocks uploads the blocks concurrently. The blocks of all files together are subject to the limit of
// s.uploading.
func (s *Store) uploadBlocks(ctx context.Context, path string, file io.ReaderAt, token *stagedBlocks) error {
	group, ctx := errgroup.WithContext(ctx)
	for i, b := range token.blocks() {
		select {
		case s.uploading <- struct{}{}:
		case <-ctx.Done():
			return errors.Join(group.Wait(), context.Cause(ctx))
		}
		group.Go(func() error {
			defer func() { <-s.uploading }()
			if token.Bytes == 0 {
				return s.overwrite(ctx, path, b, b.size)
			}
			return s.uploadBlock(ctx, path, b, io.NewSectionReader(file, int64(i)*token.BlockSize, b.size))
		})
	}
	return group.Wait()
}

// uploadBlock uploads a block with its checksum, which the service verifies.
func (s *Store) uploadBlock(ctx context.Context, path string, b block, content io.ReadSeeker) error {
	sum := crc64.New(crcTable)
	_, err := io.Copy(sum, content)
	if err == nil {
		_, err = content.Seek(0, io.SeekStart)
	}
	if err != nil {
		return fmt.Errorf("read the scratch file: %w", err)
	}
	_, err = s.blob(path).StageBlock(ctx, b.id(), streaming.NopCloser(content), &blockblob.StageBlockOptions{
		TransactionalValidation: blob.TransferValidationTypeCRC64(sum.Sum64()),
	})
	return err
}

// overwrite replaces the content of block b with meaningless bytes.
func (s *Store) overwrite(ctx context.Context, path string, b block, bytes int64) error {
	return s.uploadBlock(ctx, path, b, strings.NewReader(strings.Repeat("-", int(bytes))))
}

// staged returns the set of blocks that this program uploaded to a path and that have been neither committed nor
// dropped.
func (s *Store) staged(ctx context.Context, path string) (map[block]bool, error) {
	list, err := s.blob(path).GetBlockList(ctx, blockblob.BlockListTypeUncommitted, nil)
	if err != nil && !noBlob(err) {
		return nil, s.failed("list the blocks of", path, err)
	}
	found := make(map[block]bool)
	for _, listed := range list.UncommittedBlocks {
		if listed.Name == nil || listed.Size == nil {
			continue
		}
		if b, ours := parseBlock(*listed.Name); ours && b.size == *listed.Size {
			found[b] = true
		}
	}
	return found, nil
}

// holds reports whether all blocks of a token are staged.
func (s *Store) holds(ctx context.Context, path string, token *stagedBlocks) (bool, error) {
	found, err := s.staged(ctx, path)
	if err != nil {
		return false, err
	}
	for _, b := range token.blocks() {
		if !found[b] {
			return false, nil
		}
	}
	return true, nil
}

// drop drops the staged blocks of an upload at a path.
func (s *Store) drop(ctx context.Context, path, upload string) error {
	err := s.dropBlocks(ctx, path, func(b block) bool { return b.upload == upload })
	if err == nil {
		s.own.Delete(upload)
	}
	return err
}

// dropBlocks drops the staged blocks at a path for which match returns true. It overwrites them as the package comment
// describes.
func (s *Store) dropBlocks(ctx context.Context, path string, match func(block) bool) error {
	found, err := s.staged(ctx, path)
	if err != nil {
		return err
	}
	for b := range found {
		if !match(b) {
			continue
		}
		filler := int64(1)
		if b.size == filler {
			filler++
		}
		if err := s.overwrite(ctx, path, b, filler); err != nil {
			return s.failed("drop the blocks of", path, err)
		}
	}
	return nil
}
