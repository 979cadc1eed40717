package parquetfile

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/encoding/delta"
	"github.com/parquet-go/parquet-go/encoding/rle"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"

	"example.org/growthexport/internal/rows"
	"example.org/growthexport/schemas"
)

// chunkReader reads the chunks of a column page by page. It reuses its memory, unlike the library's reader, which
// allocates every page and dictionary.
type chunkReader struct {
	*pageBuffers

	in    *bufio.Reader // the rest of the chunk
	left  int64         // upper bound of the bytes of the chunk that have not been read from in yet
	codec format.CompressionCodec
	// page is the data page that fetch has read, and first the dictionary page before it, until readPage decodes them.
	page, first rawPage
	spare       []byte // the memory of an earlier dictionary page, reused for a data page
	fetched     bool   // fetch has read a data page
	begins      bool   // fetch has also read a dictionary page
	failure     error  // the error of fetch
	// The dictionary of the chunk is in one of these fields, depending on the column's type.
	hasDictionary bool
	texts         textDictionary
	i32           []int32
	i64           []int64
	f64           []float64
}

// rawPage is a page after decompression.
type rawPage struct {
	header pageHeader
	raw    []byte
}

// pageBuffers hold a page while it is decoded. The columns of a Reader share them.
type pageBuffers struct {
	packed  []byte // a page before decompression; only for fetch
	levels  []byte
	codes   []int32
	ends    []uint32
	text    []byte
	own32   []int32
	own64   []int64
	doubles []float64
	other   rows.Vector
}

// open starts reading a chunk.
func (c *chunkReader) open(file io.ReaderAt, meta *format.ColumnMetaData) {
	first := meta.DataPageOffset
	if meta.DictionaryPageOffset != 0 {
		first = meta.DictionaryPageOffset
	}
	section := io.NewSectionReader(file, first, meta.TotalCompressedSize)
	if size := int(min(readBuffer, meta.TotalCompressedSize)); c.in == nil || c.in.Size() < size {
		c.in = bufio.NewReaderSize(section, size)
	} else {
		c.in.Reset(section)
	}
	c.left, c.codec, c.hasDictionary = meta.TotalCompressedSize, meta.Codec, false
	c.fetched, c.begins, c.failure = false, false, nil
}

// fetch reads and decompresses the next data page, and the dictionary page before it, if there is one. readPage decodes
// them.
func (c *chunkReader) fetch() {
	c.fetched = true
	c.failure = c.next(&c.page)
	if c.failure == nil && c.page.header.Type == format.DictionaryPage {
		before := c.first.raw
		c.begins, c.first, c.page.raw, c.spare = true, c.page, c.spare, before
		c.failure = c.next(&c.page)
	}
}

// next reads and decompresses the next page.
func (c *chunkReader) next(p *rawPage) (err error) {
	p.header = pageHeader{}
	header := &p.header
	if err := thrift.NewDecoder(new(thrift.CompactProtocol).NewReader(c.in)).Decode(header); err != nil {
		return fmt.Errorf("decode page header: %w", err)
	}
	if n := int64(header.CompressedPageSize); n < 0 || n > c.left {
		return errUneven
	}
	c.left -= int64(header.CompressedPageSize)
	c.packed = resize(c.packed, int(header.CompressedPageSize))
	if _, err := io.ReadFull(c.in, c.packed); err != nil {
		return fmt.Errorf("read page: %w", err)
	}
	switch c.codec {
	case format.Uncompressed:
		c.packed, p.raw = p.raw, c.packed
	case format.Zstd:
		if p.raw, err = parquet.Zstd.Decode(p.raw, c.packed); err != nil {
			return fmt.Errorf("decompress page: %w", err)
		}
	default:
		return fmt.Errorf("a page is compressed with %s, which is not supported", c.codec)
	}
	if len(p.raw) != int(header.UncompressedPageSize) {
		return errUneven
	}
	return nil
}

