// Package stress attacks the promises of package rlock by volume: random operations over faulty networks, cancellations,
// processes that are stopped and killed, a million names. It has tests alone, and they use what users have.
//
// Without further ado a tenth of everything runs, or less where that would take long; RLOCK_STRESS=1 runs the whole. Each
// test prints its seed as it starts, and RLOCK_STRESS_SEED replays it: the same operations and faults at the same moments
// of each actor's course. How the courses interleave is up to the machine.
//
// Exclusion is shown in two ways, neither of which Redis takes part in: each holder reads, changes and writes a plain value
// that nothing but the lock protects, and the times in which holders could rely on their holds, all by one clock, do not
// overlap. A holder counts as one from the return of its acquire until it starts to give back, or until the instant up to
// which its hold said that it is valid.
package stress
