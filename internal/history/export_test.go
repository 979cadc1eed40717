package history

// BeginsPart reports whether a school begins a part.
func BeginsPart(school string) bool { return beginsPart(school) }