// readPage appends the values of the next data page to a column and returns their number. It returns an error if there
// are more than limit values. If coded is true, texts of a dictionary are appended as codes.
func (c *chunkReader) readPage(v *rows.Vector, coded bool, limit int64) (int, error) {
	unshare(v) // the dictionary may change
	if !c.fetched {
		c.fetch()
	}
	c.fetched = false
	if c.failure != nil {
		return 0, c.failure
	}
	var err error
	if c.begins {
		c.begins = false
		if err := c.readDictionary(v.Type); err != nil {
			return 0, err
		}
	}
	data := c.page.header.DataPageHeader.V
	n := int(data.NumValues)
	if c.page.header.Type != format.DataPage || n < 0 || int64(n) > limit {
		return 0, errUneven
	}
	src, levels, values := c.page.raw, []byte(nil), n
	if !v.Required {
		if src, err = c.readLevels(src, n); err != nil {
			return 0, err
		}
		levels = c.levels
		values = bytes.Count(levels, []byte{1})
	}
	if data.Encoding == format.RLEDictionary {
		err = c.appendIndexed(v, coded, src, levels, n, values)
	} else {
		err = c.appendDirect(v, data.Encoding, src, levels, n, values)
	}
	if err == nil && !v.Required {
		v.Present = append(v.Present, levels...)
	}
	return n, err
}

// readDictionary decodes the dictionary page.
func (c *chunkReader) readDictionary(t schemas.Type) error {
	n, width, raw := int(c.first.header.DictionaryPageHeader.V.NumValues), 0, c.first.raw
	c.hasDictionary = true
	switch t {
	case schemas.String, schemas.JSON:
		return c.texts.set(raw, n)
	case schemas.Int32, schemas.Date:
		width, c.i32 = 4, decodePlain(c.i32, raw, 4)
	case schemas.Int64, schemas.Timestamp:
		width, c.i64 = 8, decodePlain(c.i64, raw, 8)
	case schemas.Double:
		width, c.f64 = 8, decodePlain(c.f64, raw, 8)
	case schemas.Boolean:
		return errors.New("a column of booleans has a dictionary")
	}
	if n < 0 || len(raw) != n*width {
		return errUneven
	}
	return nil
}

// readLevels decodes the definition levels of n rows into c.levels and returns the rest of the page.
func (c *chunkReader) readLevels(src []byte, n int) (rest []byte, err error) {
	if len(src) < 4 || uint64(binary.LittleEndian.Uint32(src)) > uint64(len(src)-4) {
		return nil, errUneven
	}
	end := 4 + int(binary.LittleEndian.Uint32(src))
	levels, rest := src[4:end], src[end:]
	if run, size := binary.Uvarint(levels); size > 0 && run == uint64(n)<<1 && size+1 == len(levels) { // all are equal
		c.levels = resize(c.levels, n)
		for i := range c.levels {
			c.levels[i] = levels[size]
		}
	} else if c.levels, err = (&rle.Encoding{BitWidth: 1}).DecodeLevels(c.levels, levels); err != nil {
		return nil, fmt.Errorf("decode definition levels: %w", err)
	}
	if len(c.levels) < n {
		return nil, errUneven
	}
	c.levels = c.levels[:n]
	if bytes.Count(c.levels, []byte{0})+bytes.Count(c.levels, []byte{1}) != n {
		return nil, errUneven
	}
	return rest, nil
}

// appendIndexed appends n rows of a page whose values are indexes of the dictionary.
func (c *chunkReader) appendIndexed(v *rows.Vector, coded bool, src, levels []byte, n, values int) (err error) {
	if c.codes, err = new(rle.DictionaryEncoding).DecodeInt32(c.codes, src); err != nil {
		return fmt.Errorf("decode indexes: %w", err)
	}
	if !c.hasDictionary || len(c.codes) < values {
		return errUneven
	}
	indexes := c.codes[:values]
	switch v.Type {
	case schemas.Int32, schemas.Date:
		v.I32, err = lookUp(v.I32, c.i32, indexes, levels, n)
	case schemas.Int64, schemas.Timestamp:
		v.I64, err = lookUp(v.I64, c.i64, indexes, levels, n)
	case schemas.Double:
		v.F64, err = lookUp(v.F64, c.f64, indexes, levels, n)
	case schemas.String, schemas.JSON:
		if coded {
			return c.texts.appendPage(v, indexes, levels, n)
		}
		err = c.texts.lookUp(v, indexes, levels, n)
	case schemas.Boolean:
		err = errUneven
	}
	return err
}

