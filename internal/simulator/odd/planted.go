package odd

import (
	"strconv"
	"strings"
	"time"

	"example.org/growthexport/internal/simulator"
)

// PlantedMark is part of every identifier and every name of a person in a planted world, and of class names and unknown
// members. Dates of birth are on PlantedBirthday in a year of the nineteenth century. The mark has no characters that
// must be escaped in JSON, URLs or paths.
const (
	PlantedMark     = "zquxplanted"
	PlantedBirthday = "-07-19"
)

// PlantedBirth returns the planted date of birth for a year.
func PlantedBirth(year int) simulator.Day {
	return simulator.DayOf(time.Date(year, time.July, 19, 0, 0, 0, 0, time.UTC))
}

// Planted marks values that may identify people, in every place where a service could send them: identifiers, names,
// class names, dates of birth, unknown members and their names, values that do not fit their column and, outside of
// records, cursors, errors and headers. See [simulator.Quirks]. A search for the marks finds the values that an export
// has kept.
type Planted struct{}

var _ simulator.Quirks = Planted{}

// Mark returns PlantedMark with a planted date of birth.
func (Planted) Mark() string { return PlantedMark + "-1812" + PlantedBirthday }

// List returns the list of a call with marked records.
func (Planted) List(w *simulator.World, c *simulator.Call, plain simulator.List) simulator.List {
	record, table := plain.Record, &c.Op.Tables[0]
	plain.Record = func(a *simulator.Arena, i int) []simulator.Member {
		// Records that are equal in every member stay equal.
		p := planting{world: w, draw: *simulator.NewRand(simulator.Mix(w.Style(c, table.Position(i)) ^ simulator.Golden))}
		return p.object(record(a, i))
	}
	return plain
}

// Container returns the documented container with a member beside the records. The member is null, because any other
// value could be the list.
func (Planted) Container(_ *simulator.World, _ *simulator.Call, documented simulator.Container) simulator.Container {
	documented.Beside = `"` + PlantedMark + `":null,`
	return documented
}

// FormatBid returns the text of a bid, with the mark if the bid identifies a person or a record about one person.
func (Planted) FormatBid(w *simulator.World, b simulator.Bid) string {
	switch what, _, _, _ := w.Entity(b); what {
	case simulator.StudentEntity, simulator.EducatorEntity, simulator.ResultEntity, simulator.StudentAssociationEntity,
		simulator.EducatorAssociationEntity:
		return PlantedMark + b.String()
	}
	return b.String()
}

// ParseBid returns the bid in a text, which may have the mark.
func (Planted) ParseBid(text string) (simulator.Bid, bool) {
	return simulator.ParseBid(strings.TrimPrefix(text, PlantedMark))
}

// planting marks the values of a record.
type planting struct {
	world *simulator.World
	draw  simulator.Rand
}

// object marks the members of an object and adds unknown members.
func (p *planting) object(members []simulator.Member) []simulator.Member {
	for i := range members {
		m := &members[i]
		p.value(m.Name, &m.Value)
		switch m.Name {
		case "rit", "beginDate":
			if p.draw.Chance(100) {
				m.Value = mismatch(quoted(PlantedMark))
			}
		case "gender", "itemsShown", "middleName", "educatorBid", "dateOfBirth":
			if p.draw.Chance(100) {
				m.Value = mismatch(`{"` + PlantedMark + `":"` + PlantedMark + `"}`)
			}
		}
	}
	return append(members,
		named("guardian", mismatch(`{"name":"`+PlantedMark+`","born":"1880`+PlantedBirthday+`","`+PlantedMark+`":["`+PlantedMark+`"]}`)),
		named(PlantedMark, mismatch(quoted(PlantedMark))),
		named(PlantedMark+strconv.Itoa(p.draw.Below(50)), mismatch("1")),
		named("id "+PlantedMark+strconv.Itoa(p.draw.Below(1<<30)), mismatch("1")),
	)
}

func (p *planting) value(name string, v *simulator.Value) {
	switch v.Kind {
	case simulator.ID:
		text := Planted{}.FormatBid(p.world, simulator.Bid{High: uint64(v.N), Low: v.M})
		*v = fitting(quoted(text), text)
	case simulator.Text:
		switch name {
		case "studentId", "stateStudentId", "districtStudentId", "firstName", "middleName", "lastName", "className":
			v.S = PlantedMark + v.S
		}
	case simulator.Date:
		if name == "dateOfBirth" {
			v.N = int64(PlantedBirth(simulator.Day(v.N).Time().Year() - 200))
		}
	case simulator.Object:
		v.Sub = p.object(v.Sub)
	case simulator.Array:
		for i := range v.Sub {
			p.value(name, &v.Sub[i].Value)
		}
	}
}
