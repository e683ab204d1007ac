package report

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"strings"
)

// FillIn replaces what stands between <!-- NAME --> and <!-- end of NAME --> in a document.
func FillIn(page, name string, write func(io.Writer)) error {
	text, err := os.ReadFile(page) //nolint:gosec // what the caller names
	if err != nil {
		return fmt.Errorf("report: %w", err)
	}
	begin, end := "<!-- "+name+" -->\n", "<!-- end of "+name+" -->"
	before, rest, found := strings.Cut(string(text), begin)
	_, after, closed := strings.Cut(rest, end)
	if !found || !closed {
		return fmt.Errorf("report: %s has no place for %q: %s and %s", page, name, strings.TrimSpace(begin), end)
	}
	var filled bytes.Buffer
	filled.WriteString(before + begin + "\n")
	write(&filled)
	filled.WriteString("\n" + end + after)
	if err := os.WriteFile(page, filled.Bytes(), 0o644); err != nil { //nolint:gosec // for all to read
		return fmt.Errorf("report: %w", err)
	}
	return nil
}
