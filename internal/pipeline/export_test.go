package pipeline

// SetMaxHeldBytes sets how many bytes of one school's rows stay in memory.
func (s *Settings) SetMaxHeldBytes(n int) { s.maxHeldBytes = n }
