package parquetfile

import (
	"bytes"
	"encoding/binary"
	"hash/maphash"
	"math/bits"
	"slices"

	"example.org/growthexport/internal/rows"
	"example.org/growthexport/schemas"
)

// dictionary assigns codes to the values of one column of one row group, in the order of their first occurrence. It
// holds either texts or numbers.
type dictionary struct {
	seed maphash.Seed // determines positions in the table, never codes

	data []byte // the texts end to end
	ends []uint32
	ints []int64 // doubles are stored as their bits

	// slots is a hash table with open addressing and 2^n slots. The upper half of a slot is a tag from the value's
	// hash, the lower half its code plus one. A free slot is 0.
	slots []uint64
	tags  []uint64 // the hashes of the values by code, for rehashing

	// seen maps codes to the page that last used them, and used lists the codes of this page, so that only distinct values
	// are searched for bounds.
	seen []uint32
	page uint32
	used []int32
	// recoded maps a page's own codes to the dictionary's codes plus one. 0 means that a code has not been mapped yet.
	recoded []int32
}

const minSlots = 256

func (d *dictionary) reset() {
	if d.seed == (maphash.Seed{}) {
		d.seed = maphash.MakeSeed()
	}
	d.shrink(0)
	d.page = 0
	d.slots = resize(d.slots, minSlots)
	clear(d.slots)
}

func (d *dictionary) len() int { return len(d.tags) }

// size returns the size of the dictionary's page before compression.
func (d *dictionary) size(t schemas.Type) int {
	switch t {
	case schemas.String, schemas.JSON:
		return len(d.data) + 4*len(d.ends)
	case schemas.Int32, schemas.Date:
		return 4 * len(d.ints)
	default:
		return 8 * len(d.ints)
	}
}

// truncate keeps the first n values.
func (d *dictionary) truncate(n int) {
	d.shrink(n)
	d.rehash(len(d.slots))
}

func (d *dictionary) shrink(n int) {
	d.tags, d.seen = d.tags[:n], d.seen[:n]
	d.ints = d.ints[:min(n, len(d.ints))]
	d.ends = d.ends[:min(n, len(d.ends))]
	d.data = d.data[:0]
	if len(d.ends) > 0 {
		d.data = d.data[:d.ends[len(d.ends)-1]]
	}
}

// rehash rebuilds the table with the given number of slots.
func (d *dictionary) rehash(slots int) {
	d.slots = resize(d.slots, slots)
	clear(d.slots)
	mask := uint64(slots - 1)
	for code, tag := range d.tags {
		i := tag & mask
		for d.slots[i] != 0 {
			i = (i + 1) & mask
		}
		d.slots[i] = slot(tag, code)
	}
}

func slot(tag uint64, code int) uint64 { return tag&^(1<<32-1) | uint64(code+1) }

// startPage starts a new page, which has not used any code yet.
func (d *dictionary) startPage() {
	d.page++
	d.used = d.used[:0]
}

// markUsed records that the page uses the code.
func (d *dictionary) markUsed(code int32) {
	if d.seen[code] != d.page {
		d.seen[code] = d.page
		d.used = append(d.used, code)
	}
}

// usedWidth returns the number of bits of the page's largest code.
func (d *dictionary) usedWidth() uint8 {
	all := int32(0)
	for _, code := range d.used {
		all |= code
	}
	return uint8(bits.Len32(uint32(all)))
}

// text returns the text of the code.
func (d *dictionary) text(code int32) []byte {
	var start uint32
	if code > 0 {
		start = d.ends[code-1]
	}
	return d.data[start:d.ends[code]]
}

// codeTexts appends the codes of the texts, which are end to end in data.
func (d *dictionary) codeTexts(codes []int32, data []byte, ends []uint32) []int32 {
	d.startPage()
	codes = slices.Grow(codes, len(ends))
	var (
		start  uint32
		before []byte
		code   = int32(-1)
	)
	for _, end := range ends {
		s := data[start:end]
		start = end
		if code < 0 || string(s) != string(before) {
			code = d.codeText(s)
			d.markUsed(code)
			before = s
		}
		codes = append(codes, code)
	}
	return codes
}

