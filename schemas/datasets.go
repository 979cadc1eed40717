package schemas

import (
	"cmp"
	"maps"
	"slices"
	"sync"
)

// declared returns the declarations. It builds them only once, so that a dataset or table always has the same pointer.
var declared = sync.OnceValue(func() []*Dataset {
	return []*Dataset{
		districts(),
		schools(),
		districtSchools(),
		students(),
		studentDetails(),
		testResults(),
		academicYears(),
		studentSchoolAssociations(),
		schoolClasses(),
		schoolClassDetails(),
		studentSchoolClasses(),
		educatorSchoolClasses(),
		educatorSchoolAssociations(),
		educatorSchoolAssociationDetails(),
	}
})

// Datasets returns every dataset, in the order of the data dictionary. The caller may change the slice but not the
// datasets, which are shared.
func Datasets() []*Dataset {
	return slices.Clone(declared())
}

// Find returns the dataset with this name. It returns false if there is no such dataset.
func Find(name string) (*Dataset, bool) {
	all := declared()
	i := slices.IndexFunc(all, func(d *Dataset) bool { return d.Name == name })
	if i < 0 {
		return nil, false
	}
	return all[i], true
}

// Positions returns the positions of datasets and tables in the order of declaration, by name.
func Positions() (datasets, tables map[string]int) {
	datasets, tables = make(map[string]int), make(map[string]int)
	for i, d := range declared() {
		datasets[d.Name] = i
		for _, t := range d.Tables {
			tables[t.Name] = len(tables)
		}
	}
	return datasets, tables
}

// TablesInOrder returns the keys of tables: first the names of declared tables in the order of declaration, then the
// other names in alphabetical order.
func TablesInOrder[T any](tables map[string]T) []string {
	_, positions := Positions()
	place := func(name string) int {
		if at, ok := positions[name]; ok {
			return at
		}
		return len(positions)
	}
	return slices.SortedFunc(maps.Keys(tables), func(a, b string) int {
		return cmp.Or(cmp.Compare(place(a), place(b)), cmp.Compare(a, b))
	})
}
