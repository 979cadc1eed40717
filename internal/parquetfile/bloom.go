package parquetfile

import (
	"bytes"
	"fmt"
	"math/bits"

	"github.com/parquet-go/parquet-go/bloom"
	"github.com/parquet-go/parquet-go/bloom/xxhash"
	"github.com/parquet-go/parquet-go/format"
)

// maxBloomFill is the share of set bits, in percent, up to which fold makes a filter smaller. It corresponds to 8 bits
// for each distinct value, with which 2.5 % of all absent values pass the filter.
const maxBloomFill = 64

// bloomFilter is the split block Bloom filter of a column chunk. It has at least 8 bits for each row of a full row
// group until it is folded. Its size is a power of two, which some readers require.
type bloomFilter struct {
	blocks bloom.SplitBlockFilter
	used   bool
}

// setRows sets the size of an empty filter for a chunk of at most that many rows.
func (f *bloomFilter) setRows(rows int) {
	blocks := 1
	for blocks*bloom.BlockSize < rows {
		blocks *= 2
	}
	if len(f.blocks) != blocks {
		f.blocks = make(bloom.SplitBlockFilter, blocks)
	}
}

func (f *bloomFilter) reset() {
	if f.used {
		f.blocks.Reset()
		f.used = false
	}
}

// addToBloom adds the texts that start at index from to the column's filter, if the column has one. The texts are end
// to end in data.
func (c *column) addToBloom(data []byte, ends []uint32, from int) {
	if !c.def.HasBloomFilter() || c.lean {
		return
	}
	var start uint32
	if from > 0 {
		start = ends[from-1]
	}
	for _, end := range ends[from:] {
		c.bloom.blocks.Insert(xxhash.Sum64(data[start:end]))
		start, c.bloom.used = end, true
	}
}

// fold returns the filter in the smallest size that is not too full. The size depends only on the set of values, not on
// their number or order. The filter must be reset afterwards.
func (f *bloomFilter) fold() bloom.SplitBlockFilter {
	blocks := f.blocks
	for len(blocks) > 1 {
		half, set := len(blocks)/2, 0
		for i := range half {
			for w := range blocks[i] {
				set += bits.OnesCount32(uint32(blocks[2*i][w] | blocks[2*i+1][w]))
			}
		}
		if 100*set > maxBloomFill*8*bloom.BlockSize*half {
			break
		}
		// The upper bits of a hash select its block, so when the number of blocks is halved, each block replaces two adjacent
		// blocks.
		for i := range half {
			for w := range blocks[i] {
				blocks[i][w] = blocks[2*i][w] | blocks[2*i+1][w]
			}
		}
		blocks = blocks[:half]
	}
	return blocks
}

// appendBloom appends the column's filter with its header to dst.
func (c *column) appendBloom(dst *bytes.Buffer) error {
	filter := c.bloom.fold().Bytes()
	header := format.BloomFilterHeader{
		NumBytes:    int32(len(filter)),
		Algorithm:   format.BloomFilterAlgorithm{Value: new(format.SplitBlockAlgorithm)},
		Hash:        format.BloomFilterHash{Value: new(format.XxHash)},
		Compression: format.BloomFilterCompression{Value: new(format.BloomFilterUncompressed)},
	}
	if err := encodeThrift(dst, &header); err != nil {
		return fmt.Errorf("encode Bloom filter header: %w", err)
	}
	dst.Write(filter)
	return nil
}