// recodeTexts appends the dictionary's codes for the texts of a page. own holds the codes that these texts have in the
// page.
func (d *dictionary) recodeTexts(codes []int32, page *rows.Vector, own []int32) []int32 {
	d.startPage()
	d.recoded = resize(d.recoded, len(page.End))
	clear(d.recoded)
	codes = slices.Grow(codes, len(own))
	for _, o := range own {
		code := d.recoded[o] - 1
		if code < 0 {
			code = d.codeText(page.Entry(int(o)))
			d.markUsed(code)
			d.recoded[o] = code + 1
		}
		codes = append(codes, code)
	}
	return codes
}

// changed returns the total length of the codes' texts in bytes, not counting codes that equal the previous code.
func (d *dictionary) changed(codes []int32) int {
	n, before := 0, int32(-1)
	for _, code := range codes {
		if code != before {
			n += len(d.text(code))
			before = code
		}
	}
	return n
}

func (d *dictionary) codeText(s []byte) int32 {
	tag := maphash.Bytes(d.seed, s)
	mask := uint64(len(d.slots) - 1)
	i := tag & mask
	for {
		found := d.slots[i]
		if found == 0 {
			break
		}
		if found>>32 == tag>>32 {
			if code := int32(uint32(found)) - 1; string(d.text(code)) == string(s) {
				return code
			}
		}
		i = (i + 1) & mask
	}
	d.data = append(d.data, s...)
	d.ends = append(d.ends, uint32(len(d.data)))
	return d.insert(tag, i)
}

// codeInts appends the codes of the numbers.
func (d *dictionary) codeInts(codes []int32, values []int64) []int32 {
	d.startPage()
	codes = slices.Grow(codes, len(values))
	var (
		before int64
		code   = int32(-1)
	)
	for _, x := range values {
		if code < 0 || x != before {
			code = d.codeInt(x)
			d.markUsed(code)
			before = x
		}
		codes = append(codes, code)
	}
	return codes
}

func (d *dictionary) codeInt(x int64) int32 {
	tag := mix(uint64(x))
	mask := uint64(len(d.slots) - 1)
	i := tag & mask
	for {
		found := d.slots[i]
		if found == 0 {
			break
		}
		if found>>32 == tag>>32 {
			if code := int32(uint32(found)) - 1; d.ints[code] == x {
				return code
			}
		}
		i = (i + 1) & mask
	}
	d.ints = append(d.ints, x)
	return d.insert(tag, i)
}

// mix returns a hash that depends on all bits of a number, because doubles may differ only in their upper bits, and
// timestamps are multiples of a million.
func mix(x uint64) uint64 {
	return bits.RotateLeft64((x^x>>32)*0xD6E8FEB86659FD93, 32)
}

// insert assigns a code to the value just appended, and stores the code in the free slot i.
func (d *dictionary) insert(tag, i uint64) int32 {
	code := len(d.tags)
	d.tags = append(d.tags, tag)
	d.seen = append(d.seen, 0)
	d.slots[i] = slot(tag, code)
	if 2*len(d.tags) > len(d.slots) {
		d.rehash(2 * len(d.slots))
	}
	return int32(code)
}

// boundsOfTexts returns the least and the greatest text of the page.
func (d *dictionary) boundsOfTexts() (least, greatest []byte) {
	for i, code := range d.used {
		s := d.text(code)
		if i == 0 || bytes.Compare(s, least) < 0 {
			least = s
		}
		if i == 0 || bytes.Compare(s, greatest) > 0 {
			greatest = s
		}
	}
	return least, greatest
}

// usedInts appends the distinct numbers of the page.
func (d *dictionary) usedInts(dst []int64) []int64 {
	for _, code := range d.used {
		dst = append(dst, d.ints[code])
	}
	return dst
}

// appendPlain appends all values in the order of their codes, encoded as PLAIN.
func (d *dictionary) appendPlain(dst []byte, t schemas.Type) []byte {
	switch t {
	case schemas.String, schemas.JSON:
		for code := range d.ends {
			s := d.text(int32(code))
			dst = binary.LittleEndian.AppendUint32(dst, uint32(len(s)))
			dst = append(dst, s...)
		}
	case schemas.Int32, schemas.Date:
		for _, x := range d.ints {
			dst = binary.LittleEndian.AppendUint32(dst, uint32(int32(x)))
		}
	default:
		for _, x := range d.ints {
			dst = binary.LittleEndian.AppendUint64(dst, uint64(x))
		}
	}
	return dst
}

// resize returns s with n elements. Elements between its length and capacity are kept, so that their memory is reused.
func resize[T any](s []T, n int) []T {
	if n <= cap(s) {
		return s[:n]
	}
	return append(s[:cap(s)], make([]T, n-cap(s))...)
}