// appendDirect appends n rows of a page that does not use a dictionary.
func (c *chunkReader) appendDirect(v *rows.Vector, encoding format.Encoding, src, levels []byte, n, values int) (err error) {
	switch {
	case v.IsText():
		return c.appendTexts(v, encoding, src, levels, n)
	case v.Type == schemas.Boolean && encoding == format.Plain:
		v.Bool, err = spreadBits(v.Bool, src, levels, n)
	case v.Type == schemas.Double && encoding == format.Plain:
		c.doubles = decodePlain(c.doubles, src, 8)
		v.F64, err = spread(v.F64, c.doubles, levels, n)
	case values == 0 && encoding == format.Plain && len(src) == 0:
		v.I32, v.I64, err = spreadNulls(v, n)
	case encoding != format.DeltaBinaryPacked:
		err = fmt.Errorf("the values are encoded as %s, which is not supported", encoding)
	case v.Type == schemas.Int32 || v.Type == schemas.Date:
		if c.own32, err = new(delta.BinaryPackedEncoding).DecodeInt32(c.own32, src); err == nil {
			v.I32, err = spread(v.I32, c.own32, levels, n)
		}
	default:
		if c.own64, err = new(delta.BinaryPackedEncoding).DecodeInt64(c.own64, src); err == nil {
			v.I64, err = spread(v.I64, c.own64, levels, n)
		}
	}
	return err
}

// spreadNulls returns the numbers of a vector, extended by n nulls. It returns errUneven if the column is required and
// n is not 0.
func spreadNulls(v *rows.Vector, n int) ([]int32, []int64, error) {
	if v.Required && n > 0 {
		return v.I32, v.I64, errUneven
	}
	if v.Type == schemas.Int32 || v.Type == schemas.Date {
		return append(v.I32, make([]int32, n)...), v.I64, nil
	}
	return v.I32, append(v.I64, make([]int64, n)...), nil
}

// appendTexts appends n rows of a page of texts.
func (c *chunkReader) appendTexts(v *rows.Vector, encoding format.Encoding, src, levels []byte, n int) (err error) {
	to := v
	if v.Coded {
		to = &c.other
		*to = rows.Vector{Type: v.Type, Required: v.Required, Data: to.Data[:0], End: to.End[:0], Present: to.Present[:0]}
	}
	switch encoding {
	case format.DeltaLengthByteArray:
		c.text, c.ends, err = new(delta.LengthByteArrayEncoding).DecodeByteArray(c.text, src, c.ends)
	case format.Plain: // a page of nulls
		c.ends = append(c.ends[:0], 0)
		c.text = c.text[:0]
	default:
		err = fmt.Errorf("the texts are encoded as %s, which is not supported", encoding)
	}
	if err == nil {
		err = spreadTexts(to, c.text, c.ends, levels, n)
	}
	if err == nil && to != v {
		present := v.Present
		to.Present = append(to.Present, levels...)
		v.AppendRange(to, 0, n)
		v.Present = present // readPage appends the levels
	}
	return err
}

// decodePlain replaces the contents of dst with the numbers of a PLAIN page. An incomplete number at the end is
// ignored.
func decodePlain[T int32 | int64 | float64](dst []T, src []byte, width int) []T {
	dst = resize(dst, len(src)/width)
	_, _ = binary.Decode(src, binary.LittleEndian, dst) // src is long enough
	return dst
}
