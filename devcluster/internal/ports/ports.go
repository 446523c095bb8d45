package ports

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
)

// The range of ports. Linux takes source ports from 32768 upwards, macOS from 49152.
const (
	first = 20000
	count = 10000
)

// attempts is the maximum number of tries. With a tenth of the range taken, 100 failures in a row have a probability of
// 10^-100.
const attempts = 100

// ErrNone is returned when no free port was found.
var ErrNone = errors.New("no free port found")

// Reservation is the reservation of one port until Release or the end of the process.
type Reservation struct {
	Port int
	lock *os.File
}

// Address returns the loopback address with the port, such as "127.0.0.1:20000".
func (r *Reservation) Address() string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(r.Port)) }

// Release ends the reservation.
func (r *Reservation) Release() error { return r.lock.Close() }

// Reserve reserves a port on which no process listens.
func Reserve() (*Reservation, error) {
	dir := filepath.Join(os.TempDir(), fmt.Sprintf("listfacade-devcluster-ports-%d", os.Getuid()))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("create port lock directory: %w", err)
	}
	for range attempts {
		r, err := try(dir, first+rand.IntN(count))
		if err != nil {
			return nil, err
		}
		if r != nil {
			return r, nil
		}
	}
	return nil, fmt.Errorf("%w: tried %d random ports from %d upwards", ErrNone, attempts, first)
}

// try reserves one port. It returns nil without an error if the port is in use.
func try(dir string, port int) (*Reservation, error) {
	lock, err := os.OpenFile(filepath.Join(dir, strconv.Itoa(port)), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open port lock: %w", err)
	}
	r := &Reservation{Port: port, lock: lock}
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return nil, lock.Close()
	}
	listener, err := net.Listen("tcp", r.Address())
	if err != nil {
		return nil, lock.Close()
	}
	return r, listener.Close()
}
