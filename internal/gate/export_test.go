package gate

// Waiting reports whether somebody is in line for name, the head included.
func (g *Gate) Waiting(name string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.lines[name] != nil
}
