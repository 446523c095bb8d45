package split

import (
	"context"
	"errors"
	"net"
	"time"
)

const (
	// mostAttempts is the maximum number of attempts to open one shared connection. If one of two endpoints of a Service
	// has disappeared, all attempts reach this endpoint in one of sixteen cases.
	mostAttempts = 4
	// attemptPause is the time after which a second attempt begins. The pause doubles with each attempt.
	attemptPause = 250 * time.Millisecond
	// mostConnecting is the maximum duration of all attempts together. One attempt of a dialer can take as long.
	mostConnecting = 2 * checkTimeout
)

// dialFunc connects to a server and verifies it.
type dialFunc func(ctx context.Context, network, address string) (net.Conn, error)

type attempt struct {
	conn net.Conn
	err  error
}

// hedged returns a dialFunc for connections that many requests share. All these requests wait for one connection. The
// dialFunc therefore begins another attempt if one fails or takes long: the address of a Service can lead to a replica
// that has disappeared. The end of the dialFunc's context has no effect, because the context belongs to only one of the
// requests.
//
// Each attempt has one goroutine, which ends soon after the dialFunc has returned.
func hedged(dial dialFunc) dialFunc {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), mostConnecting)
		defer cancel() // ends the other attempts
		conn, err := firstOf(ctx, func(ctx context.Context) (net.Conn, error) { return dial(ctx, network, address) })
		return conn, withoutContext(err)
	}
}

// withoutContext hides from Go's transport that an attempt ended with its context. Otherwise, if the request that began
// the attempts has ended, the transport would dial again for the waiting requests. It would repeat this for each
// waiting request that has ended, too.
func withoutContext(err error) error {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return errors.New(err.Error())
	}
	return err
}

// firstOf returns the first connection of several attempts, or the first error if all fail.
func firstOf(ctx context.Context, dial func(context.Context) (net.Conn, error)) (net.Conn, error) {
	results := make(chan attempt)
	next := time.NewTimer(0)
	defer next.Stop()
	var first error
	for begun, failed := 0, 0; failed < mostAttempts; {
		select {
		case <-next.C:
			go try(ctx, dial, results)
			if begun++; begun < mostAttempts {
				next.Reset(attemptPause << (begun - 1))
			}
		case a := <-results:
			if a.err == nil {
				return a.conn, nil
			}
			if failed++; first == nil {
				first = a.err
			}
			if begun < mostAttempts {
				next.Reset(0)
			}
		case <-ctx.Done():
			if first == nil {
				first = ctx.Err()
			}
			return nil, first
		}
	}
	return nil, first
}

// try sends its result, or closes its connection if the context ends first.
func try(ctx context.Context, dial func(context.Context) (net.Conn, error), results chan<- attempt) {
	conn, err := dial(ctx)
	select {
	case results <- attempt{conn, err}:
	case <-ctx.Done():
		if err == nil {
			_ = conn.Close()
		}
	}
}
