package odd

import (
	"strings"

	"example.org/growthexport/internal/simulator"
)

func oddValue(o simulator.Literal) simulator.Value {
	return simulator.Value{Kind: simulator.Raw, Literal: &o}
}

// fitting returns a value whose JSON text fits its column. The column then holds cell.
func fitting(sent string, cell any) simulator.Value {
	return oddValue(simulator.Literal{Sent: sent, Cell: cell})
}

// mismatch returns a value whose JSON text does not fit its column.
func mismatch(sent string) simulator.Value { return oddValue(simulator.Literal{Sent: sent}) }

// loneSurrogate returns a JSON string with escaped halves of surrogate pairs, which no column accepts. In kept, these
// halves are replaced.
func loneSurrogate(sent, kept string) simulator.Value {
	return oddValue(simulator.Literal{Sent: sent, Kept: kept, Replaced: int64(strings.Count(kept, "\uFFFD"))})
}

// spaced returns a value that does not fit its column. Its JSON text has insignificant white space, and kept is the
// same text without it.
func spaced(sent, kept string) simulator.Value {
	return oddValue(simulator.Literal{Sent: sent, Kept: kept})
}

// quoted returns a string as JSON text, with the same escapes in every style.
func quoted(s string) string { return string(simulator.AppendString(nil, s, false)) }

func named(name string, v simulator.Value) simulator.Member {
	return simulator.Member{Name: name, Value: v}
}
