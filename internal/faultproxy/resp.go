package faultproxy

import (
	"bufio"
	"errors"
	"io"
	"slices"
	"strconv"
	"strings"
)

// errProtocol says that the bytes are no RESP.
var errProtocol = errors.New("not RESP")

// readRequest reads one request: the bytes as they came, and the words they
// mean, none for an empty line. With errProtocol the bytes read are returned
// besides, for the server to judge.
func readRequest(r *bufio.Reader) (raw []byte, words []string, err error) {
	if raw, err = appendLine(nil, r); err != nil {
		return nil, nil, err
	}
	if raw[0] != '*' {
		return raw, strings.Fields(string(raw)), nil
	}
	count, err := length(raw)
	if err != nil {
		return raw, nil, err
	}
	for range count {
		start := len(raw)
		if raw, err = appendLine(raw, r); err != nil {
			return nil, nil, err
		}
		var word []byte
		if raw, word, err = appendBulk(raw, raw[start:], r); err != nil {
			return raw, nil, err
		}
		words = append(words, string(word))
	}
	return raw, words, nil
}

func appendBulk(raw, header []byte, r *bufio.Reader) (all, word []byte, err error) {
	size, err := length(header)
	if err != nil || header[0] != '$' || size < 0 {
		return raw, nil, errProtocol
	}
	return appendBody(raw, size, r)
}

// appendBody reads size bytes and the line end behind them.
func appendBody(raw []byte, size int, r *bufio.Reader) (all, body []byte, err error) {
	start := len(raw)
	raw = slices.Grow(raw, size+2)[:start+size+2]
	if _, err := io.ReadFull(r, raw[start:]); err != nil {
		return nil, nil, err
	}
	return raw, raw[start : start+size], nil
}

// frame is one reply, or one push.
type frame struct {
	raw  []byte
	kind byte // the first byte
	// words are the first two scalars in an array or push: of pub/sub, what it
	// is about and the channel.
	words []string
}

// failed says that the frame is an error.
func (f *frame) failed() bool { return f.kind == '-' || f.kind == '!' }

// readFrame reads one reply of any depth, RESP2 or RESP3.
func readFrame(r *bufio.Reader) (frame, error) {
	var f frame
	for left := 1; left > 0; left-- {
		start := len(f.raw)
		raw, err := appendLine(f.raw, r)
		if err != nil {
			return frame{}, err
		}
		f.raw = raw
		if start == 0 {
			f.kind = raw[0]
		}
		more, err := f.readValue(start, r)
		if err != nil {
			return frame{}, err
		}
		left += more
	}
	return f, nil
}

// readValue reads what follows the header at start, and returns how many values
// the header announces.
func (f *frame) readValue(start int, r *bufio.Reader) (more int, err error) {
	header := f.raw[start:]
	switch header[0] {
	case '+', '-', ':', '_', '#', ',', '(':
		f.note(header[1:])
		return 0, nil
	case '$', '!', '=':
		return 0, f.readBody(header, r)
	case '*', '~', '>', '%', '|':
		return announced(header)
	}
	return 0, errProtocol
}

func (f *frame) readBody(header []byte, r *bufio.Reader) error {
	size, err := length(header)
	if err != nil {
		return err
	}
	if size < 0 {
		f.note(nil)
		return nil
	}
	raw, body, err := appendBody(f.raw, size, r)
	if err != nil {
		return err
	}
	f.raw = raw
	f.note(body)
	return nil
}

func (f *frame) note(scalar []byte) {
	if len(f.words) < 2 && (f.kind == '*' || f.kind == '>') {
		f.words = append(f.words, strings.TrimRight(string(scalar), "\r\n"))
	}
}

// announced is how many values the header of an aggregate promises.
func announced(header []byte) (int, error) {
	count, err := length(header)
	if err != nil || count <= 0 {
		return 0, err
	}
	switch header[0] {
	case '%':
		return 2 * count, nil
	case '|': // attributes come before the value that they are about
		return 2*count + 1, nil
	}
	return count, nil
}

func appendLine(raw []byte, r *bufio.Reader) ([]byte, error) {
	for {
		part, err := r.ReadSlice('\n')
		raw = append(raw, part...)
		if !errors.Is(err, bufio.ErrBufferFull) {
			return raw, err
		}
	}
}

// length reads the number in a header line.
func length(header []byte) (int, error) {
	const most = 1 << 30 // what Redis itself never exceeds by much
	n, err := strconv.Atoi(strings.TrimRight(string(header[1:]), "\r\n"))
	if err != nil || n > most {
		return 0, errProtocol
	}
	return n, nil
}
