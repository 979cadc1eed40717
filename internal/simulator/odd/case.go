package odd

import "example.org/growthexport/internal/simulator"

// oddCase is a record to which oddities are applied.
type oddCase struct {
	op      *simulator.Operation
	members []simulator.Member
	draw    simulator.Rand
	did     []string // names of the applied oddities
}

// oddity is one way in which a record can be odd.
type oddity struct {
	name string
	// do applies the oddity. It returns false if the record has no place for it.
	do func(s *oddCase) bool
}

// apply applies the n-th oddity, or the first one after it for which the record has a place.
func (s *oddCase) apply(all []oddity, n int) {
	for i := range all {
		o := &all[(n+i)%len(all)]
		if o.do(s) {
			s.did = append(s.did, o.name)
			return
		}
	}
}

// knownObject is an object whose members a table declares: the record, a nested object, or an element of one of the
// record's arrays.
type knownObject struct {
	members *[]simulator.Member
	shape   *simulator.Shape
	table   *simulator.Table
}

// objects lists the known objects of the record. Changing the number of an object's members invalidates the list.
func (s *oddCase) objects() []knownObject {
	first := &s.op.Tables[0]
	list := nests(nil, knownObject{&s.members, first.Shape, first})
	for i := range s.members {
		m := &s.members[i]
		for t := range s.op.Tables[1:] {
			child := &s.op.Tables[1+t]
			if m.Name != child.Each || m.Kind != simulator.Array {
				continue
			}
			for e := range m.Sub {
				if m.Sub[e].Kind == simulator.Object {
					list = nests(list, knownObject{&m.Sub[e].Sub, child.Shape, child})
				}
			}
		}
	}
	return list
}

func nests(list []knownObject, p knownObject) []knownObject {
	list = append(list, p)
	for i := range *p.members {
		m := &(*p.members)[i]
		if nest := p.shape.Nests[m.Name]; nest != nil && m.Kind == simulator.Object {
			list = append(list, knownObject{&m.Sub, nest, p.table})
		}
	}
	return list
}

// anyObject returns the record itself half of the time, and otherwise one of its known objects at random.
func (s *oddCase) anyObject() knownObject {
	list := s.objects()
	if s.draw.Chance(500) {
		return list[0]
	}
	return list[s.draw.Below(len(list))]
}

// member returns a random member that has a column and for which passes returns true, or nil if there is none. It skips
// members that identify records and members that occur twice.
func (s *oddCase) member(passes func(m *simulator.Member) bool) *simulator.Member {
	var found []*simulator.Member
	for _, p := range s.objects() {
		for i := range *p.members {
			m := &(*p.members)[i]
			if p.shape.Takes(m.Name) && !s.identifies(p.table, m.Name) && isUnique(*p.members, i) && passes(m) {
				found = append(found, m)
			}
		}
	}
	if len(found) == 0 {
		return nil
	}
	return found[s.draw.Below(len(found))]
}

// identifies reports whether a member is a key, supplies the ids for other calls, or identifies the districts and
// schools of lookups. Losing such a member is a separate oddity.
func (s *oddCase) identifies(t *simulator.Table, name string) bool {
	switch s.op.Name {
	case "schools", "districts", "district_schools":
		return name == "schoolBid" || name == "districtBid"
	case "school_classes", "educator_school_associations":
		if name == "educatorBid" {
			return true
		}
	}
	return t.Each == "" && name == t.KeySource()
}

// change applies do to a random member for which passes returns true. It returns false if there is none.
func (s *oddCase) change(passes func(m *simulator.Member) bool, do func(m *simulator.Member)) bool {
	m := s.member(passes)
	if m != nil {
		do(m)
	}
	return m != nil
}

// isUnique reports whether a member occurs only once in its object.
func isUnique(members []simulator.Member, i int) bool {
	for j := range members {
		if j != i && members[j].Name == members[i].Name {
			return false
		}
	}
	return true
}
