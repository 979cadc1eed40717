package transform

import "encoding/binary"

// Names are told apart without being read: the bytes behind the opening quote
// are compared, as words, to what stands there if it is the name, its closing
// quote and colon included. Which name to compare to is found by a hash of the
// first two words, up to the closing quote. There is no branch that depends on
// the name, which matters because the order of members changes from record to
// record.

// window is how many bytes are looked at: names that are longer by themselves
// or by escapes, white space before the colon and names at the very end of a
// body take the slow way, by a map.
const window = 32

// pattern is what the window must hold: the words where the masks are set.
type pattern struct {
	words, masks [window / 8]uint64
	short        bool // whether name, quote and colon are within the window
}

func newPattern(key string) pattern {
	if len(key) > window {
		return pattern{}
	}
	var p pattern
	for i := range len(key) {
		p.words[i/8] |= uint64(key[i]) << (i % 8 * 8)
		p.masks[i/8] |= 0xFF << (i % 8 * 8)
	}
	p.short = true
	return p
}

// matches tells whether the window holds the pattern.
func (p *pattern) matches(b *[window]byte) bool {
	differ := (binary.LittleEndian.Uint64(b[0:])^p.words[0])&p.masks[0] |
		(binary.LittleEndian.Uint64(b[8:])^p.words[1])&p.masks[1] |
		(binary.LittleEndian.Uint64(b[16:])^p.words[2])&p.masks[2] |
		(binary.LittleEndian.Uint64(b[24:])^p.words[3])&p.masks[3]
	return differ == 0 && p.short
}

// nameIndex finds members: slots is a hash table with open addressing, for
// names within the window; all is every name.
type nameIndex struct {
	slots      []uint8 // numbers of members; 0 is an empty slot
	multiplier uint64
	shift      uint8
	all        map[string]uint8
}

// minIndexBits is the least number of bits of an index.
const minIndexBits = 3

func (lv *level) buildIndex() {
	lv.index = newNameIndex(lv.members)
	lv.index.all = make(map[string]uint8, len(lv.members))
	for i := range lv.members[1:] {
		m := &lv.members[i+1]
		lv.index.all[m.name] = m.number
		if m.nest != nil {
			m.nest.buildIndex()
		}
	}
}

// newNameIndex tries multipliers, then more room, until no two names collide.
// It settles for a few collisions rather than a large table.
func newNameIndex(members []member) nameIndex {
	bits := uint8(minIndexBits)
	for 1<<bits < 2*len(members) {
		bits++
	}
	for most := bits + 2; ; bits++ {
		multiplier := uint64(0x9E3779B97F4A7C15)
		for range 500 {
			x := nameIndex{slots: make([]uint8, 1<<bits), multiplier: multiplier, shift: 64 - bits}
			if collisions := x.fill(members); collisions == 0 || bits == most {
				return x
			}
			multiplier = multiplier*6364136223846793005 + 1442695040888963407 | 1
		}
	}
}

func (x *nameIndex) fill(members []member) (collisions int) {
	for i := range members {
		m := &members[i]
		if !m.pattern.short {
			continue
		}
		slot := x.slot(m.pattern.words[0], m.pattern.words[1])
		for x.slots[slot] != 0 {
			collisions++
			slot = (slot + 1) & uint64(len(x.slots)-1)
		}
		x.slots[slot] = m.number
	}
	return collisions
}

// slot returns where the search for a name starts, given the first two words
// behind its opening quote.
func (x *nameIndex) slot(first, second uint64) uint64 {
	quote := first ^ '"'*ones
	quote = (quote - ones) &^ quote & highs
	quote2 := second ^ '"'*ones
	quote2 = (quote2 - ones) &^ quote2 & highs
	// The lowest mark is right; below it, or everywhere, is the name.
	first &= (quote&-quote)>>7 - 1
	second &= (quote2&-quote2)>>7 - 1
	if quote != 0 {
		second = 0
	}
	return (first ^ second*5) * x.multiplier >> x.shift
}

// match returns the member whose name, quote and colon the window begins with,
// or members[0].
func (lv *level) match(b *[window]byte) *member {
	x := &lv.index
	slot := x.slot(binary.LittleEndian.Uint64(b[0:]), binary.LittleEndian.Uint64(b[8:]))
	for {
		m := &lv.members[x.slots[slot&uint64(len(x.slots)-1)]]
		if m.pattern.matches(b) || m.number == 0 {
			return m
		}
		slot++
	}
}

// lookup returns the member of that name, or members[0].
func (lv *level) lookup(name []byte) *member {
	return &lv.members[lv.index.all[string(name)]]
}
