package split

import (
	"context"
	"errors"
	"net"
	"net/http"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap"

	"github.com/listfacade/listfacade/internal/testkit/bubble"
)

var errRefused = errors.New("connection refused")

// closable is a connection that counts its calls of Close.
type closable struct {
	net.Conn
	closed atomic.Int32
}

// Close implements net.Conn.
func (c *closable) Close() error { c.closed.Add(1); return nil }

// blocks is an attempt that ends only with its context.
func blocks(ctx context.Context) (net.Conn, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

// hedgedOf returns a dial function whose attempts are those of a list, the last one repeatedly, and their count.
func hedgedOf(attempts ...func(context.Context) (net.Conn, error)) (dialFunc, *atomic.Int32) {
	count := &atomic.Int32{}
	return hedged(func(ctx context.Context, _, _ string) (net.Conn, error) {
		return attempts[min(int(count.Add(1)), len(attempts))-1](ctx)
	}), count
}

func refuses(context.Context) (net.Conn, error) { return nil, errRefused }

// The connection of a shared dial is that of the first successful attempt. Attempts begin after 0, 250, 750 and
// 1750 ms, or at once after a failed one. There are at most four, and they end after ten seconds.
func TestHedgedDialBeginsFurtherAttempts(t *testing.T) {
	opened := &closable{}
	opens := func(context.Context) (net.Conn, error) { return opened, nil }
	type attempts = []func(context.Context) (net.Conn, error)
	for name, test := range map[string]struct {
		attempts attempts
		count    int32
		after    time.Duration
		err      string
	}{
		"opened":            {attempts{opens}, 1, 0, ""},
		"lost once":         {attempts{blocks, opens}, 2, 250 * time.Millisecond, ""},
		"lost three times":  {attempts{blocks, blocks, blocks, opens}, 4, 1750 * time.Millisecond, ""},
		"refused, and lost": {attempts{refuses, blocks, opens}, 3, 500 * time.Millisecond, ""},
		"always refused":    {attempts{refuses}, 4, 0, errRefused.Error()},
		"always lost":       {attempts{blocks}, 4, 10 * time.Second, context.DeadlineExceeded.Error()},
	} {
		bubble.Test(t, func(t *testing.T) {
			dial, count := hedgedOf(test.attempts...)
			began := time.Now()
			conn, err := dial(t.Context(), "tcp", "")
			if (conn != nil) != (test.err == "") || conn == nil && err.Error() != test.err {
				t.Errorf("%s: got %v, %v, want error %q", name, conn, err, test.err)
			}
			if errors.Is(err, context.DeadlineExceeded) { // Go's transport would dial again for each waiting request
				t.Errorf("%s: got the error of a context", name)
			}
			if got, n := time.Since(began), count.Load(); got != test.after || n != test.count {
				t.Errorf("%s: got %d attempts in %v, want %d in %v", name, n, got, test.count, test.after)
			}
		})
	}
	if got := opened.closed.Load(); got != 0 {
		t.Errorf("got %d calls of Close on the returned connections, want none", got)
	}
}

// A connection that is opened too late is closed.
func TestHedgedDialClosesFurtherConnections(t *testing.T) {
	late, first := &closable{}, &closable{}
	bubble.Test(t, func(t *testing.T) {
		dial, _ := hedgedOf(func(ctx context.Context) (net.Conn, error) {
			<-ctx.Done()
			return late, nil
		}, func(context.Context) (net.Conn, error) { return first, nil })
		conn, err := dial(t.Context(), "tcp", "")
		synctest.Wait()
		if err != nil || conn != first || first.closed.Load() != 0 || late.closed.Load() != 1 {
			t.Errorf("got error %v, %d calls of Close on the late connection, want 1", err, late.closed.Load())
		}
	})
}

// The request that began to dial may end. The others get the connection.
func TestHedgedDialOutlivesItsRequest(t *testing.T) {
	opened := &closable{}
	dial, _ := hedgedOf(func(ctx context.Context) (net.Conn, error) { return opened, ctx.Err() })
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if conn, err := dial(ctx, "tcp", ""); conn != opened || err != nil {
		t.Errorf("got %v, %v, want a connection", conn, err)
	}
}

// A read gets its answer while the first connection to its target hangs.
func TestReadsDoNotWaitForALostReplica(t *testing.T) {
	facade := startFake(t, says("from a facade"))
	trusted, err := readAuthorities(authority(t, facade), zap.NewNop())
	if err != nil {
		t.Fatal(err)
	}
	m, err := newMultiplexed(trusted, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.CloseIdleConnections)
	var attempts atomic.Int32
	connect := m.dialer.connect
	m.dialer.connect = func(ctx context.Context, network, address string) (net.Conn, error) {
		if attempts.Add(1) == 1 {
			return blocks(ctx)
		}
		return connect(ctx, network, address)
	}
	answer, err := m.RoundTrip(get(t, facade.URL))
	if err != nil || answer.StatusCode != http.StatusOK {
		t.Fatalf("got %v, %v, want an answer", answer, err)
	}
	_ = answer.Body.Close()
}
