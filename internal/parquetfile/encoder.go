package parquetfile

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"github.com/klauspost/compress/zstd"
	"github.com/parquet-go/parquet-go/encoding/rle"
)

// encoder holds the scratch buffers for encoding a page. The columns of a writer share them, because they are encoded
// one after the other.
type encoder struct {
	zstd *zstd.Encoder

	raw    []byte // the page before compression: levels, then values
	values []byte // results of the library's encodings
	packed []byte // the page after compression
	dict   []byte // a dictionary's page
	pool   blockPool
	header bytes.Buffer

	text   []byte   // texts of a coded column
	ends   []uint32 // the ends of texts that are not null
	own    []int32  // codes of a page's texts that are not null
	ints   []int64  // numbers that are not null; doubles by their bits
	ints32 []int32
	codes  []int32
	width  uint8   // bits of a code
	used   []int64 // distinct numbers of a page
}

var errPageTooLarge = errors.New("a page is larger than 2 GiB")

// finishPage sets the sizes in the header and encodes the header into e.header. It compresses e.raw into e.packed or,
// if stored is true, copies e.raw there.
func (e *encoder) finishPage(header *pageHeader, stored bool) error {
	if len(e.raw) > math.MaxInt32 {
		return errPageTooLarge
	}
	if stored {
		e.packed = append(e.packed[:0], e.raw...)
	} else {
		e.packed = e.zstd.EncodeAll(e.raw, e.packed[:0])
	}
	if len(e.packed) > math.MaxInt32 {
		return errPageTooLarge
	}
	header.UncompressedPageSize = int32(len(e.raw))
	header.CompressedPageSize = int32(len(e.packed))
	e.header.Reset()
	if err := encodeThrift(&e.header, header); err != nil {
		return fmt.Errorf("encode page header: %w", err)
	}
	return nil
}

// levels appends the length and the definition levels of an optional column to e.raw.
func (e *encoder) levels(present []byte, nulls int) error {
	at := len(e.raw)
	e.raw = append(e.raw, 0, 0, 0, 0)
	switch nulls {
	case 0:
		e.raw = append(binary.AppendUvarint(e.raw, uint64(len(present))<<1), 1)
	case len(present):
		e.raw = append(binary.AppendUvarint(e.raw, uint64(len(present))<<1), 0)
	default:
		runs := rle.Encoding{BitWidth: 1}
		var err error
		if e.values, err = runs.EncodeLevels(e.values, present); err != nil {
			return fmt.Errorf("encode definition levels: %w", err)
		}
		e.raw = append(e.raw, e.values...)
	}
	binary.LittleEndian.PutUint32(e.raw[at:], uint32(len(e.raw)-at-4))
	return nil
}

// encodeCodes encodes e.codes, which the dictionary has just returned, as RLE_DICTIONARY into e.values, without the
// first byte, which is e.width. The library's RLE_DICTIONARY would search the codes for the largest code.
func (e *encoder) encodeCodes(d *dictionary) error {
	e.width = d.usedWidth()
	e.values = e.values[:0]
	runs := rle.Encoding{BitWidth: int(e.width)}
	for rest := e.codes; ; {
		n := sameOnEveryCPU(rest)
		values, err := runs.EncodeInt32(e.values[len(e.values):], rest[:n])
		if err != nil {
			return fmt.Errorf("encode dictionary codes: %w", err)
		}
		e.values = append(e.values, values...)
		if rest = rest[n:]; len(rest) == 0 {
			return nil
		}
	}
}

// sameOnEveryCPU returns how many codes may be encoded with one call, so that every CPU writes the same bytes. The
// library's code for AVX2 starts a run at eight codes such as 3 3 3 3 7 7 7 7. Its code for other CPUs does so only at
// the start of a call.
func sameOnEveryCPU(codes []int32) int {
	for i := 8; i+8 <= len(codes); i += 8 {
		c := (*[8]int32)(codes[i:])
		if c[0] != c[4] && c[0] == c[1] && c[1] == c[2] && c[2] == c[3] && c[4] == c[5] && c[5] == c[6] && c[6] == c[7] {
			return i
		}
	}
	return len(codes)
}

// codesSize returns the size of the encoded codes.
func (e *encoder) codesSize() int { return 1 + len(e.values) }

// appendCodes appends the encoded codes to e.raw.
func (e *encoder) appendCodes() { e.raw = append(append(e.raw, e.width), e.values...) }
