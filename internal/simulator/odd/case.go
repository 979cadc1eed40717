package odd

import "example.org/growthexport/internal/simulator"

// specimen is a record that is being made odd.
type oddCase struct {
	op      *simulator.Operation
	members []simulator.Member
	draw    simulator.Rand
	did     []string // the names of what was done
}

// oddity is one way in which a record is odd.
type oddity struct {
	name string
	// do makes a record so. It is false for a record that has nothing to do it to.
	do func(s *oddCase) bool
}

// afflict does the n-th oddity, or the first one after it that can be done.
func (s *oddCase) afflict(all []oddity, n int) {
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
	members *[]simulator.Member
	shape   *simulator.Shape
	table   *simulator.Table
}

// places lists the objects of the record. A change to the number of an object's members ends what was listed before.
func (s *oddCase) places() []place {
	first := &s.op.Tables[0]
	list := nests(nil, place{&s.members, first.Shape, first})
	for i := range s.members {
		m := &s.members[i]
		for t := range s.op.Tables[1:] {
			child := &s.op.Tables[1+t]
			if m.Name != child.Each || m.Kind != simulator.Array {
				continue
			}
			for e := range m.Sub {
				if m.Sub[e].Kind == simulator.Object {
					list = nests(list, place{&m.Sub[e].Sub, child.Shape, child})
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
		if nest := p.shape.Nests[m.Name]; nest != nil && m.Kind == simulator.Object {
			list = append(list, place{&m.Sub, nest, p.table})
		}
	}
	return list
}

// anyPlace is the record half of the time, else any of its objects.
func (s *oddCase) anyPlace() place {
	list := s.places()
	if s.draw.Chance(500) {
		return list[0]
	}
	return list[s.draw.Below(len(list))]
}

// member picks one of the record's members that a column takes and that passes; nil if there is none. Members by which records are
// identified are not among them, nor is any that stands in its object twice.
func (s *oddCase) member(passes func(m *simulator.Member) bool) *simulator.Member {
	var found []*simulator.Member
	for _, p := range s.places() {
		for i := range *p.members {
			m := &(*p.members)[i]
			if p.shape.Takes(m.Name) && !s.identifies(p.table, m.Name) && movable(*p.members, i) && passes(m) {
				found = append(found, m)
			}
		}
	}
	if len(found) == 0 {
		return nil
	}
	return found[s.draw.Below(len(found))]
}

// identifies says whether a member tells records apart, names what another operation is called for, or the districts and schools of
// the lookups: their absence is an oddity of its own.
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
