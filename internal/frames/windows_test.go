package frames

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"slices"
	"sync/atomic"
	"testing"

	"golang.org/x/net/http2"

	"github.com/listfacade/listfacade/internal/testkit/settings"
)

const (
	heldStream     = 1000
	heldConnection = 5000
)

func windowUpdate(stream uint32, increment int) []byte {
	f := frame(typeWindowUpdate, 0, stream, 4)
	binary.BigEndian.PutUint32(f[headerLen:], uint32(increment))
	return f
}

// sums takes WINDOW_UPDATE frames out of frames, and returns the sums of their increments by stream.
func sums(t *testing.T, stream []byte) (rest []byte, by map[uint32]int) {
	t.Helper()
	by = map[uint32]int{}
	for len(stream) > 0 {
		n := headerLen + length(stream)
		if n > len(stream) {
			t.Fatalf("got a frame of %d bytes, want at most %d", n, len(stream))
		}
		if one := stream[:n]; one[3] == typeWindowUpdate {
			by[binary.BigEndian.Uint32(one[5:])] += int(binary.BigEndian.Uint32(one[headerLen:]))
		} else {
			rest = append(rest, one...)
		}
		stream = stream[n:]
	}
	return rest, by
}

// Other frames arrive unchanged and at once, even if their payloads look like WINDOW_UPDATE. Less than the limit of a
// window is held.
func TestWindowsHoldLessThanTheirLimit(t *testing.T) {
	r := settings.Random(t)
	for range 300 {
		w := newWindows(heldStream, heldConnection)
		sent, got := []byte(nil), bytes.Clone(w.next([]byte(http2.ClientPreface)))
		got = got[preface:]
		for range r.IntN(100) {
			for _, write := range randomWrites(r) {
				sent, got = append(sent, write...), append(got, w.next(write)...)
			}
			others, want := sums(t, sent)
			rest, have := sums(t, got)
			if !bytes.Equal(rest, others) {
				t.Fatalf("got %d bytes of other frames, want the %d bytes that were written", len(rest), len(others))
			}
			for stream, n := range want {
				most := heldStream
				if stream == 0 {
					most = heldConnection
				}
				if held := n - have[stream]; held < 0 || held >= most {
					t.Fatalf("stream %d: got %d held bytes, want at least 0 and less than %d", stream, held, most)
				}
			}
		}
	}
}

// No window is sent for a stream after the client has reset it, also if the client writes the reset in two parts.
func TestWindowsOfResetStreamsAreNotSent(t *testing.T) {
	reset := slices.Concat(frame(6, 0, 0, 8), frame(typeReset, 0, 3, 4), frame(6, 0, 0, 8))
	for split := range len(reset) + 1 {
		w := newWindows(heldStream, heldConnection)
		w.next([]byte(http2.ClientPreface))
		for _, stream := range []uint32{1, 3, 5} {
			if got := w.next(windowUpdate(stream, 100)); len(got) != 0 {
				t.Fatalf("got %d bytes for stream %d, want none", len(got), stream)
			}
		}
		w.next(reset[:split])
		w.next(reset[split:])
		want := slices.Concat(windowUpdate(1, 100), windowUpdate(5, 100), windowUpdate(0, heldConnection))
		if got := w.next(windowUpdate(0, heldConnection)); !bytes.Equal(got, want) {
			t.Errorf("split at %d: got %x, want %x", split, got, want)
		}
	}
}

// randomWrites returns the writes of one operation of a client: window updates, or frames that are written in pieces.
func randomWrites(r *rand.Rand) [][]byte {
	var all []byte
	if r.IntN(3) > 0 {
		for range 1 + r.IntN(3) {
			all = append(all, windowUpdate(uint32(r.IntN(4)), 1+r.IntN(700))...)
		}
		return [][]byte{all}
	}
	for range 1 + r.IntN(3) {
		kinds := []byte{typeData, 1, 2, typeSettings, 5, 6, 7} // all except typeReset
		f := frame(kinds[r.IntN(len(kinds))], 0, uint32(r.IntN(4)), 0)
		payload := bytes.Repeat(windowUpdate(1, 5), r.IntN(3))
		putLength(f, len(payload))
		all = append(append(all, f...), payload...)
	}
	var writes [][]byte
	for len(all) > 0 {
		n := min(len(all), 1+r.IntN(2*windowUpdateLen))
		writes, all = append(writes, all[:n]), all[n:]
	}
	return writes
}

