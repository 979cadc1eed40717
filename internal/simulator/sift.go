package simulator

import (
	"slices"
	"strings"
)

// sift goes through the members of an object: it counts drift, and returns what no column and no child table took, sorted by name.
func (t *table) sift(s *shape, path string, members []member, drift map[Drift]int64) []member {
	var extra []member
	for i := range members {
		m := &members[i]
		count := func(kind string, n int64) {
			if n > 0 {
				drift[Drift{Table: t.name, Field: path + told(m.name), Kind: kind}] += n
			}
		}
		if find(members[i+1:], m.name) != nil {
			count(DuplicateMember, 1)
			continue
		}
		nest := s.nests[m.name]
		switch {
		case m.null():
		case s.takes(m.name):
			count(TypeMismatch, m.invalid())
			if !m.fits() {
				count(TypeMismatch, 1)
				extra = append(extra, *m)
			}
		case nest != nil && m.kind == object:
			if rest := t.sift(nest, path+m.name+".", m.sub, drift); len(rest) > 0 {
				extra = append(extra, member{m.name, value{kind: object, sub: rest}})
			}
		case s.children[m.name] != nil && m.kind == array:
		case slices.Contains(s.known, m.name):
			count(TypeMismatch, m.invalid())
			extra = append(extra, *m)
		case nest != nil, s.children[m.name] != nil:
			count(TypeMismatch, 1+m.invalid())
			extra = append(extra, *m)
		default:
			count(UnknownField, 1)
			count(TypeMismatch, m.invalid())
			extra = append(extra, *m)
		}
	}
	slices.SortFunc(extra, func(a, b member) int { return strings.Compare(a.name, b.name) })
	return extra
}

// told returns the name of a member in drift: # unless it looks like an identifier in code.
func told(name string) string {
	const letters, digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_", "0123456789"
	numbers := len(name)
	for _, c := range letters {
		numbers -= strings.Count(name, string(c))
	}
	if name == "" || len(name) > 40 || numbers > 4 || strings.Trim(name, letters+digits) != "" || strings.ContainsAny(name[:1], digits) {
		return "#"
	}
	return name
}

// find is the last member of that name, as the last of doubled members counts.
func find(members []member, name string) *value {
	for i := len(members) - 1; i >= 0; i-- {
		if members[i].name == name && members[i].kind != absent {
			return &members[i].value
		}
	}
	return nil
}

func plainAt(record []member, path string) any {
	name, rest, nested := strings.Cut(path, ".")
	v := find(record, name)
	switch {
	case v == nil:
		return nil
	case nested:
		return plainAt(v.sub, rest)
	default:
		return v.plain()
	}
}

// appendCanonical writes a value without white space, its members in the order they have.
func appendCanonical(dst []byte, v *value) []byte {
	r := renderer{dst: dst, canonical: true}
	r.value(v)
	return r.dst
}
