package rows

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"

	"example.org/growthexport/schemas"
)

// The format of a batch in a scratch file, all numbers little-endian:
//   - the number of rows (8 bytes)
//   - the length of Order plus one, or 0 if it is nil (8 bytes), and Order
//   - for each column Present, unless the column is required, and the values. The values of a text column are
//     the number of texts plus one if the column is coded, otherwise 0 (8 bytes); Code, if the column is coded; End;
//     and Data.
//
// All other lengths follow from these. The format has no version, because files are read by the same version of the
// program.

// chunkBytes is the size of the buffer in which numbers are converted.
const chunkBytes = 1 << 14

var errSpill = errors.New("the data is not a batch of this table")

// WriteTo writes the batch, including Order and dropped rows. A batch of the same table can read it with ReadFrom.
func (b *Batch) WriteTo(w io.Writer) (int64, error) {
	s := &spiller{w: w}
	order := 0
	if b.Order != nil {
		order = len(b.Order) + 1
	}
	s.write(binary.LittleEndian.AppendUint64(s.chunk[:0], uint64(b.N)))
	s.write(binary.LittleEndian.AppendUint64(s.chunk[:0], uint64(order)))
	writeNumbers(s, b.Order, 4, putInt32)
	for i := range b.Cols {
		v := &b.Cols[i]
		s.write(v.Present)
		switch v.Type {
		case schemas.Int32, schemas.Date:
			writeNumbers(s, v.I32, 4, putInt32)
		case schemas.Int64, schemas.Timestamp:
			writeNumbers(s, v.I64, 8, func(p []byte, x int64) { binary.LittleEndian.PutUint64(p, uint64(x)) })
		case schemas.Double:
			writeNumbers(s, v.F64, 8, func(p []byte, x float64) { binary.LittleEndian.PutUint64(p, math.Float64bits(x)) })
		case schemas.Boolean:
			s.write(v.Bool)
		case schemas.String, schemas.JSON:
			texts := 0
			if v.Coded {
				texts = len(v.End) + 1
			}
			s.write(binary.LittleEndian.AppendUint64(s.chunk[:0], uint64(texts)))
			writeNumbers(s, v.Code, 4, putInt32)
			writeNumbers(s, v.End, 4, binary.LittleEndian.PutUint32)
			s.write(v.Data)
		}
	}
	return s.n, s.err
}

// ReadFrom replaces the batch with the next batch that WriteTo wrote to r. Unlike other implementations of
// io.ReaderFrom, it stops after that batch, so a file can hold several batches. After an error the batch is empty.
func (b *Batch) ReadFrom(r io.Reader) (int64, error) {
	b.Reset()
	s := &spillReader{r: r}
	n, order := s.length(math.MaxInt32), s.length(math.MaxInt32+1)
	if order > 0 {
		b.Order = readNumbers(s, []int32{}, order-1, 4, getInt32)
		for _, row := range b.Order {
			if row < 0 || int(row) >= n {
				s.fail(errSpill)
			}
		}
	}
	for i := range b.Cols {
		v := &b.Cols[i]
		if !v.Required {
			v.Present = s.bytes(v.Present, n)
		}
		switch v.Type {
		case schemas.Int32, schemas.Date:
			v.I32 = readNumbers(s, v.I32, n, 4, getInt32)
		case schemas.Int64, schemas.Timestamp:
			v.I64 = readNumbers(s, v.I64, n, 8, func(p []byte) int64 { return int64(binary.LittleEndian.Uint64(p)) })
		case schemas.Double:
			v.F64 = readNumbers(s, v.F64, n, 8, func(p []byte) float64 { return math.Float64frombits(binary.LittleEndian.Uint64(p)) })
		case schemas.Boolean:
			v.Bool = s.bytes(v.Bool, n)
		case schemas.String, schemas.JSON:
			texts := n
			if coded := s.length(math.MaxInt32 + 1); coded > 0 {
				texts = coded - 1
				v.Coded = true
				v.Code = readNumbers(s, v.Code, n, 4, getInt32)
				if len(v.Code) > 0 && (slices.Min(v.Code) < 0 || int(slices.Max(v.Code)) >= texts) {
					s.fail(errSpill)
				}
			}
			v.End = readNumbers(s, v.End, texts, 4, binary.LittleEndian.Uint32)
			if !slices.IsSorted(v.End) {
				s.fail(errSpill)
			}
			if len(v.End) > 0 {
				v.Data = s.bytes(v.Data, int(v.End[len(v.End)-1]))
			}
		}
	}
	if s.err != nil {
		for i := range b.Cols {
			v := &b.Cols[i]
			*v = Vector{Type: v.Type, Required: v.Required}
		}
		b.Order = nil
		return s.n, s.err
	}
	b.N = n
	return s.n, nil
}

// spiller writes until the first error and counts the bytes.
type spiller struct {
	w     io.Writer
	n     int64
	err   error
	chunk [chunkBytes]byte
}

func (s *spiller) write(p []byte) {
	if s.err != nil || len(p) == 0 {
		return
	}
	n, err := s.w.Write(p)
	s.n += int64(n)
	if err != nil {
		s.err = fmt.Errorf("write a batch: %w", err)
	}
}

func putInt32(p []byte, x int32) { binary.LittleEndian.PutUint32(p, uint32(x)) }

func writeNumbers[T any](s *spiller, numbers []T, width int, put func([]byte, T)) {
	for part := range slices.Chunk(numbers, chunkBytes/width) {
		for i, x := range part {
			put(s.chunk[i*width:(i+1)*width], x)
		}
		s.write(s.chunk[:len(part)*width])
	}
}

// spillReader reads until the first error and counts the bytes.
type spillReader struct {
	r     io.Reader
	n     int64
	err   error
	chunk [chunkBytes]byte
}

func (s *spillReader) fail(err error) {
	if s.err == nil {
		s.err = fmt.Errorf("read a batch: %w", err)
	}
}

func (s *spillReader) read(p []byte) {
	if s.err != nil || len(p) == 0 {
		return
	}
	n, err := io.ReadFull(s.r, p)
	s.n += int64(n)
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		s.fail(err)
	}
}

// length reads a length of at most limit.
func (s *spillReader) length(limit uint64) int {
	s.read(s.chunk[:8])
	n := binary.LittleEndian.Uint64(s.chunk[:])
	if n > limit {
		s.fail(errSpill)
	}
	if s.err != nil {
		return 0
	}
	return int(n)
}

// bytes appends the next n bytes to to. It allocates as bytes arrive, so that a wrong length cannot exhaust the memory.
func (s *spillReader) bytes(to []byte, n int) []byte {
	for n > 0 && s.err == nil {
		part := min(n, max(chunkBytes, len(to)))
		to = slices.Grow(to, part)
		s.read(to[len(to) : len(to)+part])
		to = to[:len(to)+part]
		n -= part
	}
	return to
}

func getInt32(p []byte) int32 { return int32(binary.LittleEndian.Uint32(p)) }

func readNumbers[T any](s *spillReader, to []T, n, width int, get func([]byte) T) []T {
	for n > 0 && s.err == nil {
		part := min(n, chunkBytes/width)
		s.read(s.chunk[:part*width])
		to = slices.Grow(to, part)
		for i := range part {
			to = append(to, get(s.chunk[i*width:(i+1)*width]))
		}
		n -= part
	}
	return to
}
