package model_test

import (
	"testing"

	"github.com/rlock-go/rlock/internal/redistest"
)

func TestMain(m *testing.M) { redistest.Main(m) }
