package simulator

// specimen is a record that is being made odd.
type specimen struct {
	op      *operation
	members []member
	draw    draw
	did     []string // the names of what was done
}

// oddity is one way in which a record is odd.
type oddity struct {
	name string
	// do makes a record so. It is false for a record that has nothing to do it to.
	do func(s *specimen) bool
}

// afflict does the n-th oddity, or the first one after it that can be done.
func (s *specimen) afflict(all []oddity, n int) {
	for i := range all {
		o := &all[(n+i)%len(all)]
		if o.do(s) {
			s.did = append(s.did, o.name)
			return
		}
	}
}

// place is an object whose members a table knows: the record, a nest of it, or an element of one of its arrays.
type place struct {
	members *[]member
	shape   *shape
	table   *table
}

// places lists the objects of the record. A change to the number of an object's members ends what was listed before.
func (s *specimen) places() []place {
	first := &s.op.tables[0]
	list := nests(nil, place{&s.members, first.shape, first})
	for i := range s.members {
		m := &s.members[i]
		for t := range s.op.tables[1:] {
			child := &s.op.tables[1+t]
			if m.name != child.each || m.kind != array {
				continue
			}
			for e := range m.sub {
				if m.sub[e].kind == object {
					list = nests(list, place{&m.sub[e].sub, child.shape, child})
				}
			}
		}
	}
	return list
}

func nests(list []place, p place) []place {
	list = append(list, p)
	for i := range *p.members {
		m := &(*p.members)[i]
		if nest := p.shape.nests[m.name]; nest != nil && m.kind == object {
			list = append(list, place{&m.sub, nest, p.table})
		}
	}
	return list
}

// anyPlace is the record half of the time, else any of its objects.
func (s *specimen) anyPlace() place {
	list := s.places()
	if s.draw.chance(500) {
		return list[0]
	}
	return list[s.draw.below(len(list))]
}

// member picks one of the record's members that a column takes and that passes; nil if there is none. Members by which records are
// identified are not among them, nor is any that stands in its object twice.
func (s *specimen) member(passes func(m *member) bool) *member {
	var found []*member
	for _, p := range s.places() {
		for i := range *p.members {
			m := &(*p.members)[i]
			if p.shape.takes(m.name) && !s.identifies(p.table, m.name) && movable(*p.members, i) && passes(m) {
				found = append(found, m)
			}
		}
	}
	if len(found) == 0 {
		return nil
	}
	return found[s.draw.below(len(found))]
}

// identifies says whether a member tells records apart, names what another operation is called for, or the districts and schools of
// the lookups: their absence is an oddity of its own.
func (s *specimen) identifies(t *table, name string) bool {
	switch s.op.name {
	case "schools", "districts", "district_schools":
		return name == "schoolBid" || name == "districtBid"
	case "school_classes", "educator_school_associations":
		if name == "educatorBid" {
			return true
		}
	}
	return t.each == "" && name == t.keySource()
}
