package transform

// nameIndex finds a member by its name: a hash table with open addressing,
// whose multiplier is chosen so that the declared names do not collide.
type nameIndex struct {
	slots      []uint8 // numbers of members; 0 is an empty slot
	multiplier uint32
	shift      uint8
}

// minIndexBits is the least number of bits of an index.
const minIndexBits = 3

func (lv *level) buildIndex() {
	lv.index = newNameIndex(lv.members)
	for i := range lv.members {
		if sub := lv.members[i].nest; sub != nil {
			sub.buildIndex()
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
		multiplier := uint32(0x9E3779B1)
		for range 2000 {
			x := nameIndex{slots: make([]uint8, 1<<bits), multiplier: multiplier, shift: 32 - bits}
			if collisions := x.fill(members); collisions == 0 || bits == most {
				return x
			}
			multiplier = multiplier*1664525 + 1013904223 | 1
		}
	}
}

func (x *nameIndex) fill(members []member) (collisions int) {
	for i := 1; i < len(members); i++ {
		slot := x.slot([]byte(members[i].name))
		for x.slots[slot] != 0 {
			collisions++
			slot = (slot + 1) & (len(x.slots) - 1)
		}
		x.slots[slot] = uint8(i)
	}
	return collisions
}

// slot returns where the search for a name that is not empty starts.
func (x *nameIndex) slot(name []byte) int {
	n := len(name)
	h := uint32(n) ^ uint32(name[0])<<8 ^ uint32(name[n-1])<<16 ^ uint32(name[n/2])<<24
	return int(h * x.multiplier >> x.shift)
}

// lookup returns the member of that name, or members[0].
func (lv *level) lookup(name []byte) *member {
	if len(name) == 0 {
		return &lv.members[0]
	}
	x := &lv.index
	for slot := x.slot(name); ; slot = (slot + 1) & (len(x.slots) - 1) {
		m := &lv.members[x.slots[slot]]
		if m.number == 0 || m.name == string(name) {
			return m
		}
	}
}
