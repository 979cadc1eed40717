package history

import (
	"bufio"
	"context"
	"errors"
	"io"

	"example.org/growthexport/internal/rows"
	"example.org/growthexport/internal/sink"
)

// rowDraft stores batches of rows unchanged, in a draft that is dropped after use.
type rowDraft struct {
	draft sink.Draft
	out   *bufio.Writer
	in    *bufio.Reader
	size  int64 // bytes written
}

// draftBuffer is the size, in bytes, of the buffers of a rowDraft.
const draftBuffer = 64 << 10

func (f *fileMaker) draft(ctx context.Context, path string) (*rowDraft, error) {
	draft, err := f.catalog.Draft(ctx, f.id, path)
	if err != nil {
		return nil, err
	}
	return &rowDraft{draft: draft, out: bufio.NewWriterSize(draft, draftBuffer), in: bufio.NewReaderSize(nil, draftBuffer)}, nil
}

func (d *rowDraft) write(b *rows.Batch) error {
	n, err := b.WriteTo(d.out)
	d.size += n
	return err
}

// finish ends writing. The rows can be read only after that.
func (d *rowDraft) finish() error {
	if err := d.out.Flush(); err != nil {
		return err
	}
	_, err := d.draft.Finish()
	return err
}

// seek makes read begin at the offset, and end after n bytes.
func (d *rowDraft) seek(offset, n int64) { d.in.Reset(io.NewSectionReader(d.draft, offset, n)) }

// read reads the next batch into b. It returns io.EOF at the end.
func (d *rowDraft) read(b *rows.Batch) error {
	if _, err := d.in.Peek(1); err != nil {
		return err
	}
	_, err := b.ReadFrom(d.in)
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF // the batch was cut short
	}
	return err
}
