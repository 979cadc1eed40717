package pipeline

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"example.org/growthexport/internal/fetch"
	"example.org/growthexport/internal/snapshot"
	"example.org/growthexport/internal/wording"
	"example.org/growthexport/schemas"
)

// makePlan makes a plan from the settings and the lookups. The plan pins the scope of the run.
func (r *exportRun) makePlan(id string, looked *fetch.Lookups) (*snapshot.Plan, error) {
	s := r.settings
	plan := &snapshot.Plan{
		FormatVersion: snapshot.FormatVersion, RunID: id, Kind: s.kind(),
		SnapshotDate: r.date, PlannedAt: r.now.Truncate(time.Second),
		ToolVersion: s.ToolVersion, BaseURL: s.BaseURL, Scope: r.scope, Filters: r.pinned, Fingerprint: r.mark,
		Districts: looked.Districts, DistrictNames: looked.Names,
		Shards: s.Shards,
		Limits: s.Limits, Replace: s.Replace, AcceptBaseURL: s.AcceptBaseURL, Compare: s.Compare,
		Suppressed: r.suppression.described, NotSuppressed: r.suppression.notListed,
	}
	if r.cohort != nil {
		plan.StudentsKey = r.cohort.text
	}
	if err := selectSchools(plan, s, looked); err != nil {
		return nil, err
	}
	r.leaveOutIncomplete(plan)
	plan.SchoolsPerFile = s.bucketSize(len(plan.Schools), s.Shards)
	plan.Buckets = cutBuckets(plan.Schools, plan.SchoolsPerFile, s.PartitionBy == snapshot.ByDistrict)
	return plan, nil
}

// selectSchools fills in the plan's schools, without duplicates, and its failed schools, which cannot be fetched. It
// returns a usage error if a selected district is unknown, or if the selection contains no known school.
func selectSchools(plan *snapshot.Plan, s *Settings, looked *fetch.Lookups) error {
	const theSchools, theDistricts = wording.Setting("schools"), wording.Setting("districts")
	wanted := make(map[string]bool, len(s.Schools))
	for _, bid := range s.Schools {
		wanted[bid] = true
	}
	districts := make(map[string]bool, len(s.Districts))
	for _, bid := range s.Districts {
		districts[bid] = true
	}
	listed := make(map[string]bool)
	known := make(map[string]bool)
	taken := make(map[string]bool)
	for _, school := range looked.Schools {
		listed[school.Bid] = true
		known[school.District] = true
		switch {
		case len(districts) > 0 && !districts[school.District]:
		case school.Bid == "":
			if len(wanted) == 0 {
				plan.FailedSchools = append(plan.FailedSchools, snapshot.SchoolFailure{
					SchoolName: school.Name,
					Error:      "the school list contains a school without a schoolBid, so the data of that school cannot be requested",
				})
			}
		case len(wanted) > 0 && !wanted[school.Bid], taken[school.Bid]:
		default:
			taken[school.Bid] = true
			plan.Schools = append(plan.Schools, school)
		}
	}
	for _, bid := range s.Districts {
		if bid == "" || !known[bid] {
			return Usagef("%s: no school on the school list is in district %q", theDistricts, bid)
		}
	}
	unknown := slices.DeleteFunc(canonical(s.Schools), func(bid string) bool { return bid != "" && listed[bid] })
	switch {
	case len(s.Schools) == 0:
	case len(unknown) == len(canonical(s.Schools)):
		which := fmt.Sprintf("%q is not on the school list", unknown[0])
		if len(unknown) > 1 {
			which = fmt.Sprintf("none of the %d schools is on the school list (the first is %q)", len(unknown), unknown[0])
		}
		return Usagef("%s: %s: check the bids and the data sharing agreement", theSchools, which)
	case len(plan.Schools) == 0:
		return Usagef("%s and %s: none of these schools is in these districts", theSchools, theDistricts)
	}
	for _, bid := range unknown {
		plan.FailedSchools = append(plan.FailedSchools, snapshot.SchoolFailure{
			SchoolBid: bid,
			Error:     theSchools.String() + " includes it, but the school list does not: check the bid and the data sharing agreement",
		})
	}
	byDistrict := s.PartitionBy == snapshot.ByDistrict
	slices.SortFunc(plan.Schools, func(a, b snapshot.School) int {
		if byDistrict {
			if c := strings.Compare(a.District, b.District); c != 0 {
				return c
			}
		}
		return strings.Compare(a.Bid, b.Bid)
	})
	setPerspectives(plan, s, looked)
	return nil
}

// leaveOutIncomplete removes from the plan the schools for which the destination lacks earlier changes, and logs their
// names.
func (r *exportRun) leaveOutIncomplete(plan *snapshot.Plan) {
	var names []string
	plan.Schools = slices.DeleteFunc(plan.Schools, func(school snapshot.School) bool {
		if r.incomplete[school.Bid] {
			names = append(names, wording.School(school.Name, school.Bid))
		}
		return r.incomplete[school.Bid]
	})
	if len(names) > 0 {
		r.Logger.Warn("schools that were denied in an earlier run are left out: their changes are included again after the next full run",
			"schools", len(names), "names", wording.First(names, maxLoggedSchools))
	}
}

// neededLookups returns the lookups that the run has to fetch besides the school list.
func neededLookups(s *Settings) fetch.Lists {
	selected, _ := s.split()
	enrollment := slices.ContainsFunc(selected, func(name string) bool {
		d, _ := schemas.Find(name)
		return d.TakesPerspective()
	})
	lists := slices.Contains(selected, schemas.DistrictSchools) || enrollment && s.Perspectives == AllPerspectives
	return fetch.Lists{Districts: lists || slices.Contains(selected, schemas.Districts), DistrictSchools: lists}
}

// setPerspectives records through which districts each school's enrollment is read: the school's own district and,
// unless the settings select only this one, all districts that list the school.
func setPerspectives(plan *snapshot.Plan, s *Settings, l *fetch.Lookups) {
	for i := range plan.Schools {
		school := &plan.Schools[i]
		var through []string
		if s.Perspectives == AllPerspectives {
			through = slices.Clone(l.NamedBy[school.Bid])
		}
		if school.District != "" {
			through = append(through, school.District)
		}
		school.Perspectives = canonical(through)
	}
}
