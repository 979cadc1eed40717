package odd

import (
	"strings"

	"example.org/growthexport/internal/simulator"
)

func oddValue(o simulator.Literal) simulator.Value {
	return simulator.Value{Kind: simulator.Raw, Literal: &o}
}

// fitting is JSON text that fits its column, as cell.
func fitting(sent string, cell any) simulator.Value {
	return oddValue(simulator.Literal{Sent: sent, Cell: cell})
}

// unfit is JSON text that fits no column that it is made for.
func unfit(sent string) simulator.Value { return oddValue(simulator.Literal{Sent: sent}) }

// halved is JSON text of a string in which halves of surrogate pairs are escaped. No column takes it; kept says where they are.
func halved(sent, kept string) simulator.Value {
	return oddValue(simulator.Literal{Sent: sent, Kept: kept, Replaced: int64(strings.Count(kept, "\uFFFD"))})
}

// spaced is JSON text with insignificant white space, beside the same without.
func spaced(sent, kept string) simulator.Value {
	return oddValue(simulator.Literal{Sent: sent, Kept: kept})
}

// quotedText is JSON text of a string, written one way whatever the record's style.
func quotedText(s string) string { return string(simulator.AppendString(nil, s, false)) }

func named(name string, v simulator.Value) simulator.Member {
	return simulator.Member{Name: name, Value: v}
}
