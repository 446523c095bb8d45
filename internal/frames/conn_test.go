package frames

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"slices"
	"testing"

	"golang.org/x/net/http2"

	"github.com/listfacade/listfacade/internal/testkit/settings"
)

// frame makes a frame whose payload bytes depend on their position.
func frame(kind, flags byte, stream uint32, length int) []byte {
	b := make([]byte, headerLen+length)
	putLength(b, length)
	b[3], b[4] = kind, flags
	binary.BigEndian.PutUint32(b[5:], stream)
	for i := range length {
		b[headerLen+i] = byte(i * 7)
	}
	return b
}

// seen returns the frames as a client sees them: consecutive DATA frames of a stream are joined. Lengths are zeroed.
func seen(stream []byte) (frames [][]byte) {
	for len(stream) > 0 {
		n := headerLen + length(stream)
		one := bytes.Clone(stream[:n])
		stream = stream[n:]
		if last := len(frames) - 1; one[3] == typeData && last >= 0 && continues(frames[last], one) {
			frames[last] = append(frames[last], one[headerLen:]...)
			frames[last][4] = one[4]
			continue
		}
		frames = append(frames, one)
	}
	for _, f := range frames {
		putLength(f, 0)
	}
	return frames
}

// taken fails the test if a frame is larger than every client accepts.
func taken(t *testing.T, stream []byte) {
	t.Helper()
	for len(stream) > 0 {
		n := headerLen + length(stream)
		if n > headerLen+least {
			t.Fatalf("got a frame of %d bytes, want at most %d", n, headerLen+least)
		}
		stream = stream[n:]
	}
}

// continues reports whether a DATA frame continues the previous one, which is full and does not end the stream.
func continues(before, data []byte) bool {
	return before[3] == typeData && (len(before)-headerLen)%least == 0 && len(before) > headerLen && before[4]&endStream == 0 &&
		bytes.Equal(before[5:headerLen], data[5:headerLen])
}

// For all writes of the server, the client receives the same data, in frames that the client accepts.
func TestCutterKeepsFrames(t *testing.T) {
	r := settings.Random(t)
	for range 150 {
		var all []byte
		for range 1 + r.IntN(6) {
			kind, flags, size := byte(r.IntN(10)), byte(r.IntN(2))*endStream, r.IntN(100)
			if r.IntN(2) == 0 {
				kind, size = typeData, []int{0, 1, least - 1, least, least + 1, 2 * least, 3*least + 5, enlarged}[r.IntN(8)]
			}
			all = append(all, frame(kind, flags, uint32(r.IntN(3)), size)...)
		}
		got := cutAtRandom(r, all)
		taken(t, got)
		if have, want := seen(got), seen(all); !slices.EqualFunc(have, want, bytes.Equal) {
			t.Fatalf("got %d frames, want the %d frames that were written", len(have), len(want))
		}
	}
}

// cutAtRandom writes in pieces of random size.
func cutAtRandom(r *rand.Rand, all []byte) (out []byte) {
	var c cutter
	for len(all) > 0 {
		n := min(len(all), 1+r.IntN([]int{3, 30, 100000}[r.IntN(3)]))
		p, part := all[:n], []byte(nil)
		all = all[n:]
		for len(p) > 0 {
			part, p = c.next(p)
			out = append(out, part...)
		}
	}
	return out
}

