package sink

import (
	"fmt"
	"strconv"
	"strings"
)

// maxRewritten is the maximum number of times that a part may be rewritten. A file name has four digits for the count.
const maxRewritten = 9999

// Part is the path of a data file: <folder>part-<number>-<owner>.parquet. In the name of a rewritten file, the count of
// rewrites follows the number as four more digits, so that Owner can still parse the name.
type Part struct {
	Folder    string // with a trailing slash; empty if there is only a name
	Number    int
	Rewritten int    // how many times the part was rewritten
	Owner     string // escaped as in the path; see Escape
}

// PartName returns the name of an owner's data file.
func PartName(number int, owner string) string {
	return Part{Number: number, Owner: Escape(owner)}.String()
}

// String returns the path of the part.
func (p Part) String() string {
	rewritten := ""
	if p.Rewritten > 0 {
		rewritten = fmt.Sprintf("%04d", p.Rewritten)
	}
	return fmt.Sprintf("%spart-%04d%s-%s.parquet", p.Folder, p.Number, rewritten, p.Owner)
}

// ParsePart parses the path of a data file. It returns false if the path has a different form.
func ParsePart(path string) (Part, bool) {
	slash := strings.LastIndexByte(path, '/') + 1
	p := Part{Folder: path[:slash]}
	name, data := strings.CutSuffix(path[slash:], ".parquet")
	name, part := strings.CutPrefix(name, "part-")
	number, owner, cut := strings.Cut(name, "-")
	if !data || !part || !cut || strings.Trim(number, "0123456789") != "" {
		return Part{}, false
	}
	p.Owner = owner
	var err error
	if len(number) >= 8 {
		p.Rewritten, _ = strconv.Atoi(number[len(number)-4:]) // digits
		number = number[:len(number)-4]
	}
	p.Number, err = strconv.Atoi(number)
	return p, err == nil
}

// Next returns the path of the file that replaces the part when it is rewritten for the n-th time. It returns false if
// n does not fit in a name.
func (p Part) Next(n int) (string, bool) {
	p.Rewritten = n
	return p.String(), n <= maxRewritten
}
