package pipeline

import "example.org/growthexport/internal/snapshot"

// DefaultSchoolsPerFile is the number of schools in a bucket if a run has only one process and the user has not chosen
// another number. With several shards, the default is at most this number.
const DefaultSchoolsPerFile = 256

// These constants limit the default bucket size in a run of several shards, and the result of UsefulShards. Each shard
// should get several buckets, because buckets differ in size, but small files are slow to read.
const (
	bucketsPerShard   = 4
	minSchoolsPerFile = 8
	shardsPerMachine  = 4
)

// bucketSize returns the maximum number of schools in a bucket of a run that was planned with the given number of
// shards.
func (s *Settings) bucketSize(schools, shards int) int {
	switch {
	case s.SchoolsPerFile > 0:
		return s.SchoolsPerFile
	case shards <= 1:
		return DefaultSchoolsPerFile
	}
	return min(DefaultSchoolsPerFile, max(minSchoolsPerFile, schools/(bucketsPerShard*shards)))
}

// UsefulShards returns the best number of shards for atOnce machines that each run one shard at a time. There are
// enough shards for a machine whose shard ends early to take over another, but no more than there are buckets of
// minSchoolsPerFile schools.
func UsefulShards(schools, atOnce int) int {
	return max(1, min(shardsPerMachine*atOnce, (schools+minSchoolsPerFile-1)/minSchoolsPerFile))
}

// coveredSize returns the bucket size that is part of the derived run id: the chosen size, or the default, or 0 if the
// default depends on the number of schools.
func (s *Settings) coveredSize() int {
	if s.SchoolsPerFile == 0 && s.Shards <= 1 {
		return DefaultSchoolsPerFile
	}
	return s.SchoolsPerFile
}

// cutBuckets returns the buckets of a run. A bucket ends after size schools and, if byDistrict is true, also where the
// district changes. If there are no schools, there is still one bucket, so that every table has a file, even if it has
// no rows.
func cutBuckets(schools []snapshot.School, size int, byDistrict bool) []snapshot.Bucket {
	if len(schools) == 0 {
		return []snapshot.Bucket{{}}
	}
	var buckets []snapshot.Bucket
	for first := 0; first < len(schools); {
		end := min(first+size, len(schools))
		bucket := snapshot.Bucket{Index: len(buckets), First: first}
		if byDistrict {
			bucket.District = schools[first].District
			for i := first; i < end; i++ {
				if schools[i].District != bucket.District {
					end = i
				}
			}
		}
		bucket.End = end
		buckets = append(buckets, bucket)
		first = end
	}
	return buckets
}
