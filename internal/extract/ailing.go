package extract

// ailing is the school that was rejected last, as long as it has not succeeded since. If it is rejected again while others
// succeed, it may be broken by itself, and a fan-out over its students has many calls in flight: so its rejections lower the
// level no faster than the others' successes raise it.
type ailing struct {
	school    string // "" for none
	successes int    // of others since
}

func (a *ailing) succeeded(school string) {
	if school == a.school {
		a.school = ""
	}
	a.successes++
}

// rejected tells whether a rejection counts. Of a school that was rejected by itself another one does after successesForMore
// successes, lest a call that is one too many be rejected at each of its attempts.
func (a *ailing) rejected(school string) bool {
	if a.school != "" && school == a.school && a.successes > 0 && a.successes < successesForMore {
		return false
	}
	a.school, a.successes = school, 0
	return true
}