// countedConn counts writes.
type countedConn struct {
	net.Conn
	writes *atomic.Int64
}

func (c countedConn) Write(p []byte) (int, error) {
	c.writes.Add(1)
	return c.Conn.Write(p)
}

// transport returns a transport to a server of serve, and the number of its writes to sockets.
func transport(t *testing.T, client *http.Client, stream int, protocols ...string) (RoundTripper, *atomic.Int64) {
	t.Helper()
	config, writes := client.Transport.(*http.Transport).TLSClientConfig.Clone(), &atomic.Int64{}
	config.NextProtos, config.ServerName = protocols, "localhost"
	h2, err := NewTransport(&http.Transport{
		HTTP2: &http.HTTP2Config{MaxReceiveBufferPerStream: stream},
		DialTLSContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			conn, err := (&net.Dialer{}).DialContext(ctx, network, address)
			if err != nil {
				return nil, err
			}
			secure := tls.Client(countedConn{conn, writes}, config)
			return secure, secure.HandshakeContext(ctx)
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(h2.CloseIdleConnections)
	return h2, writes
}

// A client that reads events, each before the next is sent, writes once for several events.
func TestTransportWritesOnceForSeveralEvents(t *testing.T) {
	const size, count, window = 5 << 10, 120, 256 << 10
	next := make(chan struct{})
	base, client := serve(t, Listener, ConfigureServer, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		for range next {
			_, _ = w.Write(make([]byte, size))
			_ = http.NewResponseController(w).Flush()
		}
	}))
	h2, writes := transport(t, client, window, "h2")
	begin := make(chan struct{})
	go func() { next <- struct{}{}; close(begin) }()
	answer, err := (&http.Client{Transport: h2}).Get(base)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	<-begin
	before := writes.Load()
	for i := range count {
		if i > 0 {
			next <- struct{}{}
		}
		if _, err := io.ReadFull(answer.Body, make([]byte, size)); err != nil {
			t.Fatal(err)
		}
	}
	// Each quarter of the window is one write. One write may be the answer to the server's SETTINGS.
	if got, most := writes.Load()-before, int64(4*size*count/window+1); got > most {
		t.Errorf("got %d writes for %d events, want at most %d", got, count, most)
	}
	close(next)
}

// Responses that are many times larger than the window arrive, also if the client reads them in turns.
func TestTransportReceivesLargeResponses(t *testing.T) {
	base, client := serve(t, Listener, ConfigureServer, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write(bytes.Repeat([]byte("x"), 3<<20))
	}))
	h2, _ := transport(t, client, 64<<10, "h2")
	var bodies []io.Reader
	for range 5 {
		answer, err := (&http.Client{Transport: h2}).Get(base)
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		bodies = append(bodies, answer.Body)
	}
	for i := range 3 << 20 / 1024 {
		for _, body := range slices.Backward(bodies) {
			if _, err := io.ReadFull(body, make([]byte, 1024)); err != nil {
				t.Fatalf("after %d kB: %v", i, err)
			}
		}
	}
}

func TestServerWithoutHTTP2IsReported(t *testing.T) {
	base, client := serve(t, Listener, ConfigureServer, http.NotFoundHandler())
	h2, _ := transport(t, client, 0, "http/1.1")
	request, err := http.NewRequest(http.MethodGet, base, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := h2.RoundTrip(request); !errors.Is(err, ErrNoHTTP2) {
		t.Errorf("got %v, want %v", err, ErrNoHTTP2)
	}
}
