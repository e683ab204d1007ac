//go:build !linux

package stress_test

import "time"

// instant is the clock of all attacks: the wall's, since the processes of a machine have no other in common.
func instant() time.Duration { return time.Duration(time.Now().UnixNano()) }
