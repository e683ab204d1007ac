//go:build race

package model_test

// raced: the race detector is on, and a search takes ten times as long. There is nothing for it to find: a search is one
// goroutine.
const raced = true
