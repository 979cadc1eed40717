package wording

// Advice is something to do next, and the command for it if there is one.
type Advice struct {
	Say     string `json:"say"`
	Command string `json:"command,omitempty"`
}
