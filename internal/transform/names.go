package transform

import "encoding/binary"

// Names are found without being decoded: the bytes after the opening quote are compared, as words, with a declared name
// including its closing quote and colon. A hash of the first two words, up to the closing quote, selects the declared
// name. No branch depends on the name, which matters because the order of members changes from record to record.

// window is the number of bytes compared. Longer names, names with escapes, names with white space before the colon,
// and names at the very end of a body are looked up in a map, which is slower.
const window = 32

// pattern is the required content of the window. Words are only compared where the bits of the masks are set.
type pattern struct {
	words, masks [window / 8]uint64
	short        bool // whether name, quote and colon fit in the window
}

func newPattern(key string) pattern {
	if len(key) > window {
		return pattern{}
	}
	p := pattern{short: true}
	for i := range len(key) {
		p.words[i/8] |= uint64(key[i]) << (i % 8 * 8)
		p.masks[i/8] |= 0xFF << (i % 8 * 8)
	}
	return p
}

// matches reports whether the window holds the pattern.
func (p *pattern) matches(b *[window]byte) bool {
	differ := (binary.LittleEndian.Uint64(b[0:])^p.words[0])&p.masks[0] |
		(binary.LittleEndian.Uint64(b[8:])^p.words[1])&p.masks[1] |
		(binary.LittleEndian.Uint64(b[16:])^p.words[2])&p.masks[2] |
		(binary.LittleEndian.Uint64(b[24:])^p.words[3])&p.masks[3]
	return differ == 0 && p.short
}

// nameIndex finds members by name: slots is a hash table with open addressing for names that fit in the window, and all
// is a map of all names.
type nameIndex struct {
	slots      []uint8 // numbers of members; 0 is an empty slot
	multiplier uint64
	shift      uint8
	all        map[string]uint8
}

// minIndexBits is the minimum number of bits that number the slots of an index.
const minIndexBits = 3

func (obj *objectPlan) buildIndex() {
	obj.index = newNameIndex(obj.members)
	obj.index.all = make(map[string]uint8, len(obj.members))
	for i := range obj.members[1:] {
		m := &obj.members[i+1]
		obj.index.all[m.name] = m.number
		if m.object != nil {
			m.object.buildIndex()
		}
	}
}

// newNameIndex tries multipliers, then larger tables, until no two names collide. It accepts a few collisions rather
// than a very large table.
func newNameIndex(members []member) nameIndex {
	bits := uint8(minIndexBits)
	for 1<<bits < 2*len(members) {
		bits++
	}
	for maxBits := bits + 2; ; bits++ {
		multiplier := uint64(0x9E3779B97F4A7C15)
		for range 500 {
			x := nameIndex{slots: make([]uint8, 1<<bits), multiplier: multiplier, shift: 64 - bits}
			if collisions := x.fill(members); collisions == 0 || bits == maxBits {
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

// slot returns where the search for a name starts, given the first two words after its opening quote.
func (x *nameIndex) slot(first, second uint64) uint64 {
	quote := first ^ '"'*ones
	quote = (quote - ones) &^ quote & highs
	quote2 := second ^ '"'*ones
	quote2 = (quote2 - ones) &^ quote2 & highs
	// Only the lowest mark is reliable. The name is below it, or fills both words if there is no mark.
	first &= (quote&-quote)>>7 - 1
	second &= (quote2&-quote2)>>7 - 1
	if quote != 0 {
		second = 0
	}
	return (first ^ second*5) * x.multiplier >> x.shift
}

// match returns the number of the member whose name, quote and colon start the window, or 0 if there is no such member.
func (obj *objectPlan) match(b *[window]byte) uint8 {
	x := &obj.index
	slot := x.slot(binary.LittleEndian.Uint64(b[0:]), binary.LittleEndian.Uint64(b[8:]))
	for {
		m := &obj.members[x.slots[slot&uint64(len(x.slots)-1)]]
		if m.pattern.matches(b) || m.number == 0 {
			return m.number
		}
		slot++
	}
}

// lookup returns the member of that name, or members[0] if the member is not declared.
func (obj *objectPlan) lookup(name []byte) *member {
	return &obj.members[obj.index.all[string(name)]]
}
