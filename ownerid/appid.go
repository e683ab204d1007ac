package ownerid

import (
	"fmt"

	"github.com/google/uuid"
)

// NewAppID makes the application id that tells the owners of one client from those of all others: a random UUID. A label
// ("billing", a pod's name) is put in front of it, for whoever looks into Redis; "" is none. It is never used alone: labels
// survive a restart, and a restarted process must not own what its predecessor held.
//
// A label takes 1 to 64 letters, digits, dots, underscores and dashes (ASCII); the error about another one wraps
// [ErrMalformed]. The only other error is a system without random numbers.
func NewAppID(label string) (string, error) {
	if fault := faultOf(label, maxLabel); label != "" && fault != "" {
		return "", fmt.Errorf("ownerid: %w label: %s", ErrMalformed, fault)
	}
	random, err := uuid.NewRandom()
	if err != nil {
		return "", fmt.Errorf("ownerid: new application id: %w", err)
	}
	if label == "" {
		return random.String(), nil
	}
	return label + "-" + random.String(), nil
}
