package endpoint

import (
	"errors"
	"net"
	"os"
	"syscall"
)

// plain leaves out of an error of the network what the line around it says already: address, verb and protocol.
func plain(err error) error {
	var (
		number syscall.Errno
		name   *net.DNSError
	)
	switch {
	case errors.As(err, &number):
		return number
	case errors.As(err, &name):
		return errors.New(name.Err)
	case errors.Is(err, os.ErrDeadlineExceeded):
		return errNoAnswer
	default:
		return err
	}
}
