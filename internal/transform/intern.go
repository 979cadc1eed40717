package transform

import (
	"encoding/binary"
	"hash/maphash"
	"math/bits"

	"example.org/growthexport/internal/rows"
)

// Text columns are coded until their texts prove to be varied: a text that repeats is held once, and sorting and
// writing the rows only moves its code. A column that is varied stays varied for the decoder's next lists.

// textIndex finds the codes of the texts in a coded column.
type textIndex struct {
	// varied is true if the column is not worth coding.
	varied bool
	seed   uint64
	// slots is an open hash table of 2^n slots: the upper half of a slot is a part of the text's hash, the lower half its
	// code plus one. A free slot is 0.
	slots []uint64
	texts int
	// next holds, for each code, the code of the plain text that last followed it, because many columns repeat a text or a
	// sequence of texts. last is the code that was read last, and expected is next[last]. start and end delimit the text
	// of expected, so that the next text can be compared with it at once.
	next           []int32
	last, expected int32
	start, end     uint32
}

const minSlots = 32

// reset makes an empty column coded, unless it is varied. Code 0 is the code of the empty text and of nulls.
func (x *textIndex) reset(v *rows.Vector) {
	if x.varied {
		return
	}
	if x.slots == nil {
		x.seed = maphash.Bytes(maphash.MakeSeed(), nil)
		x.slots = make([]uint64, minSlots)
	}
	x.slots = x.slots[:minSlots]
	clear(x.slots)
	v.Coded, x.texts = true, 0
	x.next = x.next[:0]
	x.code(v, nil)
	x.expect(v, 0)
}

// read returns the code of the plain text whose opening quote is at pos, and the position after the text. It adds the
// text if it is new. For any other value, end is failed.
func (x *textIndex) read(v *rows.Vector, b []byte, pos int) (code int32, end int) {
	text := v.Data[x.start:x.end]
	if end = pos + 1 + len(text); end < len(b) && b[pos] == '"' && b[end] == '"' && string(b[pos+1:end]) == string(text) {
		if code = x.expected; code != x.last {
			x.expect(v, code)
		}
		return code, end + 1
	}
	if pos >= len(b) || b[pos] != '"' {
		return 0, failed
	}
	start, hash := pos+1, x.seed
	for end = start; ; end += 8 {
		if len(b)-end < 8 {
			return 0, failed
		}
		word := binary.LittleEndian.Uint64(b[end:])
		if marks := specials(word); marks != 0 {
			n := bits.TrailingZeros64(marks) &^ 7
			hash = mix(hash, word&(1<<(n&63)-1))
			end += n >> 3
			break
		}
		hash = mix(hash, word)
	}
	if b[end] != '"' {
		return 0, failed
	}
	code = x.codeOf(v, b[start:end], hash)
	x.next[x.last] = code
	x.expect(v, code)
	return code, end + 1
}

// expect makes read first try the text that last followed the text with this code.
func (x *textIndex) expect(v *rows.Vector, code int32) {
	x.last, x.expected = code, x.next[code]
	x.start, x.end = 0, v.End[x.expected]
	if x.expected > 0 {
		x.start = v.End[x.expected-1]
	}
}

// mix adds a word to a hash.
func mix(hash, word uint64) uint64 {
	high, low := bits.Mul64(hash^word, 0x9E3779B97F4A7C15)
	return high ^ low
}

// hash returns the hash of a text, taken as words of 8 bytes. The last word holds the remaining 0 to 7 bytes, followed
// by zeros.
func (x *textIndex) hash(text []byte) uint64 {
	hash := x.seed
	for ; len(text) >= 8; text = text[8:] {
		hash = mix(hash, binary.LittleEndian.Uint64(text))
	}
	var last [8]byte
	copy(last[:], text)
	return mix(hash, binary.LittleEndian.Uint64(last[:]))
}

// code returns the code of a text, which it adds if it is new.
func (x *textIndex) code(v *rows.Vector, text []byte) int32 { return x.codeOf(v, text, x.hash(text)) }

func (x *textIndex) codeOf(v *rows.Vector, text []byte, hash uint64) int32 {
	mask := uint64(len(x.slots) - 1)
	i := hash & mask
	for x.slots[i] != 0 {
		if x.slots[i]>>32 == hash>>32 {
			if code := int32(uint32(x.slots[i])) - 1; string(v.Entry(int(code))) == string(text) {
				return code
			}
		}
		i = (i + 1) & mask
	}
	v.Data = append(v.Data, text...)
	v.End = append(v.End, uint32(len(v.Data)))
	x.slots[i] = hash>>32<<32 | uint64(len(v.End))
	x.next = append(x.next, 0)
	x.texts++
	if 2*len(v.End) > len(x.slots) {
		x.grow(v)
	}
	return int32(len(v.End) - 1)
}

func (x *textIndex) grow(v *rows.Vector) {
	n := 2 * len(x.slots)
	x.slots = resized(x.slots[:0], n)
	clear(x.slots)
	mask := uint64(n - 1)
	for code := range v.End {
		hash := x.hash(v.Entry(code))
		i := hash & mask
		for x.slots[i] != 0 {
			i = (i + 1) & mask
		}
		x.slots[i] = hash>>32<<32 | uint64(code+1)
	}
}

// isVaried reports whether a coded column of n rows has so many different texts that coding is not worth it.
func (x *textIndex) isVaried(n int) bool { return !x.varied && x.texts > 64+n/4 }

// setPlain makes a coded column of n rows plain, for this list and the next ones, unless a plain column could not hold
// its texts.
func (x *textIndex) setPlain(v *rows.Vector, n int) {
	size := 0
	for row := range n {
		size += len(v.Text(row))
	}
	if size > rows.MaxTextBytes/2 {
		return
	}
	data, ends := make([]byte, 0, size), make([]uint32, 0, n)
	for row := range n {
		data = append(data, v.Text(row)...)
		ends = append(ends, uint32(len(data)))
	}
	*v = rows.Vector{Type: v.Type, Present: v.Present, Data: data, End: ends}
	*x = textIndex{varied: true}
}
