package oracle

import (
	"slices"
	"strings"

	"example.org/growthexport/internal/simulator"
)

// leftovers counts the drift in an object's members. It returns the members that have neither a column nor a child
// table, and those whose value does not fit, sorted by name. Of a nested object, it keeps only such members.
func leftovers(t *simulator.Table, s *simulator.Shape, path string, members []simulator.Member, drift map[Drift]int64) []simulator.Member {
	var extra []simulator.Member
	for i := range members {
		m := &members[i]
		count := func(kind string, n int64) {
			if n > 0 {
				drift[Drift{Table: t.Name, Field: path + driftName(m.Name), Kind: kind}] += n
			}
		}
		if simulator.Find(members[i+1:], m.Name) != nil {
			count(DuplicateMember, 1)
			continue
		}
		nest := s.Nests[m.Name]
		switch {
		case m.IsNull():
		case s.Takes(m.Name):
			count(TypeMismatch, m.Replaced())
			if !m.Fits() {
				count(TypeMismatch, 1)
				extra = append(extra, *m)
			}
		case nest != nil && m.Kind == simulator.Object:
			if rest := leftovers(t, nest, path+m.Name+".", m.Sub, drift); len(rest) > 0 {
				extra = append(extra, simulator.Member{Name: m.Name, Value: simulator.Value{Kind: simulator.Object, Sub: rest}})
			}
		case s.Children[m.Name] != nil && m.Kind == simulator.Array:
		case slices.Contains(s.Known, m.Name):
			count(TypeMismatch, m.Replaced())
			extra = append(extra, *m)
		case nest != nil, s.Children[m.Name] != nil:
			count(TypeMismatch, 1+m.Replaced())
			extra = append(extra, *m)
		default:
			count(UnknownField, 1)
			count(TypeMismatch, m.Replaced())
			extra = append(extra, *m)
		}
	}
	slices.SortFunc(extra, func(a, b simulator.Member) int { return strings.Compare(a.Name, b.Name) })
	return extra
}

// driftName returns the name of a member in drift: its own name if that looks like an identifier in code, otherwise #.
func driftName(name string) string {
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

func plainAt(record []simulator.Member, path string) any {
	name, rest, nested := strings.Cut(path, ".")
	v := simulator.Find(record, name)
	switch {
	case v == nil:
		return nil
	case nested:
		return plainAt(v.Sub, rest)
	default:
		return v.Plain()
	}
}
