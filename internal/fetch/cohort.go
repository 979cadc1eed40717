package fetch

import (
	"cmp"
	"context"
	"slices"

	"example.org/growthexport/internal/snapshot"
	"example.org/growthexport/internal/transform"
	"example.org/growthexport/schemas"
)

// CohortFeed returns the table that determines which records of a dataset belong to a cohort, and the column by which
// the two are joined. Both are empty for all other datasets: these hold students, feed such a table, are restricted by
// the lists that feed them, or are the same for all cohorts. A run that is restricted to a cohort returns the classes
// that have a student of the cohort on their roster, and the educators of these classes.
func CohortFeed(dataset string) (table, column string) {
	switch dataset {
	case schemas.EducatorAssociations:
		return schemas.ClassEducators, "educator_bid"
	case schemas.EducatorClasses:
		return schemas.SchoolClasses, "school_class_bid"
	}
	return "", ""
}

// onlyOfCohort restricts a result to the records that belong to the cohort. It requests the classes of the school,
// whether or not they are also a dataset of the run. If the classes cannot be read, the result fails or is denied.
func (f *Fetcher) onlyOfCohort(ctx context.Context, d *Dataset, r *Result, school snapshot.School) error {
	name, column := CohortFeed(d.Name)
	if !f.cohort || name == "" {
		return nil
	}
	table, declared, _ := schemas.FindTable(name)
	feed := f.feeds[declared.Name]
	if len(school.Perspectives) == 0 {
		r.Fail(errNoPerspective)
		return nil
	}
	list, err := f.feedList(ctx, feed, r, school)
	if list == nil || err != nil {
		return err
	}
	defer list.drop()
	values, err := list.texts(slices.Index(feed.Tables, table), column)
	r.only = transform.Only{Column: column, Values: make(map[string]bool)}
	for _, value := range values {
		if value != "" {
			r.only.Values[value] = true
		}
	}
	return cmp.Or(err, ctx.Err())
}