// The server reads a larger maximum frame size, and everything else as the client sent it.
func TestGreetingEnlargesFrames(t *testing.T) {
	set := func(pairs ...uint32) []byte {
		f := frame(typeSettings, 0, 0, 0)
		for i := 0; i < len(pairs); i += 2 {
			f = binary.BigEndian.AppendUint16(f, uint16(pairs[i]))
			f = binary.BigEndian.AppendUint32(f, pairs[i+1])
		}
		putLength(f, len(f)-headerLen)
		return f
	}
	begin, ping := []byte(http2.ClientPreface), frame(6, 0, 0, 8)
	tests := map[string]struct{ says, reads []byte }{
		"nothing set":        {set(), set(maxFrameSize, enlarged)},
		"as Go says":         {set(2, 0, 4, 4<<20, maxFrameSize, 16384, 6, 10<<20), set(2, 0, 4, 4<<20, maxFrameSize, enlarged, 6, 10<<20)},
		"others set":         {set(1, 5, 3, 100), set(1, 5, 3, 100, maxFrameSize, enlarged)},
		"larger than needed": {set(maxFrameSize, 1<<20), set(maxFrameSize, enlarged)},
		"wrong":              {set(maxFrameSize, 100), set(maxFrameSize, 100)},
		"too large":          {set(maxFrameSize, 1<<24), set(maxFrameSize, 1<<24)},
		"an acknowledgement": {frame(typeSettings, 1, 0, 0), frame(typeSettings, 1, 0, 0)},
		"no SETTINGS":        {frame(1, 0, 1, 5), frame(1, 0, 1, 5)},
		"half a setting":     {frame(typeSettings, 0, 0, 3), frame(typeSettings, 0, 0, 3)},
		"too many":           {frame(typeSettings, 0, 0, longest+settingLen), frame(typeSettings, 0, 0, longest+settingLen)},
		"half a header":      {ping[:4], ping[:4]},
		"broken off":         {set(1, 5, 3, 100)[:17], set(1, 5, 3, 100)[:17]},
	}
	for name, test := range tests {
		says, reads := bytes.Join([][]byte{begin, test.says, ping}, nil), bytes.Join([][]byte{begin, test.reads, ping}, nil)
		if name == "half a header" || name == "broken off" {
			says, reads = says[:len(says)-len(ping)], reads[:len(reads)-len(ping)]
		}
		for _, size := range []int{1, 7, 24, 4096} {
			from := &piecewise{rest: bytes.NewReader(says), size: size}
			var g greeting
			got, err := io.ReadAll(readerFunc(func(p []byte) (int, error) {
				if g.over() {
					return from.Read(p)
				}
				return g.read(from, p)
			}))
			if err != nil || !bytes.Equal(got, reads) {
				t.Errorf("%s, %d bytes at a time: got %x, %v, want %x", name, size, got, err, reads)
			}
		}
	}
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

// piecewise returns at most size bytes per read.
type piecewise struct {
	rest io.Reader
	size int
}

func (p *piecewise) Read(b []byte) (int, error) { return p.rest.Read(b[:min(len(b), p.size)]) }

// writes records the sizes of writes to a socket.
type writes struct {
	net.Conn
	sizes []int
	fail  error
}

func (w *writes) Write(p []byte) (int, error) {
	w.sizes = append(w.sizes, len(p))
	return len(p), w.fail
}

// The socket writes held records together with the next record that is not held, and returns an error of that write.
func TestSocketWritesHeldRecordsTogether(t *testing.T) {
	w := &writes{}
	s := &socket{Conn: w}
	say := func(n int) {
		t.Helper()
		if _, err := s.Write(make([]byte, n)); err != nil {
			t.Fatal(err)
		}
	}
	say(1)
	s.hold(true)
	say(2)
	say(3)
	s.hold(false)
	say(4)
	s.hold(true)
	say(5)
	if err := s.flush(); err != nil {
		t.Fatal(err)
	}
	if err := s.flush(); err != nil {
		t.Fatal(err)
	}
	say(6)
	if got := fmt.Sprint(w.sizes); got != "[1 9 5 6]" {
		t.Errorf("got writes %s, want [1 9 5 6]", got)
	}
	w.fail = errors.New("gone")
	s.hold(true)
	say(7)
	if err := s.flush(); !errors.Is(err, w.fail) {
		t.Errorf("got %v, want %v", err, w.fail)
	}
}

// Responses of all sizes arrive over real sockets, several at a time on one connection.
func TestConnTransfersResponses(t *testing.T) {
	sizes := []int{0, 1, 4000, least - 1, least, least + 1, enlarged, enlarged + 1, 1 << 20}
	base, client := serve(t, Listener, ConfigureServer, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var n int
		_, _ = fmt.Sscan(r.URL.Query().Get("size"), &n)
		_, _ = w.Write(bytes.Repeat([]byte("x"), n))
	}))
	done := make(chan error, len(sizes))
	for _, size := range sizes {
		go func() { done <- fetch(client, fmt.Sprintf("%s/?size=%d", base, size), size) }()
	}
	for range sizes {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

func fetch(client *http.Client, url string, size int) error {
	response, err := client.Get(url)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	n, err := io.Copy(io.Discard, response.Body)
	if err != nil || n != int64(size) || response.ProtoMajor != 2 {
		return fmt.Errorf("got %d bytes over %s, want %d over HTTP/2: %w", n, response.Proto, size, err)
	}
	return nil
}
