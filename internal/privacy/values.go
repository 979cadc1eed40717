package privacy

import (
	"bytes"
	"encoding/json"
)

// EachValue passes every number and every string that is not empty, including the names of members, in valid JSON to
// use, until use returns true.
func EachValue(text []byte, use func(value []byte) bool) {
	for i := 0; i < len(text); i++ {
		var value []byte
		var end int
		switch {
		case text[i] == '-' || '0' <= text[i] && text[i] <= '9':
			for end = i + 1; end < len(text) && !bytes.ContainsRune([]byte(",]} \t\r\n"), rune(text[end])); {
				end++
			}
			value = text[i:end]
		case text[i] == '"':
			escaped := false
			for end = i + 1; end < len(text) && text[end] != '"'; end++ {
				if text[end] == '\\' {
					escaped = true
					end++
				}
			}
			if end >= len(text) {
				return
			}
			if value = text[i+1 : end]; escaped {
				var plain string
				if json.Unmarshal(text[i:end+1], &plain) == nil {
					value = []byte(plain)
				}
			}
		default:
			continue
		}
		if len(value) > 0 && use(value) {
			return
		}
		i = end
	}
}
