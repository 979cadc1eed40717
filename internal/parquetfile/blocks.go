package parquetfile

// blockBytes is the size of a block of finished pages.
const blockBytes = 16 << 10

// blocks holds bytes in parts. Unlike the bytes of a growing slice, they are never copied.
type blocks struct {
	parts [][]byte
	size  int // the total size of the parts
}

// blockPool holds blocks that are not in use.
type blockPool struct{ spare [][]byte }

// appendTo appends data to b.
func (p *blockPool) appendTo(b *blocks, data []byte) {
	b.size += len(data)
	for len(data) > 0 {
		last := len(b.parts) - 1
		if last < 0 || len(b.parts[last]) == blockBytes {
			b.parts = append(b.parts, p.emptyBlock())
			last++
		}
		part := b.parts[last]
		n := min(blockBytes-len(part), len(data))
		b.parts[last], data = append(part, data[:n]...), data[n:]
	}
}

// emptyBlock returns an empty block, which is a spare block if possible.
func (p *blockPool) emptyBlock() []byte {
	n := len(p.spare) - 1
	if n < 0 {
		return make([]byte, 0, blockBytes)
	}
	block := p.spare[n]
	p.spare = p.spare[:n]
	return block
}

// empty removes the blocks of b and keeps them for reuse.
func (p *blockPool) empty(b *blocks) {
	for _, part := range b.parts {
		p.spare = append(p.spare, part[:0])
	}
	b.parts, b.size = b.parts[:0], 0
}
