package odd

import (
	"strings"

	"example.org/growthexport/internal/simulator"
)

func oddValue(o simulator.Literal) simulator.Value {
	return simulator.Value{Kind: simulator.Raw, Literal: &o}
}

// fitting returns JSON text that fits its column, as cell.
func fitting(sent string, cell any) simulator.Value {
	return oddValue(simulator.Literal{Sent: sent, Cell: cell})
}

// mismatch returns JSON text that does not fit its column.
func mismatch(sent string) simulator.Value { return oddValue(simulator.Literal{Sent: sent}) }

// loneSurrogate returns JSON text of a string with escaped halves of surrogate pairs, which no column accepts; kept
// shows where they are.
func loneSurrogate(sent, kept string) simulator.Value {
	return oddValue(simulator.Literal{Sent: sent, Kept: kept, Replaced: int64(strings.Count(kept, "\uFFFD"))})
}

// spaced returns JSON text with insignificant white space, given with and without it.
func spaced(sent, kept string) simulator.Value {
	return oddValue(simulator.Literal{Sent: sent, Kept: kept})
}

// quoted returns JSON text of a string, written the same way in every style.
func quoted(s string) string { return string(simulator.AppendString(nil, s, false)) }

func named(name string, v simulator.Value) simulator.Member {
	return simulator.Member{Name: name, Value: v}
}
