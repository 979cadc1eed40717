package privacy

// The kinds of the digests that identify students in a suppression list.
const (
	studentKind = "student"
	numberKind  = "student_number"
	// suppressedKind makes the digests of suppression lists differ from pseudonyms: someone who has pseudonymised rows
	// must not be able to find the students of a list in these rows.
	suppressedKind = "suppressed"
)

// SuppressedBid returns the digest of a student's bid in a suppression list.
func (k *Key) SuppressedBid(bid string) string {
	return k.SuppressedPseudonym(k.Pseudonym(studentKind, bid))
}

// SuppressedNumber returns the digest of a student's number in a suppression list.
func (k *Key) SuppressedNumber(number string) string {
	return k.SuppressedPseudonym(k.Pseudonym(numberKind, number))
}

// SuppressedPseudonym returns the digest of a bid or number, given only its pseudonym under the key.
func (k *Key) SuppressedPseudonym(pseudonym string) string {
	return k.Pseudonym(suppressedKind, pseudonym)
}

// Suppressed is a suppression list, which identifies students by the digests of their bids and numbers. It does not
// change once it is in use, and may be shared.
type Suppressed struct {
	key *Key
	// bids and numbers hold the positions of the students in the list, by digest.
	bids, numbers map[string]int
}

// NewSuppressed returns an empty list of students.
func (k *Key) NewSuppressed() *Suppressed {
	return &Suppressed{key: k, bids: make(map[string]int), numbers: make(map[string]int)}
}

// Add adds the student at a position of the list. bid is the digest of the student's bid, or empty, and numbers are the
// digests of the student's numbers.
func (s *Suppressed) Add(position int, bid string, numbers []string) {
	if bid != "" {
		s.bids[bid] = position
	}
	for _, number := range numbers {
		s.numbers[number] = position
	}
}

// maxRemembered is the maximum number of texts in each cache of a Finder.
const maxRemembered = 4096

// Finder looks up texts among the bids and numbers of suppressed students. Only one goroutine may use it at a time.
type Finder struct {
	list  *Suppressed
	maker *Maker
	// bids and texts cache the results of Bid and Text, because computing a digest takes much longer than a lookup in a
	// map.
	bids, texts       map[string]int
	pseudonym, digest []byte
}

// NewFinder returns a finder for the students of the list.
func (s *Suppressed) NewFinder() *Finder {
	return &Finder{list: s, maker: s.key.NewMaker(), bids: make(map[string]int), texts: make(map[string]int)}
}

// Bid returns the position of the student with the given bid, or -1 if there is no such student.
func (f *Finder) Bid(text []byte) int {
	position, ok := f.bids[string(text)]
	if !ok {
		position = f.find(studentKind, text, f.list.bids)
		remember(f.bids, text, position)
	}
	return position
}

// Text returns the position of the student whose bid or number equals a text, or -1 if there is no such student.
func (f *Finder) Text(text []byte) int {
	position, ok := f.texts[string(text)]
	if !ok {
		if position = f.find(studentKind, text, f.list.bids); position < 0 {
			position = f.find(numberKind, text, f.list.numbers)
		}
		remember(f.texts, text, position)
	}
	return position
}

// Value returns the position of the student whose bid or number equals a text or, if the text is JSON, a value within
// it. It returns -1 if there is no such student.
func (f *Finder) Value(text []byte) int {
	position := f.Text(text)
	if position < 0 && len(text) > 0 && (text[0] == '{' || text[0] == '[') {
		position = f.JSON(text)
	}
	return position
}

// JSON returns the position of the student whose bid or number equals a value within JSON, or -1 if there is no such
// student.
func (f *Finder) JSON(text []byte) int {
	position := -1
	EachValue(text, func(value []byte) bool {
		position = f.Text(value)
		return position >= 0
	})
	return position
}

func (f *Finder) find(kind string, text []byte, among map[string]int) int {
	if len(text) == 0 || len(among) == 0 {
		return -1
	}
	f.pseudonym = f.maker.Append(f.pseudonym[:0], kind, text)
	f.digest = f.maker.Append(f.digest[:0], suppressedKind, f.pseudonym)
	if position, ok := among[string(f.digest)]; ok {
		return position
	}
	return -1
}

func remember(found map[string]int, text []byte, position int) {
	if len(found) == maxRemembered {
		clear(found)
	}
	found[string(text)] = position
}
