package snapshot

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"example.org/growthexport/internal/wording"
	"example.org/growthexport/schemas"
)

// The ways to partition the tables of per-school datasets.
const (
	NotPartitioned = "none"
	ByDistrict     = "district"
)

// OwnPerspective is the value of Scope.Perspectives for a run that reads a school's enrollment only through the
// school's own district.
const OwnPerspective = "own"

// Scope is the data that a run covers. Unless --replace is given, a run replaces the snapshot of its date only if both
// have the same scope. A run is compared with an earlier snapshot only if their scopes differ at most in the datasets.
type Scope struct {
	Datasets  []string `json:"datasets"`
	Schools   []string `json:"schools,omitempty"`
	Districts []string `json:"districts,omitempty"`
	// Students restricts the run to a cohort. It is nil if the run covers all students.
	Students     *Students `json:"students,omitempty"`
	Perspectives string    `json:"perspectives"`
	PartitionBy  string    `json:"partition_by"`
	// ModifiedSince is the value of --modified-since as given, which may be auto.
	ModifiedSince  string `json:"modified_since,omitempty"`
	IncludeRemoved bool   `json:"include_removed,omitempty"`
	// Privacy is the privacy profile. If it is empty, the profile is full. PrivacyKey is the fingerprint of the key of the
	// pseudonyms.
	Privacy    string `json:"privacy,omitempty"`
	PrivacyKey string `json:"privacy_key_fingerprint,omitempty"`
}

// Profile returns the privacy profile.
func (s Scope) Profile() schemas.Profile {
	return schemas.Profile(cmp.Or(s.Privacy, string(schemas.Full)))
}

// PrivacyText returns the profile and the fingerprint of its key.
func (s Scope) PrivacyText() string {
	if s.PrivacyKey == "" {
		return string(s.Profile())
	}
	return fmt.Sprintf("%s (key fingerprint %s)", s.Profile(), s.PrivacyKey)
}

// SamePrivacy reports whether two runs identify people in the same way, so that their rows can be compared and joined.
func (s Scope) SamePrivacy(other Scope) bool {
	return s.Profile() == other.Profile() && s.PrivacyKey == other.PrivacyKey
}

// Students describes a list of students in documents, which must not contain the list itself.
type Students struct {
	// Listed is the length of the list, each student counted once.
	Listed int `json:"listed"`
	// Matched is the number of these students who have a row. It is nil before the run is published.
	Matched *int `json:"matched,omitempty"`
	// Digest is the pseudonym of the sorted list, one student per line, under the run's privacy key or the plan's own
	// key.
	Digest string `json:"digest"`
}

// equal reports whether both describe the same list under the same key.
func (s *Students) equal(other *Students) bool {
	if s == nil || other == nil {
		return s == other
	}
	return s.Listed == other.Listed && s.Digest == other.Digest
}

// Filtered reports whether the run is restricted to some schools or students. _latest.json never refers to such a run.
func (s Scope) Filtered() bool {
	return len(s.Schools) > 0 || len(s.Districts) > 0 || s.Students != nil
}

// Equal reports whether two scopes are the same, regardless of the order of their lists. The fingerprints of privacy
// keys are compared only if both scopes have one.
func (s Scope) Equal(other Scope) bool { return len(s.Differences(other)) == 0 }

const includeRemoved = wording.Setting("include-removed")

// Differences describes the settings in which s, an existing scope, differs from other.
func (s Scope) Differences(other Scope) []string {
	var found []string
	list := func(name wording.Setting, a, b []string) {
		if !slices.Equal(slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b))) {
			found = append(found, name.String())
		}
	}
	value := func(name, a, b string) {
		if a != b {
			found = append(found, fmt.Sprintf("%s %s instead of %s", name, cmp.Or(a, "unset"), cmp.Or(b, "unset")))
		}
	}
	setting := func(name wording.Setting, a, b string) { value(name.String(), a, b) }
	list("datasets", s.Datasets, other.Datasets)
	list("schools", s.Schools, other.Schools)
	list("districts", s.Districts, other.Districts)
	if !s.Students.equal(other.Students) {
		found = append(found, wording.Setting("students").String())
	}
	setting("perspectives", s.Perspectives, other.Perspectives)
	setting("partition-by", s.PartitionBy, other.PartitionBy)
	setting("modified-since", s.ModifiedSince, other.ModifiedSince)
	if s.IncludeRemoved != other.IncludeRemoved {
		found = append(found, includeRemoved.String())
	}
	setting("privacy", string(s.Profile()), string(other.Profile()))
	if s.PrivacyKey != "" && other.PrivacyKey != "" {
		value("privacy key", s.PrivacyKey, other.PrivacyKey)
	}
	return found
}

// SameService reports whether two base URLs lead to the same service.
func SameService(a, b string) bool { return CanonicalBaseURL(a) == CanonicalBaseURL(b) }

// CanonicalBaseURL normalizes a base URL so that URLs of the same service become equal: lower-case scheme and host, no
// default port, no trailing slash. Text that is not an absolute URL, such as the name of the simulated service, is
// returned unchanged.
func CanonicalBaseURL(text string) string {
	scheme, rest, absolute := strings.Cut(text, "://")
	if !absolute {
		return text
	}
	host, path, _ := strings.Cut(rest, "/")
	scheme, host = strings.ToLower(scheme), strings.ToLower(host)
	defaultPort := map[string]string{"http": ":80", "https": ":443"}[scheme]
	return strings.TrimRight(scheme+"://"+strings.TrimSuffix(host, defaultPort)+"/"+path, "/")
}
