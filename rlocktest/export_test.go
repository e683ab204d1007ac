package rlocktest

import "time"

// SetPatience sets how long AwaitHeld and Lose wait for somebody to take the lock.
func (s *Server) SetPatience(d time.Duration) { s.patience = d }
