package lua

import (
	_ "embed" // the script
	"strconv"
	"time"
)

//go:embed read.lua
var readText string

var readScript = newScript("read", readText)

// Read is the call that looks at the lock at key and changes nothing.
func Read(key Text) Call {
	return newCall(readScript, key)
}

// Contents is what a lock held at an instant.
type Contents struct {
	Fields []Field       // none when the lock is free; in no particular order
	TTL    time.Duration // what the key had left, or [NoTTL]; 0 when the lock is free
	At     int64         // the instant, in µs of the server's clock: what [Force] compares with
}

// Field is one hold.
type Field struct {
	Name  string
	Count int // its levels; 0 if the value is no number, which makes it no field of a plain lock
}

// DecodeRead reads the reply to [Read]. An error means that no read script gave it.
func DecodeRead(reply any) (Contents, error) {
	items, ok := reply.([]any)
	if !ok || len(items) < 2 || len(items)%2 != 0 {
		return Contents{}, unexpected(readScript, reply)
	}
	at, atOK := items[0].(int64)
	pttl, pttlOK := items[1].(int64)
	fields, fieldsOK := decodeFields(items[2:])
	if !atOK || !pttlOK || !fieldsOK || pttl < -2 {
		return Contents{}, unexpected(readScript, reply)
	}
	contents := Contents{Fields: fields, At: at}
	if pttl >= -1 {
		contents.TTL = duration(pttl)
	}
	return contents, nil
}

func decodeFields(items []any) (fields []Field, ok bool) {
	for i := 0; i < len(items); i += 2 {
		name, nameOK := items[i].(string)
		value, valueOK := items[i+1].(string)
		if !nameOK || !valueOK {
			return nil, false
		}
		// Not refused: whoever has to clear up a lock wants to see what is in it.
		count, err := strconv.Atoi(value)
		if err != nil {
			count = 0
		}
		fields = append(fields, Field{Name: name, Count: count})
	}
	return fields, true
}
