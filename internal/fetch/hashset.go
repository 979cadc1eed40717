package fetch

// hashSet is a set of 64-bit hashes whose maximum size is known when it is created. It is a table with open addressing,
// because the checks look at every result and a map would take several times as long.
type hashSet struct {
	slots []uint64 // 0 means empty
	mask  uint64
}

func newHashSet(size int) hashSet {
	slots := 8
	for slots < 2*size {
		slots *= 2
	}
	return hashSet{slots: make([]uint64, slots), mask: uint64(slots - 1)}
}

// slot returns the slot that holds the hash, or the free slot for it.
func (s hashSet) slot(hash uint64) *uint64 {
	for i := hash & s.mask; ; i = (i + 1) & s.mask {
		if at := &s.slots[i]; *at == hash || *at == 0 {
			return at
		}
	}
}

// add adds a hash and reports whether it is new.
func (s hashSet) add(hash uint64) bool {
	hash = max(hash, 1)
	at := s.slot(hash)
	if *at != 0 {
		return false
	}
	*at = hash
	return true
}

func (s hashSet) has(hash uint64) bool { return *s.slot(max(hash, 1)) != 0 }
